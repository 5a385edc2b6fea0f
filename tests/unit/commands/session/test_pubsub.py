"""SUBSCRIBE, PUBLISH and PUBSUB: replies as Redis 7.0 gives them, who gets what, and what goes to the replicas."""

from __future__ import annotations

import pytest

from pyrepl.commands.session import pubsub, transactions
from pyrepl.errors import CommandError
from pyrepl.node.conditions import Condition
from pyrepl.resp.encoder import encode_reply
from pyrepl.resp.reply import Push
from tests.unit.commands.desk import Desk


@pytest.fixture
def desk() -> Desk:
    return Desk(pubsub, transactions)


def test_each_channel_gets_a_message_of_its_own(desk: Desk) -> None:
    assert desk.encoded("SUBSCRIBE", "a", "b", "a") == (
        b"*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"
        b"*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n"
        b"*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:2\r\n"
    )
    assert desk.encoded("PSUBSCRIBE", "p*") == b"*3\r\n$10\r\npsubscribe\r\n$2\r\np*\r\n:3\r\n"


def test_resp3_pushes(desk: Desk) -> None:
    client = desk.connect(proto=3)
    assert desk.encoded("SUBSCRIBE", "a", client=client) == b">3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"
    assert desk.encoded("PUNSUBSCRIBE", client=client) == b">3\r\n$12\r\npunsubscribe\r\n_\r\n:1\r\n"


def test_unsubscribe_from_all_and_from_what_was_never_subscribed(desk: Desk) -> None:
    desk.say("SUBSCRIBE b a")
    desk.say("PSUBSCRIBE p*")
    assert desk.encoded("UNSUBSCRIBE", "x") == b"*3\r\n$11\r\nunsubscribe\r\n$1\r\nx\r\n:3\r\n"
    assert desk.encoded("UNSUBSCRIBE") == (
        b"*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:2\r\n*3\r\n$11\r\nunsubscribe\r\n$1\r\nb\r\n:1\r\n"
    )
    assert desk.encoded("UNSUBSCRIBE") == b"*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:1\r\n"
    assert desk.encoded("PUNSUBSCRIBE") == b"*3\r\n$12\r\npunsubscribe\r\n$2\r\np*\r\n:0\r\n"
    assert desk.encoded("PUNSUBSCRIBE") == b"*3\r\n$12\r\npunsubscribe\r\n$-1\r\n:0\r\n"


def test_in_a_transaction_the_messages_stand_between_the_other_replies(desk: Desk) -> None:
    desk.say("MULTI")
    for line in ("PUBSUB NUMPAT", "SUBSCRIBE a b", "PUBSUB NUMPAT"):
        desk.say(line)
    assert desk.encoded("EXEC") == (
        b"*3\r\n:0\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n:0\r\n"
    )


def test_publish_reaches_listeners_and_replicas(desk: Desk) -> None:
    listener = desk.connect()
    desk.say("SUBSCRIBE news", listener)
    desk.say("PSUBSCRIBE n*", listener)
    assert desk.say("PUBLISH news hello") == 2
    assert desk.node.deliveries == [
        (listener.id, Push((b"message", b"news", b"hello"))),
        (listener.id, Push((b"pmessage", b"n*", b"news", b"hello"))),
    ]
    assert encode_reply(desk.node.deliveries[0][1], 2) == b"*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nhello\r\n"
    assert desk.sent() == ["PUBLISH news hello"]


def test_publish_without_listeners_reaches_the_replicas_all_the_same(desk: Desk) -> None:
    assert desk.say("publish nobody hello") == 0
    assert desk.sent() == ["publish nobody hello"]


def test_what_sentinels_tell_each_other_is_delivered_and_not_propagated(desk: Desk) -> None:
    """They publish it to every node; in the stream it would part an old master from the new one."""
    listener = desk.connect()
    desk.say("SUBSCRIBE __sentinel__:hello", listener)
    assert desk.say("PUBLISH __sentinel__:hello me") == 1
    assert desk.node.deliveries == [(listener.id, Push((b"message", b"__sentinel__:hello", b"me")))]
    assert desk.sent() == []


def test_a_replica_delivers_what_the_master_published_and_propagates_nothing_of_its_own(desk: Desk) -> None:
    desk.node.conditions.note(Condition.REPLICA, True)
    listener, link = desk.connect(), desk.connect()
    link.become_master_link()
    desk.say("SUBSCRIBE news", listener)
    assert desk.say("PUBLISH news hello", link) == 1
    assert desk.node.deliveries == [(listener.id, Push((b"message", b"news", b"hello")))]
    assert desk.sent() == []


def test_a_resp2_listener_may_only_talk_about_subscriptions(desk: Desk) -> None:
    desk.say("SUBSCRIBE a")
    assert desk.error("PUBLISH a m") == (
        "ERR Can't execute 'publish': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this "
        "context"
    )
    desk.say("UNSUBSCRIBE")
    assert desk.say("PUBLISH a m") == 0


def test_pubsub_channels_numsub_numpat(desk: Desk) -> None:
    one, two = desk.connect(), desk.connect()
    desk.say("SUBSCRIBE alpha beta", one)
    desk.say("SUBSCRIBE alpha", two)
    desk.say("PSUBSCRIBE a* b*", two)
    assert desk.say("PUBSUB CHANNELS") == [b"alpha", b"beta"]
    assert desk.say("PUBSUB CHANNELS b*") == [b"beta"]
    assert desk.say("PUBSUB NUMSUB") == []
    assert desk.say("PUBSUB NUMSUB alpha gamma beta") == [b"alpha", 2, b"gamma", 0, b"beta", 1]
    assert desk.say("PUBSUB NUMPAT") == 2


def test_pubsub_errors(desk: Desk) -> None:
    assert desk.error("pubsub channels a b") == (
        "ERR unknown subcommand or wrong number of arguments for 'channels'. Try PUBSUB HELP."
    )
    assert desk.error("PUBSUB nosuch") == "ERR unknown subcommand 'nosuch'. Try PUBSUB HELP."
    assert desk.error("PUBSUB NUMPAT x") == "ERR wrong number of arguments for 'pubsub|numpat' command"
    assert desk.error("SUBSCRIBE") == "ERR wrong number of arguments for 'subscribe' command"


def test_pubsub_help_lists_each_subcommand(desk: Desk) -> None:
    reply = desk.say("PUBSUB HELP")
    assert not isinstance(reply, CommandError)
    shown = encode_reply(reply, 2)
    for name in pubsub.pubsub_.subcommands:
        assert b"\r\n+" + name in shown


def test_a_shard_message_reaches_listeners_and_replicas(desk: Desk) -> None:
    listener = desk.connect()
    assert desk.encoded("SSUBSCRIBE", "a", client=listener) == b"*3\r\n$10\r\nssubscribe\r\n$1\r\na\r\n:1\r\n"
    desk.say("SUBSCRIBE a", listener)
    assert desk.say("SPUBLISH a hello") == 1
    assert desk.node.deliveries == [(listener.id, Push((b"smessage", b"a", b"hello")))]
    assert desk.sent() == ["SPUBLISH a hello"]
    assert desk.say("PUBSUB SHARDCHANNELS") == [b"a"]
    assert desk.say("PUBSUB SHARDNUMSUB a b") == [b"a", 1, b"b", 0]
    assert desk.error("PUBSUB SHARDCHANNELS a b").endswith("for 'SHARDCHANNELS'. Try PUBSUB HELP.")
    assert desk.error("PUBLISH a m", listener).startswith("ERR Can't execute 'publish'")
    assert desk.encoded("SUNSUBSCRIBE", client=listener) == b"*3\r\n$12\r\nsunsubscribe\r\n$1\r\na\r\n:0\r\n"


def test_a_shard_channel_is_not_subscribed_to_inside_a_transaction(desk: Desk) -> None:
    desk.say("MULTI")
    desk.say("SSUBSCRIBE a")
    assert [str(reply) for reply in desk.run("EXEC")] == [  # type: ignore[union-attr]
        "ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client"
    ]
