"""Whether our stream is kept: each beginning and end has one event, and the name that belongs to it."""

from __future__ import annotations

from pyrepl.replication.backlog import Backlog
from pyrepl.replication.events import BacklogCreated, BacklogFreed, KeepingEvent
from pyrepl.replication.feed import NO_DB, Feed
from pyrepl.replication.history import History
from pyrepl.replication.keeping import Keeping
from pyrepl.units import Offset, ReplId

A, B, C = ReplId("a" * 40), ReplId("b" * 40), ReplId("c" * 40)


class Bench:
    def __init__(self) -> None:
        self.history, self.backlog, self.feed = History(A), Backlog(1000), Feed()
        self.keeping = Keeping(self.history, self.backlog, self.feed)
        self.told: list[KeepingEvent] = []
        self.keeping.watch(self.told.append)


def test_nothing_is_kept_to_begin_with() -> None:
    bench = Bench()
    assert not bench.backlog.active and bench.told == []


def test_it_begins_once_under_the_name_it_has() -> None:
    bench = Bench()
    bench.feed.feed_one(3, b"")
    bench.keeping.begin()
    bench.keeping.begin()
    assert bench.backlog.active and bench.history.replid == A and bench.feed.db == 3
    assert bench.told == [BacklogCreated(A, is_new=False)]


def test_it_begins_anew_under_another_name_with_its_database_unsaid() -> None:
    bench = Bench()
    bench.feed.feed_one(3, b"")
    bench.keeping.begin_anew(B)
    assert bench.backlog.active and bench.history.replid == B and bench.feed.db == NO_DB
    assert bench.told == [BacklogCreated(B, is_new=True)]


def test_it_ends_and_the_old_name_means_nothing_any_more() -> None:
    bench = Bench()
    bench.backlog.restart(Offset(7))
    bench.keeping.begin()
    bench.keeping.end(C, after_s=60)
    assert not bench.backlog.active and bench.backlog.end == 7 and not bench.history.knows(A)
    assert bench.told == [BacklogCreated(A, is_new=False), BacklogFreed(60, C)]


def test_what_is_not_kept_gets_its_new_name_all_the_same() -> None:
    bench = Bench()
    bench.keeping.end(C)
    assert bench.history.replid == C and bench.told == []
