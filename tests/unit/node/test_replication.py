"""A node's replication state: whom it follows, what it feeds, where a snapshot of this moment stands."""

from __future__ import annotations

from pyrepl.acl.identity import OURS
from pyrepl.node.client import Client
from pyrepl.node.replication import Replication
from pyrepl.replication.feed import NO_DB
from pyrepl.replication.roster import RosterOptions
from pyrepl.units import Offset, ReplId

SET = b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n"
SELECT_3 = b"*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n"
SELECT_0 = SELECT_3.replace(b"3\r\n", b"0\r\n").replace(b"$0", b"$3")


def replication(*, active: bool = True) -> Replication:
    subject = Replication(1 << 16, RosterOptions(), lambda: ReplId("a" * 40), 1.0)
    if active:
        subject.backlog.create()
    return subject


class TestRole:
    def test_a_master(self) -> None:
        subject = replication()
        assert not subject.role.is_replica
        assert not subject.link_is_up
        assert (subject.master_host, subject.master_port) == ("", 0)

    def test_a_replica(self) -> None:
        subject = replication()
        subject.role.follow("host", 6379, 2.0)
        assert subject.role.is_replica
        assert (subject.master_host, subject.master_port) == ("host", 6379)
        assert not subject.link_is_up


class TestFeed:
    def test_without_a_backlog_nothing_is_kept(self) -> None:
        subject = replication(active=False)
        before = subject.backlog.end
        assert subject.feed_one(3, SET) == before
        assert subject.feed_unit([(3, SET), (3, SET)]) == before

    def test_the_first_command_brings_its_database(self) -> None:
        subject = replication()
        assert subject.feed_one(3, SET) == len(SELECT_3 + SET)
        assert subject.feed_one(3, SET) == len(SELECT_3 + SET + SET)
        assert b"".join(subject.backlog.read(Offset(0), 1000)) == SELECT_3 + SET + SET

    def test_a_unit_stands_between_multi_and_exec(self) -> None:
        subject = replication()
        end = subject.feed_unit([(3, SET), (3, SET)])
        stream = b"".join(bytes(piece) for piece in subject.backlog.read(Offset(0), 1000))
        assert end == len(stream)
        assert stream.count(b"MULTI") == stream.count(b"EXEC") == 1
        assert stream.index(b"MULTI") < stream.index(SET) < stream.index(b"EXEC")


class TestStreamDb:
    def test_a_stream_that_has_not_begun_selects_its_own(self) -> None:
        subject = replication()
        assert (subject.stream_db, subject.next_db, subject.select_next_db) == (NO_DB, 0, b"")

    def test_a_masters_is_that_of_its_last_command(self) -> None:
        subject = replication()
        subject.feed_one(3, SET)
        assert (subject.stream_db, subject.next_db, subject.select_next_db) == (3, 3, SELECT_3)

    def test_a_replicas_is_that_of_its_masters_stream(self) -> None:
        subject = replication()
        subject.feed_one(3, SET)
        subject.link_client = Client(7, "m:1", "", 1.0, OURS)
        assert (subject.stream_db, subject.next_db, subject.select_next_db) == (0, 0, b"")


class TestSnapshotFields:
    def test_none_without_a_stream(self) -> None:
        assert replication(active=False).snapshot_fields() == []

    def test_a_master_states_the_database_of_its_stream(self) -> None:
        subject = replication()
        assert dict(subject.snapshot_fields())[b"repl-stream-db"] == b"0"
        end = subject.feed_one(3, SET)
        assert dict(subject.snapshot_fields()) == {
            b"repl-stream-db": b"3",
            b"repl-id": subject.history.replid.encode(),
            b"repl-offset": b"%d" % end,
        }

    def test_a_replica_states_the_database_of_its_masters(self) -> None:
        subject = replication()
        subject.feed_one(3, SET)
        subject.link_client = Client(7, "m:1", "", 1.0, OURS)
        subject.link_client.db_index = 9
        assert dict(subject.snapshot_fields())[b"repl-stream-db"] == b"9"
