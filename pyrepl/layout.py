"""Which interpreters the compiled form fits: it reads objects, dictionaries above all, where CPython keeps their parts.

setup.py compiles for no interpreter that `why_not_compiled_for` has a reason against. CPython tells extensions apart by
the names of their files, so what was compiled for one version is not even looked at by another. Where the names are
alike and the objects are not (a debug build takes what was compiled for the usual one), `refuse_compiled` speaks before
the first hot module is loaded, and `pyrepl.rdb.compiled.fits` compares sizes besides.

What is asked for: the head of an object is two words; references are counted by one thread at a time; a dictionary's
table is as `pyrepl.rdb.compiled.room` describes it. Looked up in the sources of CPython 3.11 to 3.14.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final, NamedTuple

OLDEST: Final = (3, 11)
NEWEST: Final = (3, 14)
"""The newest version whose objects were looked at."""

_WORD_BITS: Final = 64


class Interpreter(NamedTuple):
    """What the layout of an interpreter's objects depends on."""

    implementation: str = "cpython"
    version: tuple[int, int] = NEWEST
    is_free_threaded: bool = False
    """Built with --disable-gil: other heads of objects, and counts that other threads change."""
    is_debug: bool = False
    """Built with --with-pydebug."""
    traces_references: bool = False
    """Built with --with-trace-refs: two words more in the head of each object."""
    word_bits: int = _WORD_BITS


def running() -> Interpreter:
    """The one that this runs in."""
    return Interpreter(
        sys.implementation.name,
        (sys.version_info.major, sys.version_info.minor),
        "t" in getattr(sys, "abiflags", ""),
        hasattr(sys, "gettotalrefcount"),
        hasattr(sys, "getobjects"),
        sys.maxsize.bit_length() + 1,
    )


def why_not_compiled_for(interpreter: Interpreter) -> str | None:
    """Why nothing is compiled for an interpreter, as a clause; None for one that is known."""
    name, version = interpreter.implementation, interpreter.version
    if name != "cpython":
        return f"{name} is not CPython, whose objects the compiled form reads"
    if not OLDEST <= version <= NEWEST:
        known = f"{OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}"
        return f"Python {version[0]}.{version[1]} may keep its objects in another way than {known}, which are known"
    if interpreter.is_free_threaded:
        return "a free-threaded Python keeps its objects in another way, and lets several threads at them"
    if interpreter.traces_references:
        return "a Python that traces references keeps its objects in another way"
    if interpreter.is_debug:
        return "a debug build of Python keeps its objects in another way"
    if interpreter.word_bits != _WORD_BITS:
        return f"the compiled form needs a Python of {_WORD_BITS} bits, this one has {interpreter.word_bits}"
    return None


def refuse_compiled(interpreter: Interpreter, is_compiled: Callable[[], bool]) -> None:
    """Called before the first hot module is loaded: raises ImportError if they are compiled for somebody else."""
    reason = why_not_compiled_for(interpreter)
    if reason is not None and is_compiled():
        raise ImportError(
            f"pyrepl's hot modules are compiled here, but {reason}: install pyrepl again with this Python "
            "(in a checkout: PYREPL_PURE=1 make build)"
        )
