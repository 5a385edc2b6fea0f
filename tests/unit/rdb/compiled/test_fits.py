"""What was compiled for another Python is not loaded: it knows what sizes of objects the headers said."""

from __future__ import annotations

import pytest

from pyrepl.rdb.compiled import bulk
from pyrepl.rdb.compiled.fits import built_for, found, why_not


def test_what_runs_was_compiled_for_this_python() -> None:
    assert built_for() == (found() if bulk.COMPILED else {})
    assert why_not(built_for(), found()) is None


@pytest.mark.parametrize("name", ["version", "object", "bytes", "dict", "float", "list", "set"])
def test_any_difference_is_named(name: str) -> None:
    """As a Python that traces references would find it: two words more in every object."""
    built = found()
    complaint = why_not(built | {name: built[name] + 16}, built)
    assert complaint is not None and f"({name} differ" in complaint and "install pyrepl again" in complaint
