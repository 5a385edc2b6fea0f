"""Whether the interpreter's objects have the sizes that this room was compiled for. Loaded before the rest of it.

What else may differ, and who is not compiled for at all, stands in `pyrepl.layout`.
"""

from __future__ import annotations

import sys

try:
    import cython
except ImportError:
    from pyrepl import plain as cython

if cython.compiled:
    from cython.cimports.pyrepl.rdb.compiled.fits import (
        BYTES_SIZE,
        DICT_SIZE,
        FLOAT_SIZE,
        LIST_SIZE,
        OBJECT_SIZE,
        SET_SIZE,
        VERSION,
    )


def built_for() -> dict[str, int]:
    """Name -> bytes of an object of that type without its elements, and the version; {} in the plain form."""
    if cython.compiled:
        return {
            "version": VERSION,
            "object": OBJECT_SIZE,
            "bytes": BYTES_SIZE,
            "dict": DICT_SIZE,
            "float": FLOAT_SIZE,
            "list": LIST_SIZE,
            "set": SET_SIZE,
        }
    return {}


def found() -> dict[str, int]:
    """The same of the interpreter that runs."""
    kinds: tuple[type, ...] = (object, bytes, dict, float, list, set)
    return {"version": sys.hexversion >> 16, **{kind.__name__: kind.__basicsize__ for kind in kinds}}


def why_not(built: dict[str, int], here: dict[str, int]) -> str | None:
    """The sentence for a module that was compiled for another layout, or None."""
    other = [name for name, size in built.items() if here.get(name) != size]
    if not other:
        return None
    return (
        f"pyrepl's hot modules were compiled for another Python ({', '.join(other)} differ): install pyrepl again "
        "with this one (in a checkout: make build)"
    )


_complaint = why_not(built_for(), found())
if _complaint is not None:
    raise ImportError(_complaint)
