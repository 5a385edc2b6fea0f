"""SUBSCRIBE, PSUBSCRIBE and their opposites, PUBLISH and PUBSUB. `pyrepl.node.pubsub` keeps the subscriptions.

SSUBSCRIBE, SUNSUBSCRIBE and SPUBLISH are about shard channels. They behave as in a Redis without a cluster: this node
has every shard channel, and SPUBLISH goes to the replicas as PUBLISH does.

One SUBSCRIBE of n channels answers n messages. They must stand where another command has its one reply, even between
the replies of an EXEC. So they are encoded here, joined and returned as one `Raw`; they are no deliveries.

When a client publishes to a channel that it listens to itself, PUBLISH's reply comes first and the message after it,
with the deliveries to others. That is Redis 7.2's order; 7.0 has the message first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from pyrepl.commands.describe.help import help_reply
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import (
    FAST,
    LOADING,
    MAY_REPLICATE,
    NOSCRIPT,
    PUBSUB,
    SHARD_CHANNEL,
    SHARD_CHANNELS,
    STALE,
    command,
    container,
)
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
    "SHARDCHANNELS [<pattern>]",
    "    Return the currently active shard level channels matching a <pattern> (default: '*').",
    "SHARDNUMSUB [<shardchannel> ...]",
    "    Return the number of subscribers for the specified shard level channel(s)",
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


@command("SSUBSCRIBE", arity=-2, flags=_SUBSCRIBING, keys=SHARD_CHANNELS, group="pubsub", since="7.0.0")
def ssubscribe(call: Call, *channels: bytes) -> Raw:
    """Listen for messages published to the shard channels"""
    if call.is_nested:
        raise CommandError("ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client")
    return _each(call.client, b"ssubscribe", channels, call.node.pubsub.ssubscribe)


@command("SUNSUBSCRIBE", arity=-1, flags=_SUBSCRIBING, keys=SHARD_CHANNELS, group="pubsub", since="7.0.0")
def sunsubscribe(call: Call, *channels: bytes) -> Raw:
    """Stop listening to the shard channels, or to all when none is given"""
    client = call.client
    return _each(client, b"sunsubscribe", channels or sorted(client.shard_channels), call.node.pubsub.sunsubscribe)


@command("PUBLISH", arity=3, flags=_ASKING | FAST | MAY_REPLICATE, group="pubsub", since="2.0.0")
def publish(call: Call, channel: bytes, message: bytes) -> int:
    """Send a message to all listeners of a channel, those of the replicas included

    PUBLISH writes no key, so it has to ask for its propagation. On a replica the message reaches that node's own
    clients, whether a client or the master has sent it.

    The messages of sentinels are not propagated, because sentinels publish to every node themselves. In the stream such
    a message would move the end of an old master past the offset at which `SENTINEL FAILOVER` of an idle node switched
    masters; the old master would then need a full resync (redis#4819).
    """
    deliveries = call.node.pubsub.publish(channel, message)
    call.node.deliveries.extend(deliveries)
    if channel != SENTINEL_HELLO:
        call.rewrite(*call.argv)
    return len(deliveries)


@command(
    "SPUBLISH",
    arity=3,
    flags=_ASKING | FAST | MAY_REPLICATE,
    keys=SHARD_CHANNEL,
    group="pubsub",
    since="7.0.0",
)
def spublish(call: Call, channel: bytes, message: bytes) -> int:
    """Send a message to all listeners of a shard channel, those of the replicas included"""
    deliveries = call.node.pubsub.spublish(channel, message)
    call.node.deliveries.extend(deliveries)
    call.rewrite(*call.argv)
    return len(deliveries)


pubsub_ = container("PUBSUB", group="pubsub", since="2.8.0", summary="A container for Pub/Sub commands")


@command("PUBSUB|CHANNELS", arity=-2, flags=_ASKING, group="pubsub", since="2.8.0")
def pubsub_channels(call: Call, *pattern: bytes) -> list[bytes]:
    """List the channels that somebody listens to"""
    return call.node.pubsub.channels(_one_at_most(call, pattern))


@command("PUBSUB|SHARDCHANNELS", arity=-2, flags=_ASKING, group="pubsub", since="7.0.0")
def pubsub_shardchannels(call: Call, *pattern: bytes) -> list[bytes]:
    """List the shard channels that somebody listens to"""
    return call.node.pubsub.shard_channels(_one_at_most(call, pattern))


def _one_at_most(call: Call, pattern: tuple[bytes, ...]) -> bytes | None:
    if len(pattern) > 1:
        name = call.argv[1][:128].decode("utf-8", "replace")
        raise CommandError(f"ERR unknown subcommand or wrong number of arguments for '{name}'. Try PUBSUB HELP.")
    return pattern[0] if pattern else None


@command("PUBSUB|NUMSUB", arity=-2, flags=_ASKING, group="pubsub", since="2.8.0")
def pubsub_numsub(call: Call, *channels: bytes) -> list[Reply]:
    """Count the listeners of each channel, without those by pattern"""
    return _counted(channels, call.node.pubsub.listeners_count)


@command("PUBSUB|SHARDNUMSUB", arity=-2, flags=_ASKING, group="pubsub", since="7.0.0")
def pubsub_shardnumsub(call: Call, *channels: bytes) -> list[Reply]:
    """Count the listeners of each shard channel"""
    return _counted(channels, call.node.pubsub.shard_listeners_count)


def _counted(channels: tuple[bytes, ...], count_of: Callable[[bytes], int]) -> list[Reply]:
    counts: list[Reply] = []
    for channel in channels:
        counts += (channel, count_of(channel))
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
    """Make one change per name, and answer one message for each, which tells how many subscriptions there are then.

    Without names nothing changes, and one message with a null in place of the name tells the number. Subscriptions to
    shard channels are counted apart from the others.
    """
    messages: list[bytes] = []
    for name in names:
        change(client, name)
        messages.append(_confirmation(client, verb, name))
    return Raw(b"".join(messages or [_confirmation(client, verb, None)]), is_heard=True)


def _confirmation(client: Client, verb: bytes, name: bytes | None) -> bytes:
    """One encoded message: verb, name, and how many subscriptions of that kind the client has."""
    of_shards = verb in (b"ssubscribe", b"sunsubscribe")
    left = len(client.shard_channels) if of_shards else len(client.channels) + len(client.patterns)
    return encode_reply(Push((verb, name, left)), client.proto)
