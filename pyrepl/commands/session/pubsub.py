"""SUBSCRIBE and its like, PUBLISH and PUBSUB. Who listens to what is kept by `pyrepl.node.pubsub`.

One SUBSCRIBE of n channels answers n messages. They must stand where the one reply of another command would stand,
also between the replies of an EXEC, so they are encoded here and returned joined as one `Raw`, not as deliveries.

A message published to oneself comes after PUBLISH's own reply, with the deliveries to others (Redis 7.2's order;
7.0 puts it before).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from pyrepl.commands.describe.help import help_reply
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import FAST, LOADING, MAY_REPLICATE, NOSCRIPT, PUBSUB, STALE, command, container
from pyrepl.errors import CommandError
from pyrepl.node.client import Client
from pyrepl.resp.encoder import encode_reply
from pyrepl.resp.reply import Push, Raw, Reply, Simple

SENTINEL_HELLO: Final = b"__sentinel__:hello"
_SUBSCRIBING: Final = PUBSUB | NOSCRIPT | LOADING | STALE
_ASKING: Final = PUBSUB | LOADING | STALE

_HELP: Final = (
    "CHANNELS [<pattern>]",
    "    Return the currently active channels matching a <pattern> (default: '*').",
    "NUMPAT",
    "    Return number of subscriptions to patterns.",
    "NUMSUB [<channel> ...]",
    "    Return the number of subscribers for the specified channels, excluding",
    "    pattern subscriptions(default: no channels).",
)


@command("SUBSCRIBE", arity=-2, flags=_SUBSCRIBING, group="pubsub", since="2.0.0")
def subscribe(call: Call, *channels: bytes) -> Raw:
    """Listen for messages published to the channels"""
    return _each(call.client, b"subscribe", channels, call.node.pubsub.subscribe)


@command("UNSUBSCRIBE", arity=-1, flags=_SUBSCRIBING, group="pubsub", since="2.0.0")
def unsubscribe(call: Call, *channels: bytes) -> Raw:
    """Stop listening to the channels, or to all when none is given"""
    client = call.client
    return _each(client, b"unsubscribe", channels or sorted(client.channels), call.node.pubsub.unsubscribe)


@command("PSUBSCRIBE", arity=-2, flags=_SUBSCRIBING, group="pubsub", since="2.0.0")
def psubscribe(call: Call, *patterns: bytes) -> Raw:
    """Listen for messages published to channels that match the patterns"""
    return _each(call.client, b"psubscribe", patterns, call.node.pubsub.psubscribe)


@command("PUNSUBSCRIBE", arity=-1, flags=_SUBSCRIBING, group="pubsub", since="2.0.0")
def punsubscribe(call: Call, *patterns: bytes) -> Raw:
    """Stop listening to the patterns, or to all when none is given"""
    client = call.client
    return _each(client, b"punsubscribe", patterns or sorted(client.patterns), call.node.pubsub.punsubscribe)


@command("PUBLISH", arity=3, flags=_ASKING | FAST | MAY_REPLICATE, group="pubsub", since="2.0.0")
def publish(call: Call, channel: bytes, message: bytes) -> int:
    """Send a message to all listeners of a channel, those of the replicas included

    It writes no key, so it has to ask for its propagation. On a replica it reaches that node's own clients, whether a
    client or the master sent it.

    What sentinels tell each other stays here: they publish to every node themselves. In the stream it would move the
    end of an old master past the switch of an idle `SENTINEL FAILOVER`, which then costs full resyncs (redis#4819).
    """
    deliveries = call.node.pubsub.publish(channel, message)
    call.node.deliveries.extend(deliveries)
    if channel != SENTINEL_HELLO:
        call.rewrite(*call.argv)
    return len(deliveries)


pubsub_ = container("PUBSUB", group="pubsub", since="2.8.0", summary="A container for Pub/Sub commands")


@command("PUBSUB|CHANNELS", arity=-2, flags=_ASKING, group="pubsub", since="2.8.0")
def pubsub_channels(call: Call, *pattern: bytes) -> list[bytes]:
    """List the channels that somebody listens to"""
    if len(pattern) > 1:
        name = call.argv[1][:128].decode("utf-8", "replace")
        raise CommandError(f"ERR unknown subcommand or wrong number of arguments for '{name}'. Try PUBSUB HELP.")
    return call.node.pubsub.channels(*pattern)


@command("PUBSUB|NUMSUB", arity=-2, flags=_ASKING, group="pubsub", since="2.8.0")
def pubsub_numsub(call: Call, *channels: bytes) -> list[Reply]:
    """Count the listeners of each channel, without those by pattern"""
    counts: list[Reply] = []
    for channel in channels:
        counts += (channel, call.node.pubsub.listeners_count(channel))
    return counts


@command("PUBSUB|NUMPAT", arity=2, flags=_ASKING, group="pubsub", since="2.8.0")
def pubsub_numpat(call: Call) -> int:
    """Count the different patterns that somebody listens to"""
    return call.node.pubsub.patterns_count


@command("PUBSUB|HELP", arity=2, flags=LOADING | STALE, group="pubsub", since="6.2.0")
def pubsub_help(call: Call) -> list[Simple]:
    """Show what PUBSUB can do"""
    return help_reply("PUBSUB", *_HELP)


def _each(client: Client, verb: bytes, names: Iterable[bytes], change: Callable[[Client, bytes], bool]) -> Raw:
    """Make one change per name; a message each, with the subscriptions then left. Without names one message says so."""
    messages: list[bytes] = []
    for name in names:
        change(client, name)
        messages.append(_confirmation(client, verb, name))
    return Raw(b"".join(messages or [_confirmation(client, verb, None)]), is_heard=True)


def _confirmation(client: Client, verb: bytes, name: bytes | None) -> bytes:
    return encode_reply(Push((verb, name, len(client.channels) + len(client.patterns))), client.proto)
