"""The kinds of wait: when each is ready, and what its client is told then or too late."""

from __future__ import annotations

import pytest

from pyrepl.acl.identity import UNASKED
from pyrepl.errors import CommandError
from pyrepl.node.client import Client
from pyrepl.node.node import Node
from pyrepl.node.waits import (
    WAITAOF_WITHOUT_AOF,
    AckedWait,
    FsyncedWait,
    KeysWait,
    LateWait,
    PausedWait,
    ShutdownWait,
    Wait,
    WorkWait,
)
from pyrepl.replication.psync import Request
from pyrepl.replication.session import Session
from pyrepl.resp.reply import NO_REPLY, NULL_ARRAY, OK
from pyrepl.units import Offset
from tests.unit.daemon.rig import bare_node


class Bench:
    """A node with two replicas that have been sent 100 bytes, and a client that wrote up to byte 50."""

    def __init__(self) -> None:
        self.node: Node = bare_node(appendonly=True)
        replication = self.node.replication
        replication.backlog.create()
        self.sessions = [self._online(number) for number in range(2)]
        replication.backlog.append(b"x" * 100)
        for session in self.sessions:
            assert session.cursor is not None
            session.cursor.advance(100)
        self.client = Client(7, "h:1", "h:2", 0.0, UNASKED)
        self.client.write_cut = 50

    def ack(self, replica: int, cut: int, *fsynced: bytes) -> None:
        self.sessions[replica].receive_command([b"REPLCONF", b"ACK", b"%d" % cut, *fsynced], 2.0)

    def acked(self, wanted: int) -> AckedWait:
        return AckedWait(self.client, None, self.node.replication.roster, wanted)

    def fsynced(self, here: int, replicas: int) -> FsyncedWait:
        node = self.node
        roster = node.replication.roster
        return FsyncedWait(self.client, None, node.settings, node.persistence.aof, roster, here=here, replicas=replicas)

    def _online(self, number: int) -> Session:
        replication = self.node.replication
        session = replication.roster.open_session(number, "h", 1.0)
        replication.roster.request_sync(session, Request(replication.history.replid, Offset(0)), 1.0)
        return session


@pytest.fixture
def bench() -> Bench:
    return Bench()


class TestAcked:
    def test_enough(self, bench: Bench) -> None:
        wait = bench.acked(1)
        bench.ack(0, 49)
        assert wait.ready() is None and wait.late() == 0
        bench.ack(0, 50)
        assert wait.ready() == (1,)

    def test_more_than_enough_are_counted(self, bench: Bench) -> None:
        wait = bench.acked(1)
        bench.ack(0, 50)
        bench.ack(1, 100)
        assert wait.ready() == (2,)

    def test_what_the_client_writes_later_is_not_waited_for(self, bench: Bench) -> None:
        wait = bench.acked(2)
        bench.client.write_cut = 100
        bench.ack(0, 60)
        assert wait.ready() is None and wait.late() == 1
        bench.ack(1, 60)
        assert wait.ready() == (2,)


class TestFsynced:
    def test_here(self, bench: Bench) -> None:
        wait = bench.fsynced(1, 0)
        bench.node.persistence.aof.synced_cut = 49
        assert wait.ready() is None and wait.late() == [0, 0]
        bench.node.persistence.aof.synced_cut = 50
        assert wait.ready() == ([1, 0],)

    def test_there(self, bench: Bench) -> None:
        wait = bench.fsynced(0, 1)
        bench.ack(0, 100)
        assert wait.ready() is None
        bench.ack(0, 100, b"FACK", b"50")
        assert wait.ready() == ([0, 1],)

    def test_a_file_that_is_kept_no_more(self, bench: Bench) -> None:
        waits = bench.fsynced(1, 0), bench.fsynced(0, 1)
        bench.node.settings.assign("appendonly", False)
        bench.ack(0, 100, b"FACK", b"50")
        assert waits[1].ready() == ([0, 1],)
        (error,) = waits[0].ready() or (None,)
        assert isinstance(error, CommandError) and str(error) == WAITAOF_WITHOUT_AOF


def test_keys(bench: Bench) -> None:
    places = ((0, b"a"), (1, b"a"), (0, b"a"))
    wait = KeysWait(bench.client, 4.0, places, "list", lambda: (1,), NULL_ARRAY)
    assert wait.places == ((0, b"a"), (1, b"a"))
    assert wait.ready() is None and wait.late() is NULL_ARRAY and wait.deadline == 4.0
    assert [wait.wants(name) for name in ("list", "string", None)] == [True, False, False]
    wait = KeysWait(bench.client, None, places, "stream", lambda: None, NULL_ARRAY, on_any_type=True)
    assert all(wait.wants(name) for name in ("stream", "string", None))


def test_what_is_not_looked_at(bench: Bench) -> None:
    """These are ended by whoever knows."""
    waits = PausedWait(bench.client, may_write=True), ShutdownWait(bench.client), WorkWait(bench.client)
    assert [wait.ready() for wait in waits] == [None] * 3
    assert [wait.late() for wait in waits] == [NO_REPLY] * 3


def test_a_late_answer_comes_at_the_deadline(bench: Bench) -> None:
    wait = LateWait(bench.client, 5.0, OK)
    assert wait.ready() is None and wait.late() is OK and wait.deadline == 5.0


def test_who_counts_as_blocked_and_who_depends_on_the_role() -> None:
    kinds: list[type[Wait]] = [AckedWait, FsyncedWait, KeysWait, PausedWait, ShutdownWait, LateWait, WorkWait]
    assert [kind.blocks for kind in kinds] == [True] * 3 + [False] * 4
    assert [kind.ends_with_role for kind in kinds] == [True] * 3 + [False] * 4
    assert len({kind.kind for kind in kinds}) == len(kinds)
