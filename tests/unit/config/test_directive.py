"""A directive as a row and as a typed attribute."""

from __future__ import annotations

from pyrepl.config.directive import Directive
from pyrepl.config.kinds import Integer


class Rows:
    some_size = Directive(Integer(), 7, "Says something.", aliases=("old-size",), hidden=True)


def test_takes_its_name_from_the_attribute() -> None:
    row = Rows.some_size
    assert (row.attribute, row.name, row.aliases) == ("some_size", "some-size", ("old-size",))
    assert repr(row) == "Directive(some-size)"
    assert (row.mutable, row.protected, row.secret, row.hidden, row.inert) == (True, False, False, True, "")


def test_is_a_default_until_the_object_has_its_own_value() -> None:
    rows = Rows()
    assert rows.some_size == 7
    vars(rows)["some_size"] = 8
    assert rows.some_size == 8
    assert Rows().some_size == 7
