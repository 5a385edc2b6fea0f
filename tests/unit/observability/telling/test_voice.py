"""Lines go to the log and records to the event log, each in order."""

from __future__ import annotations

from pyrepl.observability import events
from pyrepl.observability.event import Event
from pyrepl.observability.eventlog.record import Record
from pyrepl.observability.eventlog.records import BacklogFreed, NodeStopped
from pyrepl.observability.telling.voice import Voice


def test_each_goes_to_the_log_it_is_for() -> None:
    lines: list[Event] = []
    records: list[Record] = []
    say = Voice(lines.append, records.append)
    say(BacklogFreed("ttl"), events.BacklogFreed(60), events.ByeBye(), NodeStopped(1.0))
    say()
    assert lines == [events.BacklogFreed(60), events.ByeBye()]
    assert records == [BacklogFreed("ttl"), NodeStopped(1.0)]
