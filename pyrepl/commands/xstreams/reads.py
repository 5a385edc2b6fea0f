"""XREAD and XREADGROUP: new entries of several streams, and the history of a consumer.

With XREADGROUP `>` asks for new entries, any other id for the history: the entries that the consumer has pending. As in
Redis, `>` is another spelling of the greatest id of all, so a client that spells out that id asks for new entries too.

With BLOCK and nothing to answer these commands wait, and are tried again, whole, when one of the streams becomes ready
(`WaitForKeys`). By `$` XREAD then means the id that it meant when the command came; by `+` it means the last entry of
that moment. A waiting XREADGROUP fails with Redis's errors when its group or its stream is deleted, or the key gets
another type. When there are entries, and inside MULTI, BLOCK has no effect.

Propagation of XREADGROUP (Redis 8.2): each entry that was given out goes out as one XCLAIM, and the group's position
as one XGROUP SETID with the count of entries read. Asking is enough to add a consumer to the group, whether there is an
entry for it or not (Redis 7.2). A new consumer that no XCLAIM names goes out as XGROUP CREATECONSUMER. Redis does that
only with NOACK, so its replicas may lack consumers. Reading the history counts one more delivery of each entry, which
is not propagated, as in Redis.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.commands.engine.arguments import integer_argument, syntax_error, timeout_ms_argument
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.effects import WaitForKeys
from pyrepl.commands.engine.table import BLOCKING, MOVABLE_KEYS, READONLY, WRITE, Keys, command
from pyrepl.commands.xstreams.ids import FIRST_ID, LAST_ID, id_text, next_id, previous_id, strict_id
from pyrepl.commands.xstreams.log import advance, between, find, last
from pyrepl.commands.xstreams.pending import assign, ids_from, touch_consumer
from pyrepl.commands.xstreams.streams import entries_reply
from pyrepl.errors import CommandError
from pyrepl.keyspace import events
from pyrepl.rdb.values import PendingEntry, StreamEntry, StreamGroup, StreamId, StreamValue
from pyrepl.resp.encoder import encode_reply
from pyrepl.resp.reply import NULL_ARRAY, Raw, Reply
from pyrepl.words import to_text

_DOLLAR_IN_GROUP: Final = (
    "ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by "
    "specifying a proper ID, or use the > ID to get new messages. The $ ID would just return an empty result set."
)
_PLUS_IN_GROUP: Final = (
    "ERR The + ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by "
    "specifying a proper ID, or use the > ID to get new messages. The + ID would just return an empty result set."
)
_ANGLE_WITHOUT_GROUP: Final = (
    "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option."
)
_UNBALANCED: Final = "ERR Unbalanced 'xread' list of streams: for each stream key an ID, '+', or '$' must be specified."
_UNBALANCED_IN_GROUP: Final = (
    "ERR Unbalanced 'xreadgroup' list of streams: for each stream key an ID or '>' must be specified."
)
_OPTION_SIZES: Final = {b"BLOCK": 2, b"COUNT": 2, b"GROUP": 3, b"NOACK": 1}
"""Option -> how many words it takes, its name included. STREAMS takes all words that follow."""


def _keys_of(argv: list[bytes]) -> list[int]:
    """The positions of the keys: the first half of the words after STREAMS. None when the words make no sense."""
    at = 1
    while at < len(argv) and argv[at].upper() != b"STREAMS":
        size = _OPTION_SIZES.get(argv[at].upper())
        if size is None:
            return []
        at += size
    count = len(argv) - at - 1
    return [] if count < 2 or count % 2 else list(range(at + 1, at + 1 + count // 2))


AFTER_STREAMS: Final = Keys(0, 0, 0, _keys_of)


@final
class _Request:
    """The arguments of XREAD or XREADGROUP.

    `limit` is COUNT, None for all entries. `keys` and `ids` belong together in pairs; the ids are still text, as `$`
    and `>` depend on the stream. `timeout_ms` is BLOCK, None without it, 0 for no limit. `group` is None for XREAD.
    """

    __slots__ = ("consumer", "group", "ids", "keys", "limit", "noack", "of_group", "timeout_ms")

    def __init__(self, name: str) -> None:
        self.of_group = name == "xreadgroup"
        self.limit: int | None = None
        self.group: bytes | None = None
        self.consumer = b""
        self.noack = False
        self.timeout_ms: int | None = None
        self.keys: tuple[bytes, ...] = ()
        self.ids: tuple[bytes, ...] = ()

    def parse(self, words: tuple[bytes, ...], now_ms: int) -> None:
        """Read all words after the command's name. Raises CommandError."""
        at = 0
        while at < len(words) and not self.keys:
            word = words[at].upper()
            more = len(words) - at - 1
            if word == b"BLOCK" and more:
                self.timeout_ms = timeout_ms_argument(words[at + 1], now_ms)
            elif word == b"COUNT" and more:
                self.limit = max(0, integer_argument(words[at + 1])) or None
            elif word == b"STREAMS" and more:
                self._take_streams(words[at + 1 :])
            elif word == b"GROUP" and more >= 2:
                self._only_with_group("GROUP")
                self.group, self.consumer = words[at + 1], words[at + 2]
            elif word == b"NOACK":
                self._only_with_group("NOACK")
                self.noack = True
            else:
                raise syntax_error()
            at += _OPTION_SIZES.get(word, 1)
        if not self.keys:
            raise syntax_error()
        if self.of_group and self.group is None:
            raise CommandError("ERR Missing GROUP option for XREADGROUP")

    def _take_streams(self, words: tuple[bytes, ...]) -> None:
        if len(words) % 2:
            raise CommandError(_UNBALANCED_IN_GROUP if self.of_group else _UNBALANCED)
        half = len(words) // 2
        self.keys, self.ids = words[:half], words[half:]

    def _only_with_group(self, option: str) -> None:
        if not self.of_group:
            raise CommandError(f"ERR The {option} option is only supported by XREADGROUP. You called XREAD instead.")


@command("XREAD", arity=-4, flags=READONLY | BLOCKING | MOVABLE_KEYS, keys=AFTER_STREAMS, group="stream", since="5.0.0")
def xread(call: Call, *words: bytes) -> Reply | WaitForKeys:
    """List the entries of several streams after given ids, or wait for some; null when there are none"""
    request = _Request("xread")
    request.parse(words, call.now_ms)
    starts = []
    for key, text in zip(request.keys, request.ids):
        stream = call.db.read_as(StreamValue, key)
        starts.append(_after(stream, text))
    found: list[tuple[bytes, Reply]] = []
    for key, seen in zip(request.keys, starts):
        stream = call.db.read_as(StreamValue, key)
        if stream is None:
            continue
        newest = last(stream)
        start = next_id(seen)
        if newest is not None and newest[0] > seen and start is not None:
            found.append((key, entries_reply(between(stream, start, stream.last_id, request.limit))))
    if not found and request.timeout_ms is not None and call.may_wait:
        return _wait(call, request, request.timeout_ms, starts)
    return _by_stream(found, call.client.proto)


def _wait(call: Call, request: _Request, timeout_ms: int, starts: list[StreamId]) -> WaitForKeys:
    """Wait for entries. `starts` are the ids that the request's words mean now; `$` must not mean a later one."""
    argv = list(call.argv)
    ids_at = len(argv) - len(request.ids)
    for number, (text, start) in enumerate(zip(request.ids, starts)):
        if text == b"$":
            argv[ids_at + number] = id_text(start)
    return WaitForKeys(request.keys, "stream", timeout_ms, tuple(argv), on_any_type=request.of_group)


def _after(stream: StreamValue | None, text: bytes) -> StreamId:
    """The id after which XREAD reads. `$` is the stream's last id, `+` the id before its last entry."""
    if text == b"$":
        return FIRST_ID if stream is None else stream.last_id
    if text == b"+":
        return _before_last(stream)
    if text == b">":
        raise CommandError(_ANGLE_WITHOUT_GROUP)
    return strict_id(text)


def _before_last(stream: StreamValue | None) -> StreamId:
    """The id before the last entry's, so that reading after it finds this entry alone. Without entries, as for `$`."""
    newest = None if stream is None else last(stream)
    if newest is None:
        return FIRST_ID if stream is None else stream.last_id
    before = previous_id(newest[0])
    assert before is not None
    return before


@command(
    "XREADGROUP", arity=-7, flags=WRITE | BLOCKING | MOVABLE_KEYS, keys=AFTER_STREAMS, group="stream", since="5.0.0"
)
def xreadgroup(call: Call, *words: bytes) -> Reply | WaitForKeys:
    """Give a consumer of a group new entries of several streams, or wait for some; or list its unacknowledged ones"""
    request = _Request("xreadgroup")
    request.parse(words, call.now_ms)
    assert request.group is not None
    group_name, consumer = request.group, request.consumer
    places = []
    for key, text in zip(request.keys, request.ids):
        stream, group = _group_of(call, key, group_name)
        if text == b"$":
            raise CommandError(_DOLLAR_IN_GROUP)
        if text == b"+":
            raise CommandError(_PLUS_IN_GROUP)
        places.append((key, stream, group, LAST_ID if text == b">" else strict_id(text)))
    call.propagate_nothing()
    found: list[tuple[bytes, Reply]] = []
    for key, stream, group, seen in places:
        is_new = touch_consumer(group, consumer, call.now_ms)
        if is_new:
            call.keyspace.dirty += 1
            call.db.note(events.CONSUMER_MADE, key)
        given: list[StreamEntry] = []
        if seen != LAST_ID:
            found.append((key, _history(stream, group, consumer, seen, request.limit, call.now_ms)))
        elif _has_more(stream, group):
            given = _give(call, stream, group, (key, group_name, consumer), request)
            found.append((key, entries_reply(given)))
            call.keyspace.dirty += 1
        if is_new and (request.noack or not given):
            propagate_consumer(call, key, group_name, consumer)
    if not found and request.timeout_ms is not None and call.may_wait:
        return _wait(call, request, request.timeout_ms, [])
    return _by_stream(found, call.client.proto)


def _has_more(stream: StreamValue, group: StreamGroup) -> bool:
    """Does the stream have entries that the group has not been given yet?"""
    newest = last(stream)
    return newest is not None and newest[0] > group.last_id


def _group_of(call: Call, key: bytes, name: bytes) -> tuple[StreamValue, StreamGroup]:
    """The stream and its group. Raises CommandError NOGROUP when the key or the group is missing."""
    stream = call.db.read_as(StreamValue, key)
    group = None if stream is None else stream.groups.get(name)
    if stream is None or group is None:
        raise no_group(key, name, " in XREADGROUP with GROUP option")
    return stream, group


def _give(
    call: Call, stream: StreamValue, group: StreamGroup, names: tuple[bytes, bytes, bytes], request: _Request
) -> list[StreamEntry]:
    """Give the next entries of a group to a consumer, and propagate that.

    `names` are (key, group, consumer). With NOACK the entries do not become pending.
    """
    key, group_name, consumer = names
    start = next_id(group.last_id)
    assert start is not None
    entries = between(stream, start, stream.last_id, request.limit)
    for entry_id, _ in entries:
        advance(stream, group, entry_id)
        if not request.noack:
            pending = assign(group, entry_id, consumer)
            pending.delivery_ms = call.now_ms
            pending.delivery_count = 1
            propagate_claim(call, key, group_name, group, entry_id, pending)
    if not request.noack:
        group.consumers[consumer].active_ms = call.now_ms
    propagate_position(call, key, group_name, group)
    return entries


def _history(
    stream: StreamValue, group: StreamGroup, consumer: bytes, seen: StreamId, limit: int | None, now_ms: int
) -> list[Reply]:
    """The entries that a consumer has pending with ids above `seen`, as a reply; at most `limit` of them.

    Each counts as delivered once more. An entry that was deleted from the stream stands as its id and null.
    """
    start = next_id(seen)
    replies: list[Reply] = []
    if start is None:
        return replies
    for entry_id in ids_from(group, start, consumer):
        if limit is not None and len(replies) == limit:
            break
        entry = find(stream, entry_id)
        if entry is None:
            replies.append([id_text(entry_id), NULL_ARRAY])
            continue
        pending = group.pending[entry_id]
        pending.delivery_ms = now_ms
        pending.delivery_count += 1
        replies.append([id_text(entry_id), list(entry[1])])
    return replies


def _by_stream(found: list[tuple[bytes, Reply]], proto: int) -> Reply:
    """The reply: pairs of key and entries for RESP2, a map for RESP3, null when nothing was found.

    A stream that the client named twice stands twice, as in Redis. A dict cannot hold that, so the map is encoded here.
    """
    if not found:
        return NULL_ARRAY
    if proto < 3:
        return [list(pair) for pair in found]
    parts = [b"%%%d\r\n" % len(found)]
    for key, entries in found:
        parts.append(encode_reply(key, proto))
        parts.append(encode_reply(entries, proto))
    return Raw(b"".join(parts))


def no_group(key: bytes, name: bytes, where: str = "") -> CommandError:
    """The error for a group that is missing, or whose stream is. `where` is added at the end of the text."""
    shown_key, shown_name = to_text(key), to_text(name)
    return CommandError(f"NOGROUP No such key '{shown_key}' or consumer group '{shown_name}'{where}")


def propagate_claim(
    call: Call, key: bytes, group_name: bytes, group: StreamGroup, entry_id: StreamId, entry: PendingEntry
) -> None:
    """Tell the replicas who has an entry, when it was last delivered and how often.

    XCLAIM with TIME, RETRYCOUNT, FORCE, JUSTID and LASTID sets exactly that, whatever the replica's clock says. LASTID
    moves the group's position along.
    """
    call.rewrite(
        b"XCLAIM",
        key,
        group_name,
        entry.consumer,
        b"0",
        id_text(entry_id),
        b"TIME",
        b"%d" % entry.delivery_ms,
        b"RETRYCOUNT",
        b"%d" % entry.delivery_count,
        b"FORCE",
        b"JUSTID",
        b"LASTID",
        id_text(group.last_id),
    )


def propagate_position(call: Call, key: bytes, group_name: bytes, group: StreamGroup) -> None:
    """Tell the replicas the last id that a group has been given, and its count of entries read."""
    call.rewrite(
        b"XGROUP", b"SETID", key, group_name, id_text(group.last_id), b"ENTRIESREAD", b"%d" % group.entries_read
    )


def propagate_consumer(call: Call, key: bytes, group_name: bytes, consumer: bytes) -> None:
    """Tell the replicas of a new consumer that no other propagated command names."""
    call.rewrite(b"XGROUP", b"CREATECONSUMER", key, group_name, consumer)
