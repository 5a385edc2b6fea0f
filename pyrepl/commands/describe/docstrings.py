"""Finds the first line of a function's docstring, which COMMAND DOCS shows as the summary of a command.

A compiled function has no docstring. Then the line is taken from the source file, which stands beside the compiled
module, so that both forms of the package answer the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def first_line(fn: Callable[..., Any]) -> str:
    """The first line of the docstring of `fn`, or "" when it has none."""
    text = fn.__doc__
    if not text:
        text = _written(fn.__module__, fn.__name__)
    return text.strip().partition("\n")[0]


def _written(module: str, name: str) -> str:
    """The docstring of a function of a module, looked up in the module's source; "" when there is none."""
    package, _, stem = module.rpartition(".")
    # The place of the source is asked of the package, because the `__file__` of a compiled module that another compiled
    # module imports may name a file that does not exist.
    places = getattr(sys.modules.get(package), "__path__", None)
    if not places:
        return ""
    source = Path(places[0], f"{stem}.py")
    _, _, behind = source.read_text().partition(f"\ndef {name}(")
    body = behind.partition(":\n")[2].lstrip()
    return body[3:].partition('"""')[0] if body.startswith('"""') else ""
