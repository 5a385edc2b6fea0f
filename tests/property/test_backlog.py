"""The backlog against a model that keeps the whole stream, under any sequence of operations."""

from __future__ import annotations

import pytest
from hypothesis import assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, precondition, rule

from pyrepl.replication.backlog import BLOCK_SIZE, Backlog, Cursor
from pyrepl.units import Offset

MORE_THAN_A_BLOCK = BLOCK_SIZE + 10


class BacklogModel(RuleBasedStateMachine):
    """`stream` is every byte since the cut `base`; `floor` is the smallest start that was legal at the last trim."""

    cursors = Bundle("cursors")

    def __init__(self) -> None:
        super().__init__()
        self.backlog = Backlog(100)
        self.stream = b""
        self.base = 0
        self.pins: list[Cursor] = []
        self.was_start = 0

    @property
    def end(self) -> int:
        return self.base + len(self.stream)

    @precondition(lambda self: not self.backlog.active)
    @rule()
    def create(self) -> None:
        self.backlog.create()
        self.was_start = self.end

    @precondition(lambda self: self.backlog.active and not self.pins)
    @rule()
    def free(self) -> None:
        self.backlog.free()
        self.was_start = self.end

    @precondition(lambda self: not self.pins)
    @rule(at=st.integers(0, 10_000))
    def restart(self, at: int) -> None:
        self.backlog.restart(Offset(at))
        self.stream, self.base, self.was_start = b"", at, at

    @precondition(lambda self: self.backlog.active)
    @rule(size=st.one_of(st.integers(0, 150), st.sampled_from([BLOCK_SIZE - 1, BLOCK_SIZE, MORE_THAN_A_BLOCK])))
    def append(self, size: int) -> None:
        data = bytes((self.end + i) % 251 for i in range(size))
        self.backlog.append(data)
        self.stream += data

    @precondition(lambda self: self.backlog.active)
    @rule(target=cursors, back=st.integers(0, 300))
    def attach(self, back: int) -> object:
        at = self.end - back
        if not self.backlog.start <= at:
            with pytest.raises(ValueError, match="cannot attach"):
                self.backlog.attach(Offset(at))
            return multiple()
        cursor = self.backlog.attach(Offset(at))
        self.pins.append(cursor)
        return cursor

    @rule(cursor=cursors, max_bytes=st.integers(1, 2 * BLOCK_SIZE))
    def hand_out(self, cursor: Cursor, max_bytes: int) -> None:
        at = cursor.at
        data = b"".join(bytes(piece) for piece in self.backlog.read(at, max_bytes))
        assert data == self.stream[at - self.base :][:max_bytes]
        cursor.advance(len(data))

    @rule(cursor=consumes(cursors))
    def detach(self, cursor: Cursor) -> None:
        self.pins.remove(cursor)
        self.backlog.detach(cursor)

    @rule(capacity=st.sampled_from([1, 10, 100, 1000, BLOCK_SIZE, 3 * BLOCK_SIZE]))
    def resize(self, capacity: int) -> None:
        self.backlog.resize(capacity)

    @rule(back=st.integers(0, 400), max_bytes=st.integers(1, 500))
    def read_anywhere(self, back: int, max_bytes: int) -> None:
        at = self.end - back
        assume(at >= 0)
        if at < self.backlog.start:
            with pytest.raises(ValueError, match="asked for stream bytes"):
                self.backlog.read(at, max_bytes)
        else:
            data = b"".join(bytes(piece) for piece in self.backlog.read(at, max_bytes))
            assert data == self.stream[at - self.base :][:max_bytes]

    @invariant()
    def holds_what_it_must_and_not_more(self) -> None:
        backlog = self.backlog
        assert backlog.end == self.end
        assert self.was_start <= backlog.start <= backlog.end
        lowest = min((pin.at for pin in self.pins), default=None)
        assert backlog.lowest_pin == lowest
        if lowest is not None:
            assert backlog.start <= lowest
        if lowest is None and backlog.active:
            assert backlog.held_bytes <= backlog.capacity
        if backlog.active:
            kept = min(backlog.capacity, self.end - self.was_start)
            assert backlog.held_bytes >= min(kept, backlog.held_bytes)
        self.was_start = backlog.start

    @invariant()
    def covers_exactly_what_it_holds(self) -> None:
        backlog = self.backlog
        for held in (backlog.start - 1, backlog.start, backlog.end, backlog.end + 1):
            assert backlog.covers(held) == (backlog.active and backlog.start <= held <= backlog.end)


BacklogModel.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestBacklog = BacklogModel.TestCase
