"""What is told of a change between master and replica, and of the steps of a FAILOVER."""

from __future__ import annotations

from pyrepl.observability.event import Event
from pyrepl.observability.eventlog.record import Record
from pyrepl.observability.eventlog.records import FailoverStep, RoleChanged
from pyrepl.observability.telling.role_changes import FailoverTeller, RoleTeller
from pyrepl.observability.telling.voice import Voice
from pyrepl.replication.failover import GaveUp, HandOver
from pyrepl.replication.history import History
from pyrepl.units import Offset, ReplId

OLD, NEW = ReplId("a" * 40), ReplId("b" * 40)


class Both:
    """What was said, in order: lines as text, records as they are."""

    def __init__(self) -> None:
        self.said: list[str | Record] = []
        self.voice = Voice(self._line, self.said.append)

    def _line(self, event: Event) -> None:
        self.said.append(event.text())


def test_a_master_that_follows_offers_its_own_stream() -> None:
    both = Both()
    teller = RoleTeller(both.voice, History(OLD))
    teller.asked_to_follow("m:1", "id=3", offers_own_stream=True)
    teller.follows("master", "replicaof", "m:1")
    assert len(both.said) == 3
    assert "REPLICAOF m:1 enabled (user request from 'id=3')" in str(both.said[1])
    assert both.said[2] == RoleChanged("master", "replicaof", "m:1")


def test_a_replica_that_follows_another_master_offers_nothing() -> None:
    both = Both()
    RoleTeller(both.voice, History(OLD)).asked_to_follow("m:1", "id=3", offers_own_stream=False)
    assert len(both.said) == 1


def test_a_promotion_tells_the_new_id_and_how_far_the_old_one_is_good() -> None:
    both, history = Both(), History(OLD)
    history.shift(NEW, Offset(99))
    RoleTeller(both.voice, history).leads("slave", "replicaof", OLD)
    assert both.said == [
        RoleChanged("slave", "replicaof"),
        f"Setting secondary replication ID to {OLD}, valid up to offset: 100. New replication ID is {NEW}",
    ]


def test_a_promotion_without_a_stream_leaves_no_old_id() -> None:
    both = Both()
    RoleTeller(both.voice, History(NEW)).leads("slave", "replicaof", OLD)
    assert both.said == [RoleChanged("slave", "replicaof")]


def test_each_step_of_a_failover_has_its_line_and_its_record() -> None:
    both = Both()
    teller = FailoverTeller(both.voice)
    teller.requested(None)
    teller.begun(HandOver("r", 2, True))
    teller.given_up(GaveUp("no answer", True))
    teller.done()
    assert [fact for fact in both.said if isinstance(fact, Record)] == [
        FailoverStep("requested"),
        FailoverStep("begun", "r:2"),
        FailoverStep("given_up", error="no answer"),
        FailoverStep("done"),
    ]
    lines = [fact for fact in both.said if isinstance(fact, str)]
    assert "any replica" in lines[0] and "r:2" in lines[1] and "no answer" in lines[2] and len(lines) == 4
