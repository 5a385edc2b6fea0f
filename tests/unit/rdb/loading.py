"""What a snapshot holds, gathered from the reader's events however they were cut."""

from __future__ import annotations

from typing import NamedTuple

from pyrepl.rdb.events import Header, LoadedKeys, RdbEvent
from pyrepl.rdb.reader import DEFAULT_LIMITS, RdbLimits, RdbReader


class Loaded(NamedTuple):
    """Keys by database, with expiries, idle times and frequencies; the other events in their order."""

    values: dict[int, dict[bytes, object]]
    expires: dict[int, dict[bytes, int]]
    idle_s: dict[bytes, int]
    freq: dict[bytes, int]
    others: list[RdbEvent]


def gather(events: list[RdbEvent]) -> Loaded:
    loaded = Loaded({}, {}, {}, {}, [])
    for event in events:
        if isinstance(event, LoadedKeys):
            values = loaded.values.setdefault(event.db, {})
            values.update(event.strings)
            values.update(event.others)
            loaded.expires.setdefault(event.db, {}).update(event.expires)
            loaded.idle_s.update(event.idle_s)
            loaded.freq.update(event.freq)
        else:
            loaded.others.append(event)
    return loaded


def load(data: bytes, limits: RdbLimits = DEFAULT_LIMITS) -> Loaded:
    """The contents of a whole snapshot. Raises CorruptData."""
    reader = RdbReader(limits)
    events = reader.feed(data)
    reader.check_complete()
    assert reader.unused() == b""
    assert reader.consumed == len(data)
    assert isinstance(events[0], Header)
    return gather(events)
