"""The log of a stream against a plain sorted list, and that trimming and deleting cost what they should."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from pyrepl.commands.xstreams import log as stream_log
from pyrepl.rdb.values import ENTRIES_READ_UNKNOWN, StreamEntry, StreamGroup, StreamId, StreamValue

IDS = st.tuples(st.integers(0, 40), st.integers(0, 2))


def stream_of(count: int) -> StreamValue:
    """Ids 1-0 to count-0."""
    stream = StreamValue()
    for number in range(1, count + 1):
        stream_log.append(stream, (number, 0), (b"f", b"%d" % number))
    return stream


class LogAgainstList(RuleBasedStateMachine):
    """`self.plain` is the log as anybody would write it."""

    def __init__(self) -> None:
        super().__init__()
        self.stream = StreamValue()
        self.plain: list[StreamEntry] = []
        self.added = 0
        self.tombstone = (0, 0)

    @rule(step=st.integers(1, 3), times=st.integers(1, 150))
    def append(self, step: int, times: int) -> None:
        for _ in range(times):
            entry_id = (self.stream.last_id[0], self.stream.last_id[1] + step)
            if entry_id[1] > 3:
                entry_id = (entry_id[0] + 1, 0)
            stream_log.append(self.stream, entry_id, (b"f", b"v"))
            self.plain.append((entry_id, (b"f", b"v")))
            self.added += 1

    @rule(data=st.data(), count=st.integers(0, 15), strangers=st.lists(IDS, max_size=2))
    def delete(self, data: st.DataObject, count: int, strangers: list[StreamId]) -> None:
        known = [entry_id for entry_id, _ in self.plain]
        ids = list(strangers)
        if known:
            ids += data.draw(st.lists(st.sampled_from(known), max_size=count))
        doomed = {entry_id for entry_id in ids if entry_id in known}
        assert stream_log.delete(self.stream, ids) == len(doomed)
        self.plain = [entry for entry in self.plain if entry[0] not in doomed]
        self.tombstone = max([self.tombstone, *doomed])

    @rule(data=st.data())
    def trim(self, data: st.DataObject) -> None:
        count = data.draw(st.integers(0, len(self.plain)))
        stream_log.drop_first(self.stream, count)
        del self.plain[:count]

    @rule(start=IDS, end=IDS, limit=st.none() | st.integers(1, 5))
    def ask(self, start: StreamId, end: StreamId, limit: int | None) -> None:
        expected = [entry for entry in self.plain if start <= entry[0] <= end]
        assert stream_log.between(self.stream, start, end, limit) == expected[:limit]
        assert stream_log.between_reversed(self.stream, start, end, limit) == expected[::-1][:limit]
        found = stream_log.find(self.stream, start)
        assert found == next((entry for entry in self.plain if entry[0] == start), None)

    @rule()
    def look_at_all(self) -> None:
        assert self.stream.entries == self.plain

    @invariant()
    def agrees(self) -> None:
        stream = self.stream
        assert stream_log.size(stream) == len(self.plain)
        assert stream_log.first(stream) == (self.plain[0] if self.plain else None)
        assert stream_log.last(stream) == (self.plain[-1] if self.plain else None)
        assert stream.first_id == (self.plain[0][0] if self.plain else (0, 0))
        assert stream.max_deleted_id == self.tombstone
        assert stream.entries_added == self.added
        assert 0 <= stream.head <= len(stream.held)
        assert len(stream.held) <= max(2 * len(self.plain), len(self.plain) + 64), "what is trimmed is let go"


TestLogAgainstList = LogAgainstList.TestCase
TestLogAgainstList.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)


def test_trimming_one_entry_at_a_time_moves_few_others() -> None:
    stream = stream_of(1000)
    moved = 0
    for number in range(1001, 3001):
        stream_log.append(stream, (number, 0), ())
        before = len(stream.held)
        stream_log.drop_first(stream, 1)
        if len(stream.held) < before:
            moved += len(stream.held)
    assert stream_log.size(stream) == 1000
    assert moved <= 2 * 2000, "each entry trimmed pays for the move of a few"


def test_trimmed_entries_are_not_kept_alive() -> None:
    stream = stream_of(100)
    stream_log.drop_first(stream, 10)
    assert stream.head == 10
    assert all(entry == ((0, 0), ()) for entry in stream.held[:10])


def test_whole_nodes() -> None:
    stream = stream_of(350)
    assert stream_log.whole_nodes(stream, 99, None, 100) == 0
    assert stream_log.whole_nodes(stream, 250, None, 100) == 200
    assert stream_log.whole_nodes(stream, 250, 150, 100) == 100
    assert stream_log.whole_nodes(stream, 350, None, 100) == 350, "the last node, however full, is whole as well"
    assert stream_log.whole_nodes(stream, 350, 349, 100) == 300


def test_lag_without_deletions() -> None:
    stream, group = stream_of(5), StreamGroup((0, 0), 0)
    assert stream_log.lag(stream, group) == 5
    stream_log.advance(stream, group, (1, 0))
    stream_log.advance(stream, group, (2, 0))
    assert (group.last_id, group.entries_read, stream_log.lag(stream, group)) == ((2, 0), 2, 3)


def test_a_tombstone_ahead_makes_the_lag_unknown_until_the_end() -> None:
    stream, group = stream_of(5), StreamGroup((1, 0), 1)
    stream_log.delete(stream, [(4, 0)])
    assert stream_log.lag(stream, group) is None
    stream_log.advance(stream, group, (2, 0))
    assert group.entries_read == ENTRIES_READ_UNKNOWN
    stream_log.advance(stream, group, (5, 0))
    assert (group.entries_read, stream_log.lag(stream, group)) == (5, 0)


def test_a_tombstone_before_the_first_entry_does_not_matter() -> None:
    stream, group = stream_of(5), StreamGroup((2, 0), 2)
    stream_log.delete(stream, [(3, 0)])
    stream_log.drop_first(stream, 2)
    assert stream.first_id == (4, 0)
    assert stream_log.lag(stream, group) == 2


def test_what_was_trimmed_before_the_group_saw_it_is_no_lag() -> None:
    stream, group = stream_of(5), StreamGroup((1, 0), 1)
    stream_log.drop_first(stream, 3)
    assert stream_log.lag(stream, group) == 2
    stream_log.advance(stream, group, (4, 0))
    assert (group.entries_read, stream_log.lag(stream, group)) == (4, 1)


def test_an_empty_stream_leaves_no_lag() -> None:
    stream, group = stream_of(3), StreamGroup((1, 0), 1)
    stream_log.delete(stream, [(1, 0), (2, 0), (3, 0)])
    assert stream_log.lag(stream, group) == 0


def test_entries_up_to() -> None:
    stream = stream_of(5)
    assert stream_log.entries_up_to(StreamValue(), (7, 0)) == 0
    assert stream_log.entries_up_to(stream, (0, 0)) == 0
    assert stream_log.entries_up_to(stream, (1, 0)) == 1
    assert stream_log.entries_up_to(stream, (3, 0)) == ENTRIES_READ_UNKNOWN, "somewhere in the middle"
    assert stream_log.entries_up_to(stream, (5, 0)) == 5
    assert stream_log.entries_up_to(stream, (6, 0)) == ENTRIES_READ_UNKNOWN
    stream_log.drop_first(stream, 5)
    assert stream_log.entries_up_to(stream, (3, 0)) == 5, "an empty stream has nothing after it"
