"""Ids of facts under several writers, failures and restarts, over a real table, as readers see them.

The model is what writers have said: which ids are pending at a living writer, which facts are complete. Readers follow
each writer by itself and all in one order. At every step: no position moves back or passes an id that is pending, and
what readers have is a prefix of what is complete, in order, each fact once. In the end, when everything is settled,
they have all of it.
"""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from pyrepl.changes.fact_source import FactSource
from pyrepl.changes.sqlite_table import SqliteTable
from pyrepl.changes.writer import Writer

NAMES = ["a", "b", "c"]


class Reader:
    """Follows the stream in one order and each writer by itself, from what its last look told."""

    def __init__(self, table: SqliteTable) -> None:
        self.source = FactSource(table)
        self.got: dict[str | None, list[tuple[int, tuple[str, ...]]]] = {}
        self.at: dict[str | None, int] = {}
        self.heads: dict[str | None, int] = {}

    def look(self) -> None:
        self.source.apply(self.source.fetch())
        for writer in (None, *self.source.writers("s")) if self.source.streams() else ():
            head = self.source.head("s", writer)
            assert head is not None and head >= self.heads.get(writer, 0), "a position moved back"
            self.heads[writer] = head
            while self.at.setdefault(writer, 0) < head:
                block = self.source.read("s", writer, self.at[writer], 1 << 20)
                facts = [(stream_id, tuple(rows)) for stream_id, rows in block.facts]
                self.got.setdefault(writer, []).extend(facts)
                self.at[writer] = block.upto


class StreamIds(RuleBasedStateMachine):
    pending = Bundle("pending")

    @initialize()
    def begin(self) -> None:
        self.table = SqliteTable(":memory:")
        self.writers: dict[str, Writer] = {}
        self.readers = [Reader(self.table)]
        self.alive: dict[int, str] = {}
        """Ids pending at a living writer."""
        self.complete: dict[int, tuple[str, tuple[str, ...]]] = {}

    @rule(name=st.sampled_from(NAMES))
    def start_or_restart(self, name: str) -> None:
        """Nothing is pending at the start; what an earlier run left is never complete."""
        self.writers[name] = Writer(self.table, "s", name)
        for stream_id in [one for one, by in self.alive.items() if by == name]:
            del self.alive[stream_id]

    @rule(target=pending, name=st.sampled_from(NAMES))
    def reserve(self, name: str) -> Any:
        if name not in self.writers:
            self.start_or_restart(name)
        [stream_id] = self.writers[name].reserve()
        self.alive[stream_id] = name
        return stream_id

    @rule(stream_id=consumes(pending), rows=st.integers(0, 3))
    def settle(self, stream_id: int, rows: int) -> None:
        """Complete, or with no rows abort."""
        name = self.alive.get(stream_id)
        if name is None:
            return
        written = tuple(f"[{stream_id},{row}]" for row in range(rows))
        self.writers[name].complete(stream_id, written)
        del self.alive[stream_id]
        self.complete[stream_id] = (name, written)

    @rule(stream_id=consumes(pending))
    def die_behind_the_write(self, stream_id: int) -> None:
        """The fact is stored, the position is not, and the writer is gone: it is complete."""
        name = self.alive.get(stream_id)
        if name is None:
            return
        self.table.add("s", name, stream_id, ('"last words"',))
        self.complete[stream_id] = (name, ('"last words"',))
        self.start_or_restart(name)

    @rule(name=st.sampled_from(NAMES))
    def rest(self, name: str) -> None:
        if name in self.writers:
            self.writers[name].rest()

    @rule(index=st.integers(0, 2))
    def look(self, index: int) -> None:
        """Readers look at different times, and so disagree."""
        self.readers[index % len(self.readers)].look()

    @rule()
    def another_reader(self) -> None:
        if len(self.readers) < 3:
            self.readers.append(Reader(self.table))

    @invariant()
    def no_position_passes_a_pending_id(self) -> None:
        if not hasattr(self, "readers"):
            return
        for writer in self.writers.values():
            mine = [stream_id for stream_id, by in self.alive.items() if by == writer.name]
            assert writer.current < min(mine, default=10**9)
            assert writer.pending == sorted(mine)
        for reader in self.readers:
            for name, head in reader.heads.items():
                held_back = [stream_id for stream_id, by in self.alive.items() if name in (None, by)]
                assert head < min(held_back, default=10**9), (name, head)

    @invariant()
    def readers_have_a_prefix_in_order_once(self) -> None:
        if not hasattr(self, "readers"):
            return
        for reader in self.readers:
            for name, head in reader.heads.items():
                assert reader.got.get(name, []) == self._expected(name, head)

    def _expected(self, name: str | None, head: int) -> list[tuple[int, tuple[str, ...]]]:
        return [
            (stream_id, rows)
            for stream_id, (by, rows) in sorted(self.complete.items())
            if stream_id <= head and name in (None, by)
        ]

    def teardown(self) -> None:
        if not hasattr(self, "readers"):
            return
        for stream_id, name in list(self.alive.items()):
            self.writers[name].abort(stream_id)
            self.complete[stream_id] = (name, ())
        for writer in self.writers.values():
            writer.rest()
        for reader in self.readers:
            reader.look()
            for followed in (None, *self.writers):
                assert reader.got.get(followed, []) == self._expected(followed, 10**9)
        self.table.close()


StreamIds.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestStreamIds = StreamIds.TestCase
