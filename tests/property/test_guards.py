"""Whatever happens to a client or to a node, in whatever order: what guards commands is what all facts together say."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pyrepl.acl.identity import UNASKED, Identity, Proof
from pyrepl.acl.user import User
from pyrepl.acl.users import Users
from pyrepl.config.settings import Settings
from pyrepl.node.client import Client
from pyrepl.node.node import Node, Process
from pyrepl.node.persistence import Loading
from pyrepl.node.pubsub import PubSub
from pyrepl.node.replication import Replication
from pyrepl.replication.role import Holder
from pyrepl.replication.roster import RosterOptions
from pyrepl.units import ReplId

NAMES = st.sampled_from([b"a", b"b", b"c*"])

_STRANGER = Identity(None, Proof.MISSING)


class ClientMachine(RuleBasedStateMachine):
    """One client, and the registry of subscriptions that changes it too."""

    def __init__(self) -> None:
        super().__init__()
        self.client = Client(1, "127.0.0.1:1", "127.0.0.1:2", 0.0, _STRANGER)
        self.pubsub = PubSub()

    @rule()
    def authenticate(self) -> None:
        self.client.identify(UNASKED)

    @rule(unlimited=st.booleans())
    def log_in(self, unlimited: bool) -> None:
        self.client.identify(Identity(Users().default if unlimited else User(b"bob"), Proof.PASSWORD))

    @rule(authenticated=st.booleans())
    def begin_anew(self, authenticated: bool) -> None:
        self.client.begin_anew(UNASKED if authenticated else _STRANGER)

    @rule(proto=st.sampled_from([2, 3]))
    def speak(self, proto: int) -> None:
        self.client.speak(proto)

    @rule()
    def begin_multi(self) -> None:
        self.client.begin_multi()
        assert self.client.queue == []

    @rule()
    def end_multi(self) -> None:
        self.client.end_multi()
        assert self.client.queue is None

    @rule(name=NAMES)
    def subscribe(self, name: bytes) -> None:
        self.pubsub.subscribe(self.client, name)

    @rule(name=NAMES)
    def unsubscribe(self, name: bytes) -> None:
        self.pubsub.unsubscribe(self.client, name)

    @rule(name=NAMES)
    def psubscribe(self, name: bytes) -> None:
        self.pubsub.psubscribe(self.client, name)

    @rule(name=NAMES)
    def punsubscribe(self, name: bytes) -> None:
        self.pubsub.punsubscribe(self.client, name)

    @rule(name=NAMES)
    def ssubscribe(self, name: bytes) -> None:
        self.pubsub.ssubscribe(self.client, name)

    @rule(name=NAMES)
    def sunsubscribe(self, name: bytes) -> None:
        self.pubsub.sunsubscribe(self.client, name)

    @rule()
    def drop_subscriptions(self) -> None:
        self.pubsub.drop(self.client)

    @rule(mode=st.sampled_from(["on", "off"]))
    def switch_replies(self, mode: str) -> None:
        self.client.switch_replies(mode)

    @rule()
    def skip_reply(self) -> None:
        self.client.skip_reply()

    @rule()
    def take_skip(self) -> None:
        expected = self.client.skip_next_reply
        assert self.client.take_skip() is expected and not self.client.skip_next_reply

    # What lasts would make all that follows one state: it comes late in a history, if at all.
    @precondition(lambda self: self.client.queue is not None and self.client.patterns)
    @rule(verb=st.sampled_from([Client.become_replica, Client.become_master_link, Client.close_after_reply]))
    def last(self, verb: Callable[[Client], None]) -> None:
        verb(self.client)

    @invariant()
    def guarded_is_what_the_facts_say(self) -> None:
        client = self.client
        reasons = [
            not client.authenticated,
            client.queue is not None,
            client.proto == 2 and bool(client.channels or client.patterns or client.shard_channels),
            client.closing,
            client.is_master_link,
            client.tracking is not None,
            client.is_replica,
            client.reply_mode == "off",
            client.skip_next_reply,
        ]
        assert client.guarded is any(reasons)
        assert client.limited is client.identity.is_limited
        assert client.subscribed is bool(client.channels or client.patterns or client.shard_channels)


TestClient = ClientMachine.TestCase


class NodeMachine(RuleBasedStateMachine):
    """A node without a daemon: its role, settings, loads, saves, pauses and monitors change."""

    def __init__(self) -> None:
        super().__init__()
        self.promotions = 0
        self.replication = Replication(1 << 14, RosterOptions(), lambda: ReplId("a" * 40), 0.0)
        self.node = Node(Settings(), Process(1, "b" * 40, 0, 0.0), self.replication)

    @rule(host=st.sampled_from(["one", "two"]), at_start=st.booleans())
    def follow(self, host: str, at_start: bool) -> None:
        self.replication.role.follow(host, 1, 0.0, at_start=at_start)

    @rule()
    def promote(self) -> None:
        self.promotions += 1
        self.replication.role.promote(ReplId(f"{self.promotions:040x}"), 0.0)

    @rule(holder=st.sampled_from(Holder))
    def stand_still(self, holder: Holder) -> None:
        self.replication.role.stand_still(holder)

    @rule(holder=st.sampled_from(Holder))
    def go_on(self, holder: Holder) -> None:
        self.replication.role.go_on(holder)

    @rule(asynchronous=st.booleans())
    def begin_loading(self, asynchronous: bool) -> None:
        self.node.persistence.loading = Loading(0.0, 0, 0, asynchronous=asynchronous)

    @rule()
    def end_loading(self) -> None:
        self.node.persistence.loading = None

    @rule(ok=st.booleans())
    def saved(self, ok: bool) -> None:
        self.node.persistence.last_bgsave_ok = ok

    @rule(error=st.sampled_from(["", "No space left on device"]))
    def aof_written(self, error: str) -> None:
        self.node.persistence.aof.write_error = error

    @rule(until_ms=st.integers(1, 9), writes_only=st.booleans())
    def pause(self, until_ms: int, writes_only: bool) -> None:
        self.node.pause.begin(until_ms, writes_only=writes_only)

    @rule()
    def end_pause(self) -> None:
        self.node.pause.end()

    @rule(holder=st.sampled_from(Holder))
    def hold_writes(self, holder: Holder) -> None:
        self.node.pause.hold_writes(holder)

    @rule(holder=st.sampled_from(Holder))
    def let_go(self, holder: Holder) -> None:
        self.node.pause.let_go(holder)

    @rule(client_id=st.integers(1, 2), begin=st.booleans())
    def monitor(self, client_id: int, begin: bool) -> None:
        client = Client(client_id, "", "", 0.0, UNASKED)
        if begin:
            self.node.begin_monitor(client)
        else:
            self.node.end_monitor(client)

    @rule(
        replicas=st.integers(0, 2),
        limit=st.sampled_from([0, 1 << 20]),
        policy=st.sampled_from(["noeviction", "allkeys-lru", "volatile-ttl"]),
        ignored=st.booleans(),
    )
    def configure(self, replicas: int, limit: int, policy: str, ignored: bool) -> None:
        names = ["min-replicas-to-write", "maxmemory", "maxmemory-policy", "replica-ignore-maxmemory"]
        self.node.change_settings(names, [replicas, limit, policy, ignored])

    @invariant()
    def the_sums_are_what_the_facts_say(self) -> None:
        node = self.node
        conditions, persistence, settings = node.conditions, node.persistence, node.settings
        is_replica = self.replication.role.is_replica
        reasons = [
            is_replica,
            persistence.loading is not None and not persistence.loading.asynchronous,
            bool(node.monitors),
            settings.min_replicas_to_write > 0,
            not persistence.last_bgsave_ok,
            persistence.aof.write_error != "",
            node.pause.until_ms() > 0,
        ]
        limited = settings.maxmemory > 0 and not (is_replica and settings.replica_ignore_maxmemory)
        tracked = limited or settings.maxmemory_policy == "allkeys-lru"
        assert conditions.guarded is any(reasons)
        assert conditions.tracked is tracked
        assert conditions.checked is (tracked or any(reasons))
        assert conditions.propagates is not is_replica


TestNode = NodeMachine.TestCase
