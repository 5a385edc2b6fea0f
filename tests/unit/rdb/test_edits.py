"""The door to edits: each function is that of the form that the package runs in, and both forms have the same ones."""

from __future__ import annotations

from types import ModuleType

from pyrepl.rdb import edits, plain_edits
from pyrepl.rdb.compiled import edits as compiled


def _functions(module: ModuleType) -> set[str]:
    return {
        name
        for name, part in vars(module).items()
        if not name.startswith("_") and callable(part) and getattr(part, "__module__", None) == module.__name__
    }


def test_the_functions_are_those_of_the_form_that_runs() -> None:
    form = compiled if compiled.COMPILED else plain_edits
    names = _functions(plain_edits)
    assert len(names) == 12
    for name in (*names, "NO"):
        assert getattr(edits, name) is getattr(form, name)


def test_both_forms_have_the_same() -> None:
    assert _functions(compiled) == _functions(plain_edits)
    assert compiled.NO == plain_edits.NO
