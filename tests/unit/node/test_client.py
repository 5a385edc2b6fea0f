"""What sort of client it is, and when its commands need a second look."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyrepl.acl.identity import UNASKED, Identity, Proof
from pyrepl.node.client import MASTER, NORMAL, PUBSUB, REPLICA, Client
from pyrepl.node.tracking_mode import TrackingMode


def client(identity: Identity = UNASKED) -> Client:
    return Client(7, "127.0.0.1:1", "127.0.0.1:2", 5.0, identity)


class TestKind:
    def test_normal(self) -> None:
        assert client().kind == NORMAL

    @pytest.mark.parametrize("subscribe", [Client.subscribe, Client.psubscribe])
    def test_pubsub(self, subscribe: Callable[[Client, bytes], None]) -> None:
        subject = client()
        subscribe(subject, b"x")
        assert subject.kind == PUBSUB

    def test_replica(self) -> None:
        subject = client()
        subject.become_replica()
        assert subject.kind == REPLICA

    def test_a_monitor_is_normal(self) -> None:
        """As in Redis's getClientType, though a monitor is shown with the flag O."""
        subject = client()
        subject.is_monitor = True
        assert subject.kind == NORMAL

    def test_master_before_all(self) -> None:
        subject = client()
        subject.become_master_link()
        subject.become_replica()
        assert subject.kind == MASTER


class TestGuard:
    def test_a_plain_client_is_free(self) -> None:
        assert not client().guarded

    def test_a_stranger_is_guarded_until_it_is_let_in(self) -> None:
        subject = client(Identity(None, Proof.MISSING))
        assert subject.guarded
        subject.identify(UNASKED)
        assert not subject.guarded

    @pytest.mark.parametrize(
        ("begin", "end"),
        [
            (lambda it: it.begin_multi(), lambda it: it.end_multi()),
            (lambda it: it.subscribe(b"a"), lambda it: it.unsubscribe(b"a")),
            (lambda it: it.psubscribe(b"a*"), lambda it: it.punsubscribe(b"a*")),
            (lambda it: it.switch_replies("off"), lambda it: it.switch_replies("on")),
            (lambda it: it.skip_reply(), lambda it: it.take_skip()),
        ],
        ids=["multi", "channel", "pattern", "replies off", "reply skipped"],
    )
    def test_states_that_end(self, begin: Callable[[Client], None], end: Callable[[Client], None]) -> None:
        subject = client()
        begin(subject)
        assert subject.guarded
        end(subject)
        assert not subject.guarded

    @pytest.mark.parametrize("verb", [Client.close_after_reply, Client.become_master_link, Client.become_replica])
    def test_states_that_last(self, verb: Callable[[Client], None]) -> None:
        subject = client()
        verb(subject)
        assert subject.guarded
        subject.begin_anew(UNASKED)
        assert subject.guarded

    def test_a_reply_is_skipped_once(self) -> None:
        subject = client()
        subject.skip_reply()
        assert [subject.take_skip(), subject.take_skip()] == [True, False]

    def test_no_reply_is_skipped_where_there_is_none(self) -> None:
        subject = client()
        subject.switch_replies("off")
        subject.skip_reply()
        assert not subject.take_skip()

    def test_tracking_binds_where_each_command_may_be_asked_about(self) -> None:
        for optin, optout in ((False, False), (True, False), (False, True)):
            subject = client()
            subject.track(TrackingMode(redirect=0, bcast=False, optin=optin, optout=optout, noloop=False))
            assert subject.guarded == (optin or optout)

    def test_subscriptions_bind_in_resp2_alone(self) -> None:
        subject = client()
        subject.speak(3)
        subject.subscribe(b"a")
        assert not subject.guarded
        subject.speak(2)
        assert subject.guarded
