"""Consumer groups: XGROUP, XACK, XPENDING. Reading by group is in `reads`, taking over entries in `claims`.

A change of a group does not count as a change of the key for WATCH, as in Redis 7.0; that is why these commands raise
`keyspace.dirty` and do not call `db.changed`. They are propagated as the client sent them.
"""

from __future__ import annotations

from typing import Final

from pyrepl.commands.describe.help import help_reply
from pyrepl.commands.engine.arguments import integer_argument, syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import (
    DENYOOM,
    FAST,
    FIRST_ARG,
    LOADING,
    READONLY,
    SECOND_ARG,
    STALE,
    WRITE,
    command,
    container,
)
from pyrepl.commands.xstreams.ids import FIRST_ID, id_text, loose_id, range_end, range_start, strict_id
from pyrepl.commands.xstreams.pending import count_of, ids_from, index, remove, remove_consumer, touch_consumer
from pyrepl.commands.xstreams.reads import no_group
from pyrepl.commands.xstreams.streams import new_stream
from pyrepl.errors import CommandError
from pyrepl.keyspace import events
from pyrepl.rdb.values import ENTRIES_READ_UNKNOWN, StreamGroup, StreamId, StreamValue
from pyrepl.resp.reply import NULL_ARRAY, OK, Reply, Simple
from pyrepl.words import to_text

_NO_STREAM: Final = (
    "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option "
    "to create an empty stream automatically."
)
_HELP: Final = (
    "CREATE <key> <groupname> <id|$> [option]",
    "    Create a new consumer group. Options are:",
    "    * MKSTREAM",
    "      Create the empty stream if it does not exist.",
    "    * ENTRIESREAD entries_read",
    "      Set the group's entries_read counter (internal use).",
    "CREATECONSUMER <key> <groupname> <consumer>",
    "    Create a new consumer in the specified group.",
    "DELCONSUMER <key> <groupname> <consumer>",
    "    Remove the specified consumer.",
    "DESTROY <key> <groupname>",
    "    Remove the specified group.",
    "SETID <key> <groupname> <id|$> [ENTRIESREAD entries_read]",
    "    Set the current group ID and entries_read counter.",
)

xgroup = container("XGROUP", group="stream", since="5.0.0", summary="A container for consumer groups commands")


@command("XGROUP|CREATE", arity=-5, flags=WRITE | DENYOOM, keys=SECOND_ARG, group="stream", since="5.0.0")
def xgroup_create(call: Call, key: bytes, name: bytes, start: bytes, *options: bytes) -> Simple:
    """Make a consumer group that begins after an id"""
    entries_read, make_stream = _group_options(call, options)
    stream = call.db.find_as(StreamValue, key)
    if stream is None and not make_stream:
        raise CommandError(_NO_STREAM)
    if start == b"$":
        last_id = FIRST_ID if stream is None else stream.last_id
    else:
        last_id = strict_id(start)
    if stream is None:
        stream = new_stream(call)
        call.db.put(key, stream)
        call.db.changed(key, 0)
    elif name in stream.groups:
        raise CommandError("BUSYGROUP Consumer Group name already exists")
    stream.groups[name] = StreamGroup(last_id, min(entries_read, stream.entries_added))
    call.keyspace.dirty += 1
    call.db.note(events.GROUP_MADE, key)
    return OK


@command("XGROUP|SETID", arity=-5, flags=WRITE, keys=SECOND_ARG, group="stream", since="5.0.0")
def xgroup_setid(call: Call, key: bytes, name: bytes, start: bytes, *options: bytes) -> Simple:
    """Let a consumer group go on after an id"""
    entries_read, _ = _group_options(call, options, may_make_stream=False)
    stream, group = _existing_group(call, key, name)
    group.last_id = stream.last_id if start == b"$" else loose_id(start)
    group.entries_read = min(entries_read, stream.entries_added)
    call.keyspace.dirty += 1
    call.db.note(events.GROUP_SET, key)
    return OK


@command("XGROUP|DESTROY", arity=4, flags=WRITE, keys=SECOND_ARG, group="stream", since="5.0.0")
def xgroup_destroy(call: Call, key: bytes, name: bytes) -> int:
    """Remove a consumer group and all it has pending; 1 if there was one"""
    if _existing_stream(call, key).groups.pop(name, None) is None:
        return 0
    call.keyspace.dirty += 1
    # Consumers that wait for entries of this group must hear that it is gone. WATCH does not (Redis 8.2).
    call.node.waiting.key_ready(call.db.index, key)
    call.db.note(events.GROUP_DESTROYED, key)
    return 1


@command("XGROUP|CREATECONSUMER", arity=5, flags=WRITE | DENYOOM, keys=SECOND_ARG, group="stream", since="6.2.0")
def xgroup_createconsumer(call: Call, key: bytes, name: bytes, consumer: bytes) -> int:
    """Make a consumer known to a group; 1 if it was not"""
    _, group = _existing_group(call, key, name)
    if consumer in group.consumers:
        return 0
    touch_consumer(group, consumer, call.now_ms)
    call.keyspace.dirty += 1
    call.db.note(events.CONSUMER_MADE, key)
    return 1


@command("XGROUP|DELCONSUMER", arity=5, flags=WRITE, keys=SECOND_ARG, group="stream", since="5.0.0")
def xgroup_delconsumer(call: Call, key: bytes, name: bytes, consumer: bytes) -> int:
    """Remove a consumer and all it has pending; how many entries that were"""
    _, group = _existing_group(call, key, name)
    if consumer not in group.consumers:
        return 0
    call.keyspace.dirty += 1
    call.db.note(events.CONSUMER_DELETED, key)
    return remove_consumer(group, consumer)


@command("XGROUP|HELP", arity=2, flags=LOADING | STALE, group="stream", since="5.0.0")
def xgroup_help(call: Call) -> list[Simple]:
    """Show what XGROUP can do"""
    return help_reply("XGROUP", *_HELP)


@command("XACK", arity=-4, flags=WRITE | FAST, keys=FIRST_ARG, group="stream", since="5.0.0")
def xack(call: Call, key: bytes, name: bytes, *ids: bytes) -> int:
    """Take entries that are done off a group's pending list; how many were on it"""
    stream = call.db.read_as(StreamValue, key)
    group = None if stream is None else stream.groups.get(name)
    if group is None:
        return 0
    done = [strict_id(text) for text in ids]
    acknowledged = 0
    for entry_id in done:
        acknowledged += remove(group, entry_id)
    call.keyspace.dirty += acknowledged
    return acknowledged


@command("XPENDING", arity=-3, flags=READONLY, keys=FIRST_ARG, group="stream", since="5.0.0")
def xpending(call: Call, key: bytes, name: bytes, *words: bytes) -> Reply:
    """Show what a group has given out and not been told done: a summary, or the entries between two ids"""
    if not words:
        return _summary(_readable_group(call, key, name))
    if not 3 <= len(words) <= 6:
        raise syntax_error()
    min_idle_ms = 0
    if words[0].upper() == b"IDLE":
        min_idle_ms = integer_argument(words[1])
        if len(words) < 5:
            raise syntax_error()
        words = words[2:]
    limit = max(0, integer_argument(words[2]))
    start, end = range_start(words[0]), range_end(words[1])
    group = _readable_group(call, key, name)
    consumer = words[3] if len(words) > 3 else None
    if consumer is not None and consumer not in group.consumers:
        return []
    return _pending_between(group, (start, end), limit, consumer, min_idle_ms, call.now_ms)


def _summary(group: StreamGroup) -> Reply:
    """[how many are pending, the least id, the greatest id, [consumer, how many it has] for each that has any]."""
    if not group.pending:
        return [0, None, None, NULL_ARRAY]
    ids = index(group).ids
    counts: list[Reply] = []
    for name in sorted(group.consumers):
        count = count_of(group, name)
        if count:
            counts.append([name, b"%d" % count])
    return [len(ids), id_text(ids[0]), id_text(ids[-1]), counts]


def _pending_between(
    group: StreamGroup,
    bounds: tuple[StreamId, StreamId],
    limit: int,
    consumer: bytes | None,
    min_idle_ms: int,
    now_ms: int,
) -> list[Reply]:
    """[id, consumer, idle ms, deliveries] of the pending entries with start <= id <= end; at most `limit` of them.

    `consumer` None means all consumers. Entries that were last delivered less than `min_idle_ms` ago are left out.
    """
    start, end = bounds
    rows: list[Reply] = []
    for entry_id in ids_from(group, start, consumer):
        if entry_id > end or len(rows) == limit:
            break
        entry = group.pending[entry_id]
        idle_ms = now_ms - entry.delivery_ms
        if not min_idle_ms or idle_ms >= min_idle_ms:
            rows.append([id_text(entry_id), entry.consumer, max(0, idle_ms), entry.delivery_count])
    return rows


def _readable_group(call: Call, key: bytes, name: bytes) -> StreamGroup:
    """The group, for a command that only reads. Raises CommandError NOGROUP when the key or the group is missing."""
    stream = call.db.read_as(StreamValue, key)
    group = None if stream is None else stream.groups.get(name)
    if group is None:
        raise no_group(key, name)
    return group


def _existing_stream(call: Call, key: bytes) -> StreamValue:
    """The stream, for a subcommand of XGROUP. Raises CommandError when the key is missing."""
    stream = call.db.find_as(StreamValue, key)
    if stream is None:
        raise CommandError(_NO_STREAM)
    return stream


def _existing_group(call: Call, key: bytes, name: bytes) -> tuple[StreamValue, StreamGroup]:
    """The stream and its group. Raises CommandError: without the key, or NOGROUP without the group."""
    stream = _existing_stream(call, key)
    group = stream.groups.get(name)
    if group is None:
        raise no_such_group(key, name)
    return stream, group


def no_such_group(key: bytes, name: bytes) -> CommandError:
    """The error for a group that an existing stream does not have."""
    shown_key, shown_name = to_text(key), to_text(name)
    return CommandError(f"NOGROUP No such consumer group '{shown_name}' for key name '{shown_key}'")


def _group_options(call: Call, options: tuple[bytes, ...], *, may_make_stream: bool = True) -> tuple[int, bool]:
    """ENTRIESREAD (ENTRIES_READ_UNKNOWN, -1, when it is not given) and whether MKSTREAM is given.

    Raises CommandError for a number below -1 and for an option that the subcommand does not have.
    """
    entries_read, make_stream = ENTRIES_READ_UNKNOWN, False
    at = 0
    while at < len(options):
        word = options[at].upper()
        if word == b"MKSTREAM" and may_make_stream:
            make_stream = True
            at += 1
        elif word == b"ENTRIESREAD" and at + 1 < len(options):
            entries_read = integer_argument(options[at + 1])
            if entries_read < ENTRIES_READ_UNKNOWN:
                raise CommandError("ERR value for ENTRIESREAD must be positive or -1")
            at += 2
        else:
            raise wrong_subcommand_use(call)
    return entries_read, make_stream


def wrong_subcommand_use(call: Call) -> CommandError:
    """The error for a subcommand of XGROUP or XINFO whose options are unknown or incomplete."""
    shown = to_text(call.argv[1][:128])
    container_name = to_text(call.argv[0]).upper()
    return CommandError(
        f"ERR unknown subcommand or wrong number of arguments for '{shown}'. Try {container_name} HELP."
    )
