"""XINFO: describes a stream, its groups and their consumers. Field names and their order are Redis 8.6's.

`radix-tree-keys` and `radix-tree-nodes` describe how Redis lays a stream out in memory. Here a stream is a list, so
both are estimated from its length, as if each node held stream-node-max-entries entries.
"""

from __future__ import annotations

from itertools import islice
from typing import Final

from pyrepl.commands.describe.help import help_reply
from pyrepl.commands.engine.arguments import integer_argument, no_such_key
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import LOADING, READONLY, SECOND_ARG, STALE, command, container
from pyrepl.commands.xstreams.groups import no_such_group, wrong_subcommand_use
from pyrepl.commands.xstreams.ids import FIRST_ID, id_text
from pyrepl.commands.xstreams.log import NODE_ENTRIES, between, first, lag, last, size
from pyrepl.commands.xstreams.pending import NEVER, count_of, ids_from
from pyrepl.commands.xstreams.streams import entries_reply, entry_reply
from pyrepl.rdb.values import ENTRIES_READ_UNKNOWN, IdmpState, StreamGroup, StreamValue
from pyrepl.resp.reply import Reply, Simple

DEFAULT_COUNT: Final = 10
"""How many entries, and how many pending entries of each group and consumer, FULL shows when COUNT is not given.

COUNT 0 shows all of them.
"""

_HELP: Final = (
    "CONSUMERS <key> <groupname>",
    "    Show consumers of <groupname>.",
    "GROUPS <key>",
    "    Show the stream consumer groups.",
    "STREAM <key> [FULL [COUNT <count>]",
    "    Show information about the stream.",
)

xinfo = container("XINFO", group="stream", since="5.0.0", summary="A container for stream introspection commands")


@command("XINFO|STREAM", arity=-3, flags=READONLY, keys=SECOND_ARG, group="stream", since="5.0.0")
def xinfo_stream(call: Call, key: bytes, *options: bytes) -> dict[Reply, Reply]:
    """Describe a stream, with FULL its entries and groups as well"""
    stream = _stream(call, key)
    if not options:
        oldest, newest = first(stream), last(stream)
        return {
            **_head(stream, call.node.settings.stream_node_max_entries),
            b"groups": len(stream.groups),
            b"first-entry": None if oldest is None else entry_reply(oldest),
            b"last-entry": None if newest is None else entry_reply(newest),
        }
    limit = _full_count(call, options)
    return {
        **_head(stream, call.node.settings.stream_node_max_entries),
        b"entries": entries_reply(between(stream, FIRST_ID, stream.last_id, limit)),
        b"groups": [_full_group(stream, name, stream.groups[name], limit) for name in sorted(stream.groups)],
    }


@command("XINFO|GROUPS", arity=3, flags=READONLY, keys=SECOND_ARG, group="stream", since="5.0.0")
def xinfo_groups(call: Call, key: bytes) -> list[Reply]:
    """Describe the consumer groups of a stream"""
    stream = _stream(call, key)
    rows: list[Reply] = []
    for name in sorted(stream.groups):
        group = stream.groups[name]
        rows.append(
            {
                b"name": name,
                b"consumers": len(group.consumers),
                b"pending": len(group.pending),
                b"last-delivered-id": id_text(group.last_id),
                b"entries-read": _entries_read(group),
                b"lag": lag(stream, group),
            }
        )
    return rows


@command("XINFO|CONSUMERS", arity=4, flags=READONLY, keys=SECOND_ARG, group="stream", since="5.0.0")
def xinfo_consumers(call: Call, key: bytes, group_name: bytes) -> list[Reply]:
    """Describe the consumers of a group"""
    group = _stream(call, key).groups.get(group_name)
    if group is None:
        raise no_such_group(key, group_name)
    rows: list[Reply] = []
    for name in sorted(group.consumers):
        consumer = group.consumers[name]
        row: dict[Reply, Reply] = {
            b"name": name,
            b"pending": count_of(group, name),
            b"idle": max(0, call.now_ms - consumer.seen_ms),
            b"inactive": NEVER if consumer.active_ms == NEVER else max(0, call.now_ms - consumer.active_ms),
        }
        rows.append(row)
    return rows


@command("XINFO|HELP", arity=2, flags=LOADING | STALE, group="stream", since="5.0.0")
def xinfo_help(call: Call) -> list[Simple]:
    """Show what XINFO can do"""
    return help_reply("XINFO", *_HELP)


def _stream(call: Call, key: bytes) -> StreamValue:
    """The stream to describe. Raises CommandError when the key is missing or holds another type."""
    stream = call.db.read_as(StreamValue, key)
    if stream is None:
        raise no_such_key()
    return stream


def _full_count(call: Call, options: tuple[bytes, ...]) -> int | None:
    """How many entries XINFO STREAM FULL shows, None for all. Raises CommandError for other options."""
    if len(options) not in (1, 3) or options[0].upper() != b"FULL":
        raise wrong_subcommand_use(call)
    if len(options) == 1:
        return DEFAULT_COUNT
    if options[1].upper() != b"COUNT":
        raise wrong_subcommand_use(call)
    count = integer_argument(options[2])
    return DEFAULT_COUNT if count < 0 else count or None


def _head(stream: StreamValue, node_entries: int) -> dict[Reply, Reply]:
    """The fields that XINFO STREAM answers first, with and without FULL. `node_entries` is stream-node-max-entries."""
    nodes = -(-size(stream) // (node_entries or NODE_ENTRIES))
    return {
        b"length": size(stream),
        b"radix-tree-keys": nodes,
        b"radix-tree-nodes": nodes + 1,
        b"last-generated-id": id_text(stream.last_id),
        b"max-deleted-entry-id": id_text(stream.max_deleted_id),
        b"entries-added": stream.entries_added,
        b"recorded-first-entry-id": id_text(stream.first_id),
        **_idempotency(stream.idmp or IdmpState()),
    }


def _idempotency(idmp: IdmpState) -> dict[Reply, Reply]:
    """The limits and counters of idempotency ids; `idmp-duration` is in seconds, `idmp-maxsize` is per producer."""
    return {
        b"idmp-duration": idmp.duration_s,
        b"idmp-maxsize": idmp.max_entries,
        b"pids-tracked": len(idmp.producers),
        b"iids-tracked": sum(map(len, idmp.producers.values())),
        b"iids-added": idmp.iids_added,
        b"iids-duplicates": idmp.iids_duplicates,
    }


def _entries_read(group: StreamGroup) -> int | None:
    """How many entries the group has been given, None when that is unknown."""
    return None if group.entries_read == ENTRIES_READ_UNKNOWN else group.entries_read


def _full_group(stream: StreamValue, name: bytes, group: StreamGroup, limit: int | None) -> Reply:
    """A group as FULL describes it, with at most `limit` pending entries (None: all): id, consumer, time, count."""
    pending: list[Reply] = []
    for entry_id in islice(ids_from(group, FIRST_ID), limit):
        entry = group.pending[entry_id]
        pending.append([id_text(entry_id), entry.consumer, entry.delivery_ms, entry.delivery_count])
    return {
        b"name": name,
        b"last-delivered-id": id_text(group.last_id),
        b"entries-read": _entries_read(group),
        b"lag": lag(stream, group),
        b"pel-count": len(group.pending),
        b"pending": pending,
        b"consumers": [_full_consumer(group, consumer, limit) for consumer in sorted(group.consumers)],
    }


def _full_consumer(group: StreamGroup, name: bytes, limit: int | None) -> Reply:
    """A consumer as FULL describes it, with at most `limit` of its pending entries (None: all): id, time, count."""
    pending: list[Reply] = []
    for entry_id in islice(ids_from(group, FIRST_ID, name), limit):
        entry = group.pending[entry_id]
        pending.append([id_text(entry_id), entry.delivery_ms, entry.delivery_count])
    return {
        b"name": name,
        b"seen-time": group.consumers[name].seen_ms,
        b"active-time": group.consumers[name].active_ms,
        b"pel-count": count_of(group, name),
        b"pending": pending,
    }
