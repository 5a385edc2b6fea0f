"""Records that never change: made, compared, hashed and shown as dataclasses are."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from pyrepl.frozen import Frozen


class Place(Frozen):
    KIND: ClassVar[str] = "of a file"
    name: str
    line: int = 1


class Exact(Place):
    column: int = 0


class Begin(Frozen):
    """No fields."""


class End(Frozen):
    """No fields."""


def test_fields_by_place_by_name_or_by_default() -> None:
    assert Place("a") == Place("a", 1) == Place(line=1, name="a") != Place("a", 2)
    assert (Place("a").name, Place("a").line, Place("a", line=7).line) == ("a", 1, 7)


def test_fields_of_the_base_come_first() -> None:
    exact = Exact("a", 2, 3)
    assert (exact.name, exact.line, exact.column) == ("a", 2, 3)
    assert repr(exact) == "Exact(name='a', line=2, column=3)"
    assert Place.FIELDS == ("name", "line")


def test_kinds_differ_whatever_their_fields() -> None:
    assert Begin() == Begin() != End()
    assert Exact("a") != Place("a")
    assert bool(Begin())


def test_equal_records_have_one_hash_however_they_were_made() -> None:
    assert len({Place("a", 2), Place(line=2, name="a")}) == 1


@pytest.mark.parametrize(
    ("values", "named"),
    [((), {}), (("a", 1, 2), {}), (("a",), {"name": "a"}), (("a",), {"row": 3})],
    ids=["too few", "too many", "twice", "unknown"],
)
def test_what_does_not_fit_is_refused(values: tuple[Any, ...], named: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="Place takes name, line"):
        Place(*values, **named)


def test_nothing_changes_it() -> None:
    place = Place("a")
    with pytest.raises(AttributeError, match="Place is a record, it does not change"):
        place.line = 3  # type: ignore[misc]
    with pytest.raises(AttributeError, match="Place is a record, it does not change"):
        del place.name
    assert place == Place("a", 1)
