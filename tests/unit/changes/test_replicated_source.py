"""keys and its like from a real backlog: forks, pins, what is pumped."""

from __future__ import annotations

import pytest

from pyrepl.changes.changed_keys import ChangedKeys
from pyrepl.changes.history_digits import digits_of, token_at
from pyrepl.changes.replicated import CommandRows, KeyRows, RowMaker
from pyrepl.changes.replicated_source import Pin, ReplicatedSource
from pyrepl.changes.unavailable import Unavailable
from pyrepl.replication.backlog import Backlog, Cursor
from pyrepl.replication.history import History
from pyrepl.resp.encoder import encode_command
from pyrepl.units import Offset, ReplId

A, B, C = "a" * 40, "b" * 40, "c" * 40


def token(cut: int, replid: str = A) -> int:
    return token_at(cut, digits_of(replid))


class Rig:
    """A stream of SETs, all of one size, and its source."""

    def __init__(self) -> None:
        self.backlog = Backlog(1 << 20)
        self.backlog.create()
        self.history = History(ReplId(A))
        changed = ChangedKeys(lambda argv: ("SET", [1]))
        makers: dict[str, RowMaker] = {"keys": KeyRows(changed), "commands": CommandRows()}
        self.source = ReplicatedSource(self.backlog, lambda: self.history, makers, self.attach, self.detach)
        self.source.named(A)
        self.source.log.restart(0, 0)

    def attach(self, cut: int) -> Cursor:
        return self.backlog.attach(Offset(cut))

    def detach(self, pin: Pin) -> None:
        assert isinstance(pin, Cursor)
        self.backlog.detach(pin)

    def write(self, count: int = 1) -> int:
        for _ in range(count):
            self.backlog.append(encode_command([b"SET", b"k", b"v"]))
        return self.backlog.end


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_the_writer_is_the_history(rig: Rig) -> None:
    end = rig.write(3)
    assert rig.source.streams() == ["keys", "commands"]
    assert rig.source.writers("keys") == [A]
    assert rig.source.head("keys", None) == rig.source.head("keys", A) == end
    assert rig.source.head("keys", B) is None
    assert rig.source.head("nosuch", None) is None


def test_reading(rig: Rig) -> None:
    end = rig.write(3)
    block = rig.source.read("keys", None, end // 3, 1 << 20)
    assert (block.previous, block.upto, block.writer, block.rows) == (end // 3, end, A, 2)
    assert block.lines(named=False).splitlines()[1].split()[2] == b"%d" % token(end)
    assert rig.source.read("keys", None, end + 100, 1 << 20).rows == 0, "ahead of us: nothing yet"
    with pytest.raises(Unavailable, match="no stream nosuch"):
        rig.source.read("nosuch", None, 0, 10)


class TestForks:
    def why_not(self, rig: Rig, asked: int, named: str = "") -> str:
        return rig.source.why_not("keys", None, asked, named) or ""

    def test_a_number_names_its_history(self, rig: Rig) -> None:
        """What 53, 83 or the offset itself is on this node, on another it is something else: only ours is taken."""
        end = rig.write(3)
        assert self.why_not(rig, token(end // 3)) == ""
        assert self.why_not(rig, token(end + 1)).startswith("AHEAD ")
        for other in (end // 3, token(end // 3, C), token(end // 3) + 1, token(end + 5, C)):
            assert self.why_not(rig, other).startswith(f"FORKED token {other} is of another history"), other

    def test_zero_is_the_beginning_of_any(self, rig: Rig) -> None:
        rig.write()
        assert self.why_not(rig, 0) == self.why_not(rig, 0, A) == ""
        rig.source.log.restart(rig.backlog.end, 0)
        assert self.why_not(rig, 0).startswith(f"TOOOLD {token(rig.backlog.end)} ")

    def test_the_same_history_may_be_ahead_of_us(self, rig: Rig) -> None:
        assert self.why_not(rig, token(rig.write() + 50), A.upper()) == ""
        assert rig.source.why_not("keys", A, token(rig.write() + 50), "") is None

    def test_the_name_before_is_good_up_to_the_fork(self, rig: Rig) -> None:
        fork = rig.write()
        rig.history.shift(ReplId(B), Offset(fork))
        rig.source.named(B)
        rig.write()
        for named in ("", A):
            assert self.why_not(rig, token(fork), named) == ""
            beyond = token(rig.backlog.end)
            assert self.why_not(rig, beyond, named).startswith(f"FORKED {token(fork, B)} token {beyond} lies beyond")
        for named in ("", B):
            assert self.why_not(rig, token(rig.backlog.end, B), named) == ""
            assert self.why_not(rig, token(fork, B), named) == "", "the history before is the beginning of ours"

    def test_what_is_said_names_the_token_that_was_asked_for(self, rig: Rig) -> None:
        """Though this node goes by another name meanwhile, as after a restart."""
        fork = rig.write(2)
        rig.history.shift(ReplId(B), Offset(fork))
        rig.source.named(B)
        rig.source.log.restart(fork, 0)
        asked = token(fork // 2)
        assert self.why_not(rig, asked).startswith(f"TOOOLD {token(fork, B)} token {asked} is too old: ")

    def test_a_name_nobody_knows(self, rig: Rig) -> None:
        assert self.why_not(rig, token(0), C).startswith(f"FORKED token {token(0)} is of another history, {C}")
        rig.history.shift(ReplId(B), Offset(rig.write()))
        rig.history.shift(ReplId(C), Offset(rig.write()))
        assert self.why_not(rig, token(0)).startswith("FORKED token"), "two promotions ago"

    def test_a_number_that_is_not_of_the_history_named(self, rig: Rig) -> None:
        assert self.why_not(rig, token(0, B), A).startswith("BADTOKEN ")

    def test_before_the_first_sync(self, rig: Rig) -> None:
        rig.backlog.free()
        for token in (None, 0):
            assert (rig.source.why_not("keys", None, token, "") or "").startswith("LOADING ")


class TestLive:
    def test_what_is_pumped_goes_to_each_stream(self, rig: Rig) -> None:
        rig.source.go_live()
        assert not rig.source.lag_bytes and rig.source.pump(["keys"]) == []
        end = rig.write(2)
        assert rig.source.lag_bytes == end
        assert rig.source.head("keys", None) == 0, "live subscribers are where the pump is, and nobody is beyond"
        blocks = rig.source.pump(["commands", "keys"])
        assert [(block.stream, block.previous, block.upto, block.rows) for block in blocks] == [
            ("commands", 0, end, 2), ("keys", 0, end, 2),
        ]  # fmt: skip
        assert rig.source.pump(["keys"]) == []
        assert rig.source.head("keys", None) == end

    def test_what_was_not_pumped_is_held_whatever_the_capacity(self, rig: Rig) -> None:
        rig.backlog.resize(100)
        rig.source.go_live()
        end = rig.write(50)
        assert [block.rows for block in rig.source.pump(["keys"])] == [50]
        rig.write()
        assert rig.backlog.start >= end - 100
        rig.source.stop_live()
        rig.source.stop_live()
        assert rig.backlog.lowest_pin is None and not rig.source.is_pumped

    def test_outrun(self, rig: Rig) -> None:
        rig.source.go_live()
        rig.write(30_000)
        assert not rig.source.is_outrun
        rig.write(30_000)
        assert rig.source.is_outrun, "more is pinned than a backlog of 1 MB is to hold"
        rig.source.stop_live()
        assert not rig.source.is_outrun and rig.source.lag_bytes == 0

    def test_up_to_a_fork(self, rig: Rig) -> None:
        rig.source.go_live()
        fork = rig.write(2)
        rig.write(3)
        assert [block.upto for block in rig.source.pump(["keys"], fork)] == [fork]
        assert rig.source.pump(["keys"], fork) == []
        assert [block.rows for block in rig.source.pump(["keys"])] == [3]

    def test_nobody_goes_live_without_a_stream(self, rig: Rig) -> None:
        rig.backlog.free()
        rig.source.go_live()
        assert not rig.source.is_pumped
