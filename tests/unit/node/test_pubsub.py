"""Who gets a published message, and that no subscription outlives its client."""

from __future__ import annotations

from pyrepl.acl.identity import UNASKED
from pyrepl.node.client import Client
from pyrepl.node.pubsub import PubSub
from pyrepl.resp.reply import Push


def client(number: int) -> Client:
    return Client(number, "", "", 0.0, UNASKED)


def test_a_message_goes_to_the_channels_listeners_in_their_order() -> None:
    pubsub = PubSub()
    for number in (3, 1, 2):
        pubsub.subscribe(client(number), b"news")
    note = Push((b"message", b"news", b"hello"))
    assert pubsub.publish(b"news", b"hello") == [(3, note), (1, note), (2, note)]
    assert pubsub.publish(b"other", b"hello") == []


def test_patterns_come_after_the_channel_and_name_themselves() -> None:
    pubsub = PubSub()
    listener = client(1)
    pubsub.psubscribe(listener, b"n*")
    pubsub.psubscribe(listener, b"?ews")
    pubsub.psubscribe(client(2), b"x*")
    pubsub.subscribe(listener, b"news")
    assert pubsub.publish(b"news", b"m") == [
        (1, Push((b"message", b"news", b"m"))),
        (1, Push((b"pmessage", b"n*", b"news", b"m"))),
        (1, Push((b"pmessage", b"?ews", b"news", b"m"))),
    ]


def test_a_second_subscription_to_the_same_changes_nothing() -> None:
    pubsub = PubSub()
    listener = client(1)
    assert pubsub.subscribe(listener, b"a")
    assert not pubsub.subscribe(listener, b"a")
    assert pubsub.psubscribe(listener, b"a")
    assert not pubsub.psubscribe(listener, b"a")
    assert len(pubsub.publish(b"a", b"m")) == 2
    assert pubsub.unsubscribe(listener, b"a")
    assert not pubsub.unsubscribe(listener, b"a")
    assert pubsub.punsubscribe(listener, b"a")
    assert not pubsub.punsubscribe(listener, b"a")
    assert pubsub.publish(b"a", b"m") == []


def test_counts_and_listings() -> None:
    pubsub = PubSub()
    one, two = client(1), client(2)
    pubsub.subscribe(one, b"alpha")
    pubsub.subscribe(two, b"alpha")
    pubsub.subscribe(two, b"beta")
    pubsub.psubscribe(one, b"*")
    pubsub.psubscribe(two, b"*")
    assert pubsub.channels() == [b"alpha", b"beta"]
    assert pubsub.channels(b"*a*a") == [b"alpha"]
    assert pubsub.listeners_count(b"alpha") == 2
    assert pubsub.listeners_count(b"gamma") == 0
    assert (pubsub.channels_count, pubsub.patterns_count) == (2, 1)


def test_drop_leaves_nothing_of_a_client_and_all_of_the_others() -> None:
    pubsub = PubSub()
    one, two = client(1), client(2)
    for listener in (one, two):
        pubsub.subscribe(listener, b"a")
        pubsub.psubscribe(listener, b"p*")
    pubsub.subscribe(one, b"only one")
    pubsub.drop(one)
    assert not one.channels and not one.patterns
    assert pubsub.channels() == [b"a"]
    assert [number for number, _ in pubsub.publish(b"a", b"m")] == [2]
    assert [number for number, _ in pubsub.publish(b"p1", b"m")] == [2]
    pubsub.drop(two)
    assert (pubsub.channels_count, pubsub.patterns_count) == (0, 0)
    assert pubsub.publish(b"p1", b"m") == []


def test_a_listener_of_resp2_is_guarded_one_of_resp3_is_not() -> None:
    pubsub = PubSub()
    old, new = client(1), client(2)
    new.speak(3)
    for listener in (old, new):
        pubsub.subscribe(listener, b"a")
    assert old.guarded and not new.guarded
    pubsub.unsubscribe(old, b"a")
    assert not old.guarded


def test_shard_channels_are_apart_from_channels_and_patterns() -> None:
    pubsub = PubSub()
    one, two = client(1), client(2)
    assert pubsub.ssubscribe(one, b"a") and not pubsub.ssubscribe(one, b"a")
    pubsub.subscribe(two, b"a")
    pubsub.psubscribe(two, b"*")
    assert pubsub.spublish(b"a", b"m") == [(1, Push((b"smessage", b"a", b"m")))]
    assert [number for number, _ in pubsub.publish(b"a", b"m")] == [2, 2]
    assert pubsub.shard_channels() == [b"a"] and pubsub.shard_channels(b"b*") == []
    assert (pubsub.shard_listeners_count(b"a"), pubsub.shard_channels_count, pubsub.channels_count) == (1, 1, 1)
    assert pubsub.sunsubscribe(one, b"a") and not pubsub.sunsubscribe(one, b"a")
    pubsub.ssubscribe(two, b"b")
    pubsub.drop(two)
    assert (pubsub.shard_channels_count, pubsub.channels_count, two.subscribed) == (0, 0, False)
