"""Facts as a stream: in one order, and writer by writer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pyrepl.changes.fact_source import FactSource
from pyrepl.changes.sqlite_table import SqliteTable
from pyrepl.changes.unavailable import Unavailable
from pyrepl.changes.writer import Writer


class Rig:
    """Two writers of one stream and a reader."""

    def __init__(self, path: str) -> None:
        self.table = SqliteTable(path)
        self.a = Writer(self.table, "s", "a")
        self.b = Writer(self.table, "s", "b")
        self.source = FactSource(self.table)
        self.look()

    def look(self) -> list[tuple[str, str]]:
        return self.source.apply(self.source.fetch())

    def ids(self, writer: str | None, after: int = 0) -> list[int]:
        return [stream_id for stream_id, _ in self.source.read("s", writer, after, 1 << 20).facts]


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(str(tmp_path / "facts.db"))
    yield rig
    rig.table.close()


def test_each_writer_goes_on_by_itself_and_one_order_waits(rig: Rig) -> None:
    [one] = rig.a.reserve()
    two = rig.b.append("2")
    rig.look()
    assert (rig.source.head("s", "b"), rig.source.head("s", None)) == (two, 0)
    assert (rig.ids("b"), rig.ids(None), rig.ids("a")) == ([two], [], [])
    rig.a.complete(one, ["1"])
    rig.look()
    assert (rig.ids(None), rig.source.head("s", None)) == ([one, two], two)
    assert rig.ids("a") == [one]


def test_a_writer_that_rests_does_not_hold_back_while_every_id_is_known(rig: Rig) -> None:
    for number in range(5):
        rig.a.append(str(number))
    rig.look()
    assert rig.source.head("s", None) == 5
    rig.table.next_ids("s", 1)
    rig.a.append("7")
    rig.look()
    assert rig.source.head("s", None) == 5, "6 may be the other's"
    rig.b.rest()
    rig.look()
    assert rig.source.head("s", None) == 7


def test_new_streams_and_writers_are_told(rig: Rig) -> None:
    assert rig.look() == []
    Writer(rig.table, "s", "c")
    Writer(rig.table, "t", "a")
    assert sorted(rig.look()) == [("s", "c"), ("t", "a")]
    assert rig.source.streams() == ["s", "t"]
    assert rig.source.writers("s") == ["a", "b", "c"]
    assert rig.source.writers("nosuch") == []


def test_what_cannot_be_read(rig: Rig) -> None:
    with pytest.raises(Unavailable, match="NOSTREAM"):
        rig.source.read("nosuch", None, 0, 10)
    assert rig.source.head("s", "nobody") is None
    assert (rig.source.why_not("s", None, 5, "") or "").startswith("AHEAD")
    assert rig.source.why_not("s", None, None, "") is rig.source.why_not("s", None, 0, "") is None
    assert rig.ids(None, after=100) == []


def test_many_facts_come_in_pieces(rig: Rig) -> None:
    ids = rig.a.reserve(1200)
    for stream_id in ids:
        rig.table.add("s", "a", stream_id, ("0",))
    rig.table.set_position("s", "a", ids[-1])
    rig.look()
    got: list[int] = []
    after = 0
    while after < ids[-1]:
        block = rig.source.read("s", None, after, 1 << 20)
        assert block.upto > after
        got += [stream_id for stream_id, _ in block.facts]
        after = block.upto
    assert got == ids
