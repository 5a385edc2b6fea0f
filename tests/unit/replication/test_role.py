"""Changes of role, and what they do to our stream's name and to sub-replicas."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Final

import pytest

from pyrepl.config.kinds import MasterAddress
from pyrepl.replication.backlog import Backlog
from pyrepl.replication.events import BacklogCreated, BacklogFreed, Continued, KeepingEvent, SessionState
from pyrepl.replication.feed import Feed
from pyrepl.replication.history import History
from pyrepl.replication.psync import ASK_FOR_ALL, FAILOVER_TO_MASTER, Request
from pyrepl.replication.role import FAILOVER_TO_STRANGER, NO_MASTER_LINK, Holder, Role
from pyrepl.replication.roster import Roster, RosterOptions
from pyrepl.replication.session import Session
from pyrepl.units import Offset, ReplId

A, B, C = ReplId("a" * 40), ReplId("b" * 40), ReplId("c" * 40)


class Bench:
    def __init__(self) -> None:
        self.history, self.backlog, self.feed = History(A), Backlog(1000), Feed()
        numbers = itertools.count(1)
        self.roster = Roster(
            self.history, self.backlog, self.feed, RosterOptions(), lambda: ReplId(f"{next(numbers):040x}"), 0.0
        )
        self.role = Role(self.history, self.backlog, self.feed, self.roster)
        self.told: list[KeepingEvent] = []
        self.roster.keeping.watch(self.told.append)

    def replica(self) -> Bench:
        """A replica in step at cut 100 of stream B."""
        self.role.follow("m", 1, 0.0, at_start=True)
        self.role.snapshot_loaded(B, Offset(100), 0.0)
        self.role.link_up()
        self.role.receive_stream(b"x" * 10)
        return self

    def sub_replica(self) -> Session:
        session = self.roster.open_session(1, "192.0.2.1", 0.0)
        self.roster.request_sync(session, Request(self.history.replid, self.backlog.end), 0.0)
        return session


def test_a_node_begins_as_a_master() -> None:
    role = Bench().role
    assert role.name == "master" and not role.is_replica


QUESTIONS: Final[dict[str, Callable[[Role], bool]]] = {
    "makes_stream": lambda role: role.makes_stream,
    "deletes_expired": lambda role: role.deletes_expired,
    "evicts": lambda role: role.evicts,
    "guards_writes": lambda role: role.guards_writes,
    "refuses_writes, read only": lambda role: role.refuses_writes(read_only=True),
    "refuses_writes, writable": lambda role: role.refuses_writes(read_only=False),
    "refuses_stale, link down": lambda role: role.refuses_stale(False, link_is_up=False),
    "refuses_stale, link up": lambda role: role.refuses_stale(False, link_is_up=True),
    "refuses_stale, serves it": lambda role: role.refuses_stale(True, link_is_up=False),
}
OF_A_MASTER: Final = {"makes_stream", "deletes_expired", "evicts", "guards_writes"}
OF_A_REPLICA: Final = {"refuses_writes, read only", "refuses_stale, link down"}


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_table_of_questions(question: str) -> None:
    master, replica = Bench().role, Bench().replica().role
    ask = QUESTIONS[question]
    assert (ask(master), ask(replica)) == (question in OF_A_MASTER, question in OF_A_REPLICA)


def test_while_the_stream_stands_still_what_has_expired_stays() -> None:
    bench = Bench()
    bench.role.stand_still(Holder.FAILOVER)
    assert bench.roster.is_quiet and not bench.role.deletes_expired and bench.role.makes_stream
    bench.role.stand_still(Holder.SHUTDOWN)
    bench.role.go_on(Holder.FAILOVER)
    assert bench.roster.is_quiet and not bench.role.deletes_expired, "the shutdown holds it still"
    bench.role.go_on(Holder.SHUTDOWN)
    assert not bench.roster.is_quiet and bench.role.deletes_expired


def test_whoever_watches_hears_of_each_change() -> None:
    role = Bench().role
    heard: list[tuple[str, bool]] = []
    role.watch(lambda: heard.append((role.name, role.deletes_expired)))
    role.stand_still(Holder.FAILOVER)
    role.follow("m", 1, 0.0)
    role.promote(C, 1.0)
    role.go_on(Holder.FAILOVER)
    assert heard == [("master", False), ("replica", False), ("master", False), ("master", True)]


def test_at_start_there_is_nothing_to_continue() -> None:
    bench = Bench()
    assert bench.role.follow("m", 1, 0.0, at_start=True) == ASK_FOR_ALL
    assert bench.role.master == MasterAddress("m", 1)
    assert bench.role.refuses_writes(read_only=True) and not bench.role.refuses_writes(read_only=False)


def test_a_restored_snapshot_can_be_continued() -> None:
    bench = Bench()
    bench.role.restore(B, Offset(57))
    assert bench.role.follow("m", 1, 0.0, at_start=True) == Request(B, 57)


def test_a_master_offers_its_own_stream() -> None:
    bench = Bench()
    assert bench.role.follow("m", 1, 0.0) == Request(A, 0)


def test_a_loaded_replica_is_in_its_masters_stream() -> None:
    bench = Bench().replica()
    assert (bench.history.replid, bench.backlog.end) == (B, 110)
    assert bench.role.position == Request(B, 110)
    assert bench.sub_replica().may_stream


def test_sub_replicas_wait_for_the_link() -> None:
    bench = Bench().replica()
    attached = bench.sub_replica()
    bench.role.link_lost()
    assert attached.state is SessionState.ONLINE, "those in step stay"
    late = bench.roster.open_session(2, "192.0.2.1", 0.0)
    bench.roster.request_sync(late, ASK_FOR_ALL, 0.0)
    assert b"".join(late.data_to_send()) == b"-%b\r\n" % NO_MASTER_LINK.encode()


def test_only_its_own_master_makes_a_replica_take_over() -> None:
    bench = Bench().replica()
    assert bench.role.why_not_take_over(Request(B, 110, failover=True)) is None
    assert bench.role.why_not_take_over(Request(C, 110, failover=True)) == FAILOVER_TO_STRANGER
    assert bench.roster.failover_refusal == FAILOVER_TO_STRANGER
    bench.role.promote(C, 50.0)
    assert bench.role.why_not_take_over(Request(C, 110, failover=True)) == FAILOVER_TO_MASTER


def test_promotion_keeps_the_old_name_up_to_here() -> None:
    bench = Bench().replica()
    sub = bench.sub_replica()
    bench.feed.feed_one(0, b"")
    bench.role.promote(C, 50.0)
    assert (bench.history.replid, bench.history.replid2, bench.history.fork) == (C, B, 110)
    assert sub.state is SessionState.CLOSED, "it learns the new name by coming back at once"
    assert bench.roster.makes_stream and bench.roster.refusal == ""
    assert bench.roster.failover_refusal == FAILOVER_TO_MASTER
    assert bench.roster.no_replicas_since == 50.0
    assert bench.feed.feed_one(0, b"x") != b"x"
    again = bench.roster.open_session(3, "192.0.2.1", 0.0)
    bench.roster.request_sync(again, Request(B, 110), 0.0)
    assert again.may_stream
    bench.role.promote(A, 60.0)
    assert bench.history.replid == C, "a master stays what it is"


def test_a_promoted_node_without_data_is_nobodys_heir() -> None:
    bench = Bench().replica()
    bench.role.stream_lost(A, 0.0)
    bench.role.promote(C, 0.0)
    assert not bench.history.knows(B) and bench.history.fork is None


def test_a_new_name_from_above_cuts_sub_replicas() -> None:
    bench = Bench().replica()
    sub = bench.sub_replica()
    bench.role.continued(Continued(B, Offset(110), None), 0.0)
    assert sub.may_stream
    bench.role.continued(Continued(C, Offset(110), C), 0.0)
    assert not sub.may_stream and str(sub.end_reason) == "stopped (new_id)"
    assert (bench.history.replid, bench.history.replid2, bench.history.fork) == (C, B, 110)


def test_a_restored_node_that_is_continued_keeps_a_backlog() -> None:
    bench = Bench()
    bench.role.restore(B, Offset(57))
    bench.role.follow("m", 1, 0.0, at_start=True)
    bench.role.continued(Continued(B, Offset(57), None), 0.0)
    bench.role.receive_stream(b"abc")
    assert bench.backlog.covers(57) and bench.backlog.end == 60
    assert bench.told == [BacklogCreated(B, is_new=False)]


def test_a_replicas_backlog_comes_and_goes_with_its_data() -> None:
    bench = Bench().replica()
    bench.role.stream_lost(A, 0.0)
    bench.role.snapshot_loaded(C, Offset(5), 0.0)
    assert bench.told == [
        BacklogCreated(B, is_new=False),
        BacklogFreed(None, A),
        BacklogCreated(C, is_new=False),
    ]


def test_a_master_keeps_its_stream_for_whoever_wants_to_follow_it() -> None:
    bench = Bench()
    assert bench.role.has_stream and not bench.backlog.active
    bench.role.keep_stream()
    assert bench.role.has_stream and bench.backlog.active and bench.history.replid == A


def test_a_replica_has_a_stream_while_it_holds_its_masters() -> None:
    bench = Bench().replica()
    assert bench.role.has_stream
    bench.role.stream_lost(A, 0.0)
    bench.role.keep_stream()
    assert not bench.role.has_stream and not bench.backlog.active


def test_a_former_master_has_its_masters_stream_once_it_is_continued() -> None:
    bench = Bench()
    bench.role.follow("m", 1, 0.0)
    assert not bench.role.has_stream
    bench.role.continued(Continued(A, Offset(0), None), 0.0)
    assert bench.role.has_stream


def test_a_full_resync_replaces_the_stream() -> None:
    bench = Bench().replica()
    sub = bench.sub_replica()
    bench.role.link_lost()
    bench.role.stream_lost(A, 0.0)
    assert sub.state is SessionState.CLOSED
    assert bench.role.position == ASK_FOR_ALL and not bench.history.knows(B)
    bench.role.snapshot_loaded(C, Offset(5), 0.0)
    assert bench.role.position == Request(C, 5)
    assert bench.backlog.covers(5) and not bench.backlog.covers(110)


@pytest.mark.parametrize("lost_first", [True, False])
def test_loading_beside_the_old_data_cuts_sub_replicas_at_the_swap(lost_first: bool) -> None:
    bench = Bench().replica()
    sub = bench.sub_replica()
    if lost_first:
        bench.role.link_lost()
    bench.role.snapshot_loaded(C, Offset(5), 0.0)
    assert sub.state is SessionState.CLOSED and bench.history.replid == C


def test_another_master_keeps_sub_replicas() -> None:
    bench = Bench().replica()
    sub = bench.sub_replica()
    assert bench.role.follow("other", 2, 0.0) == Request(B, 110)
    assert sub.state is SessionState.ONLINE and not bench.roster.makes_stream
