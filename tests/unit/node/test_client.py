"""What sort of client it is, and when its commands need a second look."""

from __future__ import annotations

import pytest

from pyrepl.node.client import MASTER, NORMAL, PUBSUB, REPLICA, Client


def client(*, authenticated: bool = True) -> Client:
    return Client(7, "127.0.0.1:1", "127.0.0.1:2", 5.0, authenticated=authenticated)


class TestKind:
    def test_normal(self) -> None:
        assert client().kind == NORMAL

    @pytest.mark.parametrize("attribute", ["channels", "patterns"])
    def test_pubsub(self, attribute: str) -> None:
        subject = client()
        getattr(subject, attribute).add(b"x")
        assert subject.kind == PUBSUB

    def test_replica(self) -> None:
        subject = client()
        subject.is_replica = True
        assert subject.kind == REPLICA

    def test_a_monitor_is_normal(self) -> None:
        """As in Redis's getClientType, though a monitor is shown with the flag O."""
        subject = client()
        subject.is_monitor = True
        assert subject.kind == NORMAL

    def test_master_before_all(self) -> None:
        subject = client()
        subject.is_master_link = subject.is_replica = True
        assert subject.kind == MASTER


class TestGuard:
    def test_a_plain_client_is_free(self) -> None:
        subject = client()
        subject.review_guard()
        assert not subject.guarded

    def test_a_stranger_is_guarded_from_the_start(self) -> None:
        assert client(authenticated=False).guarded

    @pytest.mark.parametrize(
        ("attribute", "value"),
        [
            ("authenticated", False),
            ("queue", []),
            ("channels", {b"a"}),
            ("patterns", {b"a*"}),
            ("closing", True),
            ("is_master_link", True),
            ("is_replica", True),
            ("reply_mode", "off"),
            ("skip_next_reply", True),
        ],
    )
    def test_reasons(self, attribute: str, value: object) -> None:
        subject = client()
        before = getattr(subject, attribute)
        setattr(subject, attribute, value)
        subject.review_guard()
        assert subject.guarded
        setattr(subject, attribute, before)
        subject.review_guard()
        assert not subject.guarded

    def test_subscriptions_bind_in_resp2_alone(self) -> None:
        subject = client()
        subject.proto = 3
        subject.channels.add(b"a")
        subject.review_guard()
        assert not subject.guarded
