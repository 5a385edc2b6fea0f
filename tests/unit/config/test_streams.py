"""The rows about the stream port."""

from __future__ import annotations

from pyrepl.config.directive import Directive
from pyrepl.config.directives import GROUPS
from pyrepl.config.settings import Settings
from pyrepl.config.streams import Streams


def rows() -> set[Directive[object]]:
    return {row for row in vars(Streams).values() if isinstance(row, Directive)}


def test_the_rows_are_a_group_of_their_own() -> None:
    assert [set(group) for title, group in GROUPS if title == Streams.__doc__] == [rows()]
    assert all(row.name.startswith("stream-") for row in rows())


def test_the_port_is_closed_and_where_the_facts_are_is_a_secret() -> None:
    assert not Settings().stream_port
    assert {row.name for row in rows() if row.secret} == {"stream-facts"}
