"""The idempotency ids that a stream remembers: look up, note, forget. The record is `pyrepl.rdb.values.IdmpState`.

Redis's rules (8.6.3, `t_stream.c`): an id is kept for the stream's duration, counted from the milliseconds of the entry
that it stands for, and looked at once a second, on masters and replicas alike, each by its own clock; of a producer
that has more than the most allowed, the oldest goes. A producer goes with its last id.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.config.settings import Settings
from pyrepl.keyspace.database import Database, Keyspace
from pyrepl.rdb.values import IdmpLimits, IdmpState, StreamId, StreamValue

LOOKS: Final = 1000
"""Producers and streams that one slice looks at."""


def limits_of_new(settings: Settings) -> IdmpLimits:
    """The limits of a new stream, from the directives."""
    return settings.stream_idmp_duration, settings.stream_idmp_maxsize


def recall(stream: StreamValue, producer: bytes, iid: bytes) -> StreamId | None:
    """The entry that an idempotency id stands for, None when the stream does not know it (any more)."""
    if stream.idmp is None:
        return None
    entries = stream.idmp.producers.get(producer)
    return None if entries is None else entries.get(iid)


def remember(db: Database, key: bytes, stream: StreamValue, producer: bytes, iid: bytes, entry_id: StreamId) -> None:
    """Note an idempotency id as the producer's newest; one that is known stands for this entry from now on."""
    idmp = _state(db, key, stream)
    entries = idmp.producers.setdefault(producer, {})
    entries.pop(iid, None)
    entries[iid] = entry_id
    idmp.iids_added += 1
    if len(entries) > idmp.max_entries:
        del entries[next(iter(entries))]


def count_duplicate(db: Database, key: bytes, stream: StreamValue) -> None:
    """Count that an idempotency id came again."""
    _state(db, key, stream).iids_duplicates += 1


def set_limits(db: Database, key: bytes, stream: StreamValue, duration_s: int | None, max_entries: int | None) -> bool:
    """Set the limits that are not None. True if this changes one of them, and then the stream has forgotten all ids."""
    idmp = stream.idmp or IdmpState()
    before = (idmp.duration_s, idmp.max_entries)
    after = (duration_s or before[0], max_entries or before[1])
    if after == before:
        return False
    idmp = _state(db, key, stream)
    idmp.duration_s, idmp.max_entries = after
    idmp.producers = {}
    return True


def _state(db: Database, key: bytes, stream: StreamValue) -> IdmpState:
    if stream.idmp is None:
        stream.idmp = IdmpState()
        db.note_kind(key, stream)
    return stream.idmp


def forget_due(idmp: IdmpState, producer: bytes, now_ms: int) -> None:
    """Forget a producer's ids that have expired, the oldest first, up to the first one that stays."""
    entries = idmp.producers.get(producer)
    if entries is None:
        return
    until_ms = now_ms - idmp.duration_s * 1000
    due: list[bytes] = []
    for iid, (ms, _) in entries.items():
        if ms > until_ms:
            break
        due.append(iid)
    if len(due) == len(entries):
        del idmp.producers[producer]
        return
    for iid in due:
        del entries[iid]


@final
class IdmpCycle:
    """Forgets the expired ids of all streams, a slice at a time.

    `begin` is called once a second, `run` until it says that the round is over.
    """

    __slots__ = ("_keyspace", "_streams", "_work")

    def __init__(self, keyspace: Keyspace) -> None:
        self._keyspace = keyspace
        self._streams: list[tuple[Database, bytes]] = []
        """Still to look at in this round; some may be gone by now."""
        self._work: list[tuple[IdmpState, bytes]] = []
        """Producers of the stream at work, still to look at."""

    def begin(self) -> None:
        """Begin a round, unless the last one is still under way."""
        if not self._streams and not self._work:
            self._streams = [(db, key) for db in self._keyspace.databases for key in db.idmp_streams]

    def run(self, now_ms: int) -> bool:
        """Look at up to LOOKS producers and streams. Returns whether there are more. `now_ms` is Unix ms."""
        for _ in range(LOOKS):
            if self._work:
                idmp, producer = self._work.pop()
                forget_due(idmp, producer, now_ms)
            elif self._streams:
                self._visit(*self._streams.pop())
            else:
                return False
        return True

    def _visit(self, db: Database, key: bytes) -> None:
        value = db.store.get(key)
        if type(value) is StreamValue and value.idmp is not None:
            idmp = value.idmp
            self._work.extend((idmp, producer) for producer in idmp.producers)
        else:
            db.idmp_streams.discard(key)
