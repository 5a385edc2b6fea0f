"""The first line of a docstring, written or compiled."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from pyrepl.commands.describe.docstrings import first_line
from pyrepl.commands.strings import strings


def documented() -> None:
    """One line.

    And more.
    """


def silent() -> None:
    pass


class Compiled:
    """As a compiled function looks from outside."""

    __doc__ = ""
    __module__ = __name__

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self) -> Any:
        raise NotImplementedError


def test_of_a_function() -> None:
    assert first_line(documented) == "One line."
    assert first_line(silent) == ""


def test_from_the_source() -> None:
    assert first_line(Compiled("documented")) == "One line."
    assert first_line(Compiled("no_such_function")) == ""


def test_of_a_command() -> None:
    assert first_line(strings.get.fn) == "The string value of a key."
    assert first_line(strings.set_.fn).startswith("Set a key to a string")


def test_of_a_module_that_another_compiled_one_imported_first() -> None:
    """Its `__file__` may name a place that is not there; a process of its own, as the order of imports decides."""
    program = (
        "import pyrepl.commands.engine.dispatch\n"
        "from pyrepl.commands.session import transactions\n"
        "from pyrepl.commands.describe.docstrings import first_line\n"
        "print(first_line(transactions.multi.fn))\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() != ""
