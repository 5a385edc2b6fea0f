"""Streams as a log: XADD, XLEN, XRANGE, XREVRANGE, XDEL, XTRIM, XSETID.

Reading several streams and reading by group are in `reads`, groups in `groups` and `claims`, XINFO is in `info`. The
log itself is `log`; messages that are added only once are in `idmp`.

A replica must get the same entries, so what this node decided is propagated exactly: the id that it chose for `*`, and
the length or id that it trimmed to for `~` (`XADD s MAXLEN = 5 1700000000000-0 f v`).
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.commands.engine.arguments import integer_argument, no_such_key, syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import DENYOOM, FAST, FIRST_ARG, READONLY, WRITE, command
from pyrepl.commands.xstreams.idmp import Idempotency, known_entry, not_with_an_id
from pyrepl.commands.xstreams.ids import (
    FIRST_ID,
    LAST_ID,
    UINT64_MAX,
    id_text,
    invalid_id,
    next_id,
    parse_half,
    range_end,
    range_start,
    strict_id,
)
from pyrepl.commands.xstreams.log import append, between, between_reversed, delete, last, size
from pyrepl.commands.xstreams.trim import Trim, limit_argument, parse_trim
from pyrepl.errors import CommandError
from pyrepl.keyspace import events
from pyrepl.keyspace.idmp import limits_of_new, remember
from pyrepl.rdb.values import IdmpState, StreamEntry, StreamId, StreamValue
from pyrepl.resp.reply import NULL_ARRAY, OK, NullArray, Simple

_XADD_ARITY: Final = "ERR wrong number of arguments for 'xadd' command"
_NOT_ABOVE: Final = "ERR The ID specified in XADD is equal or smaller than the target stream top item"


@final
class _NewEntry:
    """The arguments of XADD after the key.

    `ms` and `seq` are the id asked for: both are None for `*`, `seq` alone is None for `ms-*`. `id_at` is the position
    of the id in the words; the fields follow it.
    """

    __slots__ = ("id_at", "idempotency", "make_stream", "ms", "seq", "trim")

    def __init__(self, node_entries: int) -> None:
        self.trim = Trim(node_entries)
        self.idempotency = Idempotency()
        self.make_stream = True
        self.ms: int | None = None
        self.seq: int | None = None
        self.id_at = 0

    @property
    def id_is_given(self) -> bool:
        return self.seq is not None

    def parse(self, words: tuple[bytes, ...], *, from_master: bool) -> None:
        """Read the words after the key; the command's arity sees to it that there are at least three.

        `from_master` is true for a command that our master sent. Raises CommandError.
        """
        if words[0] == b"*" and len(words) % 2:
            return
        limit: int | None = None
        at = 0
        while at < len(words):
            word = words[at].upper()
            more = at + 1 < len(words)
            if word == b"*":
                break
            if more and word in (b"MAXLEN", b"MINID"):
                at = self.trim.take(words, at)
            elif more and word == b"LIMIT":
                limit = limit_argument(words[at + 1])
                at += 2
            elif word == b"NOMKSTREAM":
                self.make_stream = False
                at += 1
            elif self.trim.take_policy(word):
                at += 1
            elif (behind := self.idempotency.take(words, at)) > at:
                at = behind
            else:
                self._take_id(words[at])
                if self.idempotency.producer is not None and not from_master:
                    raise not_with_an_id()
                break
        self.trim.settle_limit(limit, from_master=from_master)
        fields_size = len(words) - at - 1
        if fields_size < 2 or fields_size % 2:
            raise CommandError(_XADD_ARITY)
        if self.ms == 0 and self.seq == 0:
            raise CommandError("ERR The ID specified in XADD must be greater than 0-0")
        self.id_at = at

    def _take_id(self, text: bytes) -> None:
        ms_text, _, seq_text = text.partition(b"-")
        if seq_text == b"*":
            self.ms = parse_half(ms_text)
            if self.ms is None:
                raise invalid_id()
        else:
            self.ms, self.seq = strict_id(text)

    def id_after(self, last_id: StreamId, now_ms: int) -> StreamId:
        """The id of the new entry: the one asked for, or one that is chosen above `last_id`.

        A chosen id is `now_ms`-0, or the next id after `last_id` when the clock is not ahead of that. Raises
        CommandError for an id asked for that is not above `last_id`, and when `last_id` is the greatest id of all.
        """
        if last_id == LAST_ID:
            raise CommandError("ERR The stream has exhausted the last possible ID, unable to add more items")
        ms, seq = self.ms, self.seq
        if ms is None:
            if now_ms > last_id[0]:
                return now_ms, 0
            following = next_id(last_id)
            assert following is not None
            return following
        if seq is None:
            if ms == last_id[0] and last_id[1] == UINT64_MAX:
                raise CommandError(_NOT_ABOVE)
            seq = last_id[1] + 1 if ms == last_id[0] else 0
        if (ms, seq) <= last_id:
            raise CommandError(_NOT_ABOVE)
        return ms, seq


def new_stream(call: Call) -> StreamValue:
    """An empty stream, with the limits for idempotency ids that the directives stream-idmp-* set."""
    return StreamValue(idmp=IdmpState.of_new(limits_of_new(call.node.settings)))


@command("XADD", arity=-5, flags=WRITE | DENYOOM | FAST, keys=FIRST_ARG, group="stream", since="5.0.0")
def xadd(call: Call, key: bytes, *words: bytes) -> bytes | None:
    """Append an entry to a stream, made if there is none; its id"""
    new = _NewEntry(call.node.settings.stream_node_max_entries)
    new.parse(words, from_master=call.client.is_master_link)
    stream = call.db.find_as(StreamValue, key)
    if stream is None and not new.make_stream:
        return None
    fields = words[new.id_at + 1 :]
    producer = new.idempotency.producer
    iid = b"" if producer is None else new.idempotency.iid_of(fields)
    if producer is not None and not new.id_is_given:
        known = known_entry(call, key, stream, producer, iid)
        if known is not None:
            return id_text(known)
    entry_id = new.id_after(FIRST_ID if stream is None else stream.last_id, call.now_ms)
    if stream is None:
        stream = new_stream(call)
        call.db.put(key, stream)
    append(stream, entry_id, fields)
    if producer is not None:
        remember(call.db, key, stream, producer, iid, entry_id)
    call.db.changed(key)
    if new.trim.apply(stream):
        call.db.note(events.TRIMMED, key)
    text = id_text(entry_id)
    if new.trim.approximate or not new.id_is_given:
        argv = new.trim.exact(call.argv, 2, stream) if new.trim.approximate else list(call.argv)
        if not new.id_is_given:
            argv[2 + new.id_at] = text
        call.rewrite(*argv)
    return text


@command("XLEN", arity=2, flags=READONLY | FAST, keys=FIRST_ARG, group="stream", since="5.0.0")
def xlen(call: Call, key: bytes) -> int:
    """Count the entries of a stream"""
    stream = call.db.read_as(StreamValue, key)
    return 0 if stream is None else size(stream)


@command("XRANGE", arity=-4, flags=READONLY, keys=FIRST_ARG, group="stream", since="5.0.0")
def xrange(call: Call, key: bytes, start: bytes, end: bytes, *options: bytes) -> list[StreamReply] | NullArray:
    """List the entries between two ids, oldest first"""
    low, high, limit = range_start(start), range_end(end), _count_option(options)
    stream = call.db.read_as(StreamValue, key)
    if stream is None:
        return []
    if limit == 0:
        return NULL_ARRAY
    return entries_reply(between(stream, low, high, limit))


@command("XREVRANGE", arity=-4, flags=READONLY, keys=FIRST_ARG, group="stream", since="5.0.0")
def xrevrange(call: Call, key: bytes, end: bytes, start: bytes, *options: bytes) -> list[StreamReply] | NullArray:
    """List the entries between two ids, newest first"""
    low, high, limit = range_start(start), range_end(end), _count_option(options)
    stream = call.db.read_as(StreamValue, key)
    if stream is None:
        return []
    if limit == 0:
        return NULL_ARRAY
    return entries_reply(between_reversed(stream, low, high, limit))


@command("XDEL", arity=-3, flags=WRITE | FAST, keys=FIRST_ARG, group="stream", since="5.0.0")
def xdel(call: Call, key: bytes, *ids: bytes) -> int:
    """Delete entries by id; how many there were"""
    stream = call.db.find_as(StreamValue, key)
    if stream is None:
        return 0
    deleted = delete(stream, [strict_id(text) for text in ids])
    if deleted:
        call.db.changed(key, deleted)
    return deleted


@command("XTRIM", arity=-4, flags=WRITE, keys=FIRST_ARG, group="stream", since="5.0.0")
def xtrim(call: Call, key: bytes, *words: bytes) -> int:
    """Delete the oldest entries beyond a length or below an id; how many that were"""
    trim = parse_trim(words, call.node.settings.stream_node_max_entries, from_master=call.client.is_master_link)
    stream = call.db.find_as(StreamValue, key)
    if stream is None:
        return 0
    deleted = trim.apply(stream)
    if deleted:
        call.db.changed(key, deleted)
        if trim.approximate:
            call.rewrite(*trim.exact(call.argv, 2, stream))
    return deleted


@command("XSETID", arity=-3, flags=WRITE | DENYOOM | FAST, keys=FIRST_ARG, group="stream", since="5.0.0")
def xsetid(call: Call, key: bytes, last_id_text: bytes, *options: bytes) -> Simple:
    """Set a stream's last id and counters; for internal use

    This does not count as a change of the key for WATCH, as in Redis.
    """
    last_id = strict_id(last_id_text)
    entries_added, max_deleted_id = _setid_options(last_id, options)
    stream = call.db.find_as(StreamValue, key)
    if stream is None:
        raise no_such_key()
    if last_id < stream.max_deleted_id:
        raise CommandError("ERR The ID specified in XSETID is smaller than current max_deleted_entry_id")
    newest = last(stream)
    if newest is not None:
        if last_id < newest[0]:
            raise CommandError("ERR The ID specified in XSETID is smaller than the target stream top item")
        if entries_added is not None and size(stream) > entries_added:
            raise CommandError("ERR The entries_added specified in XSETID is smaller than the target stream length")
    stream.last_id = last_id
    if entries_added is not None:
        stream.entries_added = entries_added
    if max_deleted_id != FIRST_ID:
        stream.max_deleted_id = max_deleted_id
    call.keyspace.dirty += 1
    call.db.note(events.STREAM_ID_SET, key)
    return OK


StreamReply = list[bytes | list[bytes]]
"""An entry in a reply: [id, [field, value, field, value, ...]]."""


def entry_reply(entry: StreamEntry) -> StreamReply:
    """One entry as every reading command shows it."""
    return [id_text(entry[0]), list(entry[1])]


def entries_reply(entries: list[StreamEntry]) -> list[StreamReply]:
    """Entries as every reading command shows them."""
    return [[b"%d-%d" % entry_id, list(fields)] for entry_id, fields in entries]


def _count_option(options: tuple[bytes, ...]) -> int | None:
    """COUNT of the range commands: None when it is not given, 0 for zero and below. Raises CommandError."""
    count: int | None = None
    for i in range(0, len(options), 2):
        if options[i].upper() != b"COUNT" or i + 1 == len(options):
            raise syntax_error()
        count = max(0, integer_argument(options[i + 1]))
    return count


def _setid_options(last_id: StreamId, options: tuple[bytes, ...]) -> tuple[int | None, StreamId]:
    """XSETID's ENTRIESADDED (None when it is not given) and MAXDELETEDID (0-0 when it is not given).

    Raises CommandError for a negative count and for a MAXDELETEDID above `last_id`.
    """
    entries_added: int | None = None
    max_deleted_id = FIRST_ID
    for i in range(0, len(options), 2):
        word = options[i].upper()
        if i + 1 == len(options):
            raise syntax_error()
        if word == b"ENTRIESADDED":
            entries_added = integer_argument(options[i + 1])
            if entries_added < 0:
                raise CommandError("ERR entries_added must be positive")
        elif word == b"MAXDELETEDID":
            max_deleted_id = strict_id(options[i + 1])
            if last_id < max_deleted_id:
                raise CommandError("ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id")
        else:
            raise syntax_error()
    return entries_added, max_deleted_id
