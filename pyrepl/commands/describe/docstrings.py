"""The first line of a function's docstring, for compiled functions too, which carry none: then from the source beside.

What COMMAND DOCS prints of a command is the first line of its function's docstring, in both forms of the package.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def first_line(fn: Callable[..., Any]) -> str:
    """The line, or "" where there is none."""
    text = fn.__doc__
    if not text:
        text = _written(fn.__module__, fn.__name__)
    return text.strip().partition("\n")[0]


def _written(module: str, name: str) -> str:
    """The docstring of a function of a module, looked up in the module's text."""
    package, _, stem = module.rpartition(".")
    # The package says where the text is: `__file__` of a compiled module that another one imports may name a place that
    # is not there.
    places = getattr(sys.modules.get(package), "__path__", None)
    if not places:
        return ""
    source = Path(places[0], f"{stem}.py")
    _, _, behind = source.read_text().partition(f"\ndef {name}(")
    body = behind.partition(":\n")[2].lstrip()
    return body[3:].partition('"""')[0] if body.startswith('"""') else ""
