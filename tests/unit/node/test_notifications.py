"""Which events are published, to which channels, and that nothing is noted while nobody wants it."""

from __future__ import annotations

import pytest

from pyrepl.acl.identity import UNASKED
from pyrepl.keyspace import events
from pyrepl.keyspace.database import Keyspace
from pyrepl.node.client import Client
from pyrepl.node.conditions import Conditions
from pyrepl.node.notifications import Notifications
from pyrepl.node.pubsub import PubSub
from pyrepl.resp.reply import Push


class Place:
    def __init__(self, wanted: str) -> None:
        self.keyspace, self.pubsub, self.conditions = Keyspace(2), PubSub(), Conditions()
        self.pubsub.psubscribe(Client(1, "", "", 0.0, UNASKED), b"__key*")
        self.notifications = Notifications(self.keyspace, self.pubsub, self.conditions)
        self.notifications.follow(wanted)

    def heard(self, *facts: events.Fact) -> list[tuple[bytes, bytes]]:
        messages = [push for _, push in self.notifications.messages(list(facts)) if isinstance(push, Push)]
        return [(bytes(push.items[2]), bytes(push.items[3])) for push in messages]  # type: ignore[arg-type]


def test_the_key_channel_comes_before_the_event_channel() -> None:
    assert Place("KEA").heard((events.DELETED, 1, b"k")) == [
        (b"__keyspace@1__:k", b"del"),
        (b"__keyevent@1__:del", b"k"),
    ]
    assert Place("Kg").heard((events.DELETED, 0, b"k")) == [(b"__keyspace@0__:k", b"del")]
    assert Place("Eg").heard((events.DELETED, 0, b"k")) == [(b"__keyevent@0__:del", b"k")]


@pytest.mark.parametrize(
    ("wanted", "names"),
    [("Ex", {"expired"}), ("EA", {"expired", "del"}), ("EAnm", {"expired", "del", "new", "keymiss"})],
)
def test_only_the_classes_that_are_wanted(wanted: str, names: set[str]) -> None:
    kinds = (events.EXPIRED, events.DELETED, events.NEW, events.MISSED, events.OVERWRITTEN)
    heard = Place(wanted).heard(*[(kind, 0, b"k") for kind in kinds])
    assert {channel.decode().removeprefix("__keyevent@0__:") for channel, _ in heard} == names


@pytest.mark.parametrize("wanted", ["", "KE", "A", "g$"])
def test_without_a_class_and_a_channel_nothing_is_noted(wanted: str) -> None:
    place = Place(wanted)
    db = place.keyspace.databases[0]
    db.write(b"k", b"v")
    assert not place.keyspace.facts and not db.followed and not place.conditions.checked


def test_what_was_not_told_yet_is_forgotten_with_the_setting() -> None:
    place = Place("KEA")
    place.keyspace.databases[0].write(b"k", b"v")
    assert place.keyspace.facts == [(events.NEW, 0, b"k"), (events.CHANGED, 0, b"k")]
    assert place.conditions.notified and place.conditions.checked and not place.conditions.guarded
    place.notifications.follow("")
    assert not place.keyspace.facts and not place.conditions.checked
