"""Pending entries and their index: in step whatever happens, and not built before somebody asks."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pyrepl.commands.xstreams import pending as stream_pending
from pyrepl.rdb.values import StreamGroup, StreamId

IDS = st.tuples(st.integers(0, 6), st.integers(0, 1))
NAMES = st.sampled_from([b"alice", b"bob", b""])


class PendingAgainstDict(RuleBasedStateMachine):
    """`self.owners` is who should have what."""

    def __init__(self) -> None:
        super().__init__()
        self.group = StreamGroup((0, 0))
        self.owners: dict[StreamId, bytes] = {}

    @rule(entry_id=IDS, name=NAMES)
    def assign(self, entry_id: StreamId, name: bytes) -> None:
        stream_pending.touch_consumer(self.group, name, 1)
        entry = stream_pending.assign(self.group, entry_id, name)
        assert entry is self.group.pending[entry_id]
        self.owners[entry_id] = name

    @rule(entry_id=IDS)
    def remove(self, entry_id: StreamId) -> None:
        assert stream_pending.remove(self.group, entry_id) == (self.owners.pop(entry_id, None) is not None)

    @rule(name=NAMES)
    def remove_consumer(self, name: bytes) -> None:
        if name in self.group.consumers:
            count = sum(owner == name for owner in self.owners.values())
            assert stream_pending.remove_consumer(self.group, name) == count
            self.owners = {entry_id: owner for entry_id, owner in self.owners.items() if owner != name}

    @rule(start=IDS, name=st.none() | NAMES)
    def ask(self, start: StreamId, name: bytes | None) -> None:
        expected = sorted(
            entry_id for entry_id, owner in self.owners.items() if entry_id >= start and name in (None, owner)
        )
        assert list(stream_pending.ids_from(self.group, start, name)) == expected
        if name is not None:
            assert stream_pending.count_of(self.group, name) == sum(owner == name for owner in self.owners.values())

    @invariant()
    def owners_agree(self) -> None:
        assert {entry_id: entry.consumer for entry_id, entry in self.group.pending.items()} == self.owners

    @precondition(lambda self: self.group.index is not None)
    @invariant()
    def index_agrees(self) -> None:
        kept = self.group.index
        assert isinstance(kept, stream_pending.PendingIndex)
        assert list(kept.ids) == sorted(self.owners)
        assert {name: list(ids) for name, ids in kept.by_consumer.items()} == {
            name: sorted(entry_id for entry_id, owner in self.owners.items() if owner == name)
            for name in set(self.owners.values())
        }


TestPendingAgainstDict = PendingAgainstDict.TestCase
TestPendingAgainstDict.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)


def test_giving_out_and_acknowledging_need_no_index() -> None:
    group = StreamGroup((0, 0))
    stream_pending.touch_consumer(group, b"alice", 1)
    for number in range(10):
        stream_pending.assign(group, (number, 0), b"alice")
    stream_pending.remove(group, (3, 0))
    assert group.index is None
    assert stream_pending.count_of(group, b"alice") == 9
    assert group.index is not None


def test_touch_consumer() -> None:
    group = StreamGroup((0, 0))
    assert stream_pending.touch_consumer(group, b"alice", 5)
    assert not stream_pending.touch_consumer(group, b"alice", 7)
    assert (group.consumers[b"alice"].seen_ms, group.consumers[b"alice"].active_ms) == (7, -1)
