"""Whatever happens to a client, in whatever order: `guarded` is what all its facts together say."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pyrepl.identity import STRANGER, UNASKED
from pyrepl.node.client import Client
from pyrepl.node.pubsub import PubSub

NAMES = st.sampled_from([b"a", b"b", b"c*"])


class ClientMachine(RuleBasedStateMachine):
    """One client, and the registry of subscriptions that changes it too."""

    def __init__(self) -> None:
        super().__init__()
        self.client = Client(1, "127.0.0.1:1", "127.0.0.1:2", 0.0, STRANGER)
        self.pubsub = PubSub()

    @rule()
    def authenticate(self) -> None:
        self.client.identify(UNASKED)

    @rule(authenticated=st.booleans())
    def begin_anew(self, authenticated: bool) -> None:
        self.client.begin_anew(UNASKED if authenticated else STRANGER)

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
            client.proto == 2 and bool(client.channels or client.patterns),
            client.closing,
            client.is_master_link,
            client.is_replica,
            client.reply_mode == "off",
            client.skip_next_reply,
        ]
        assert client.guarded is any(reasons)


TestClient = ClientMachine.TestCase
