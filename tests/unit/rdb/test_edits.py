"""The door to edits: each function is that of the form that the package runs in."""

from __future__ import annotations

from pyrepl.rdb import edits, plain_edits
from pyrepl.rdb.compiled import edits as compiled


def test_the_functions_are_those_of_the_form_that_runs() -> None:
    form = compiled if compiled.COMPILED else plain_edits
    assert len(edits.__all__) == 13
    for name in edits.__all__:
        assert getattr(edits, name) is getattr(form, name)
