"""A node's own conclusions: what guards it, what it refuses, what monitors are shown."""

from __future__ import annotations

import pytest

from pyrepl.acl.identity import UNASKED
from pyrepl.config.kinds import MasterAddress
from pyrepl.config.settings import Settings
from pyrepl.keyspace.database import Expiry
from pyrepl.node.client import Client
from pyrepl.node.node import Node, Process
from pyrepl.node.persistence import Loading
from pyrepl.node.replication import Replication
from pyrepl.replication.role import Holder
from pyrepl.replication.roster import RosterOptions
from pyrepl.resp.reply import Simple
from pyrepl.units import ReplId
from pyrepl.words import quote_word


def node(**settings: object) -> Node:
    replication = Replication(1 << 20, RosterOptions(), lambda: ReplId("a" * 40), 1.0)
    return Node(Settings(**settings), Process(1, "b" * 40, 100, 1.0), replication)


def watch_all(subject: Node, *client_ids: int) -> None:
    for client_id in client_ids:
        subject.begin_monitor(Client(client_id, "127.0.0.1:5", "", 0.0, UNASKED))


class TestGuard:
    def test_a_master_at_rest_is_free(self) -> None:
        subject = node()
        assert not subject.conditions.guarded and subject.conditions.propagates

    def test_a_replica(self) -> None:
        subject = node()
        subject.replication.role.follow("h", 1, 2.0)
        assert subject.conditions.guarded and not subject.conditions.propagates

    def test_a_load(self) -> None:
        subject = node()
        subject.persistence.loading = Loading(1.0, 100, 0, asynchronous=False)
        assert subject.conditions.guarded and subject.is_loading

    def test_a_load_beside_the_old_data(self) -> None:
        subject = node()
        subject.persistence.loading = Loading(1.0, 100, 0, asynchronous=True)
        assert not subject.conditions.guarded and not subject.is_loading

    def test_monitors(self) -> None:
        subject = node()
        client = Client(1, "127.0.0.1:5", "", 0.0, UNASKED)
        subject.begin_monitor(client)
        assert subject.conditions.guarded and client.is_monitor
        subject.end_monitor(client)
        assert not subject.conditions.guarded and not client.is_monitor

    def test_min_replicas(self) -> None:
        assert node(min_replicas_to_write=1).conditions.guarded

    def test_a_failed_save(self) -> None:
        subject = node()
        subject.persistence.last_bgsave_ok = False
        assert subject.conditions.guarded

    def test_a_pause(self) -> None:
        subject = node()
        subject.pause.begin(100, writes_only=True)
        assert subject.conditions.guarded


class TestSettings:
    def test_the_slow_limit(self) -> None:
        subject = node(slowlog_log_slower_than=2000)
        assert subject.slow_limit_s == pytest.approx(0.002)
        subject.change_settings(["slowlog-log-slower-than"], [-1])
        assert subject.slow_limit_s == float("inf")

    def test_as_many_databases_as_configured(self) -> None:
        assert len(node(databases=3).keyspace.databases) == 3


class TestStale:
    def test_a_master_is_never(self) -> None:
        assert not node(replica_serve_stale_data=False).link_is_stale

    @pytest.mark.parametrize("serves", [True, False])
    def test_a_replica_without_link_is_unless_it_serves_all_the_same(self, serves: bool) -> None:
        subject = node(replica_serve_stale_data=serves)
        subject.replication.role.follow("h", 1, 2.0)
        assert subject.link_is_stale is not serves


class TestExpiry:
    def test_who_deletes_follows_the_role(self) -> None:
        subject = node()
        role, seen = subject.replication.role, [subject.keyspace.expiry]
        role.watch(lambda: seen.append(subject.keyspace.expiry))
        role.stand_still(Holder.FAILOVER)
        role.go_on(Holder.FAILOVER)
        role.follow("h", 1, 2.0)
        role.promote(ReplId("c" * 40), 3.0)
        assert seen == [Expiry.DELETE, Expiry.HIDE, Expiry.DELETE, Expiry.HIDE, Expiry.DELETE]

    def test_a_replica_loads_what_has_expired(self) -> None:
        subject = node()
        assert subject.drops_expired_on_load
        subject.replication.role.follow("h", 1, 2.0)
        assert not subject.drops_expired_on_load

    def test_who_is_to_be_a_replica_does_so_before_it_follows(self) -> None:
        assert not node(replicaof=MasterAddress("h", 1)).drops_expired_on_load


class TestStream:
    def test_its_end_moves_with_what_is_fed(self) -> None:
        subject = node()
        assert subject.replication.feed_one(0, b"PING\r\n") == subject.stream_end == 0
        subject.replication.backlog.create()
        cut = subject.replication.feed_one(0, b"PING\r\n")
        assert cut == subject.stream_end > 0
        assert subject.replication.feed_unit([(0, b"A\r\n"), (1, b"B\r\n")]) == subject.stream_end > cut


class TestMonitors:
    def test_one_line_for_each(self) -> None:
        subject = node()
        watch_all(subject, 3, 4)
        subject.keyspace.now_ms = 1_700_000_000_007
        client = Client(1, "127.0.0.1:5", "", 0.0, UNASKED)
        client.db_index = 2
        subject.show_monitors(client, [b"SET", b"a", b"b"], secret=False)
        line = Simple(b'1700000000.007000 [2 127.0.0.1:5] "SET" "a" "b"')
        assert subject.deliveries == [(3, line), (4, line)]

    def test_secrets_are_not_shown(self) -> None:
        subject = node()
        watch_all(subject, 3)
        client = Client(1, "127.0.0.1:5", "", 0.0, UNASKED)
        subject.show_monitors(client, [b"AUTH", b"pw"], secret=True)
        assert subject.deliveries == [(3, Simple(b'0.000000 [0 127.0.0.1:5] "AUTH" "(redacted)"'))]


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        (b"plain", b"plain"),
        (b"two words", b"two words"),
        (b'"\\', rb"\"\\"),
        (b"\n\r\t\a\b", rb"\n\r\t\a\b"),
        (b"\x00\x7f\xff", rb"\x00\x7f\xff"),
        (b"", b""),
    ],
)
def test_escaped(word: bytes, shown: bytes) -> None:
    """As redis-cli and MONITOR print a word between double quotes (sdscatrepr)."""
    assert quote_word(word) == b'"%b"' % shown
