"""XCLAIM and XAUTOCLAIM: a consumer takes over entries that another has had pending for too long.

Replicas are told the outcome and not the request, because their clocks differ: each entry goes out as one XCLAIM that
states owner, time and count (`reads.propagate_claim`). The same is sent for an entry that was taken off the pending
list because the stream no longer has it; the replica finds it missing too and takes it off its own list.

Asking is enough to add a consumer to the group, whether it gets an entry or not (Redis 7.2). A new consumer that no
XCLAIM names is propagated as XGROUP CREATECONSUMER. Redis propagates nothing in that case, so its replicas lack that
consumer.
"""

from __future__ import annotations

from itertools import islice
from typing import Final, final

from pyrepl.commands.engine.arguments import integer_argument, ranged_integer_argument, syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import FAST, FIRST_ARG, WRITE, command
from pyrepl.commands.xstreams.ids import FIRST_ID, id_text, parse_id, range_start, strict_id
from pyrepl.commands.xstreams.log import find
from pyrepl.commands.xstreams.pending import assign, ids_from, remove, touch_consumer
from pyrepl.commands.xstreams.reads import no_group, propagate_claim, propagate_consumer, propagate_position
from pyrepl.commands.xstreams.streams import entry_reply
from pyrepl.errors import CommandError
from pyrepl.keyspace import events
from pyrepl.rdb.values import PendingEntry, StreamEntry, StreamGroup, StreamId, StreamValue
from pyrepl.resp.reply import Reply
from pyrepl.words import to_text

_ATTEMPTS_PER_CLAIM: Final = 10
"""XAUTOCLAIM looks at no more than COUNT times this many entries, so that one call cannot take long (Redis 6.2)."""
_DEFAULT_COUNT: Final = 100
"""How many entries XAUTOCLAIM claims at most when COUNT is not given."""
_MAX_COUNT: Final = (2**63 - 1) // 16
"""The greatest COUNT, inclusive: Redis reserves 16 bytes for each entry in a signed 64-bit size."""


@final
class _ClaimOptions:
    """The options of XCLAIM, and JUSTID of XAUTOCLAIM.

    `delivery_ms` (a Unix time in ms) is what IDLE or TIME say; `retry_count` is what RETRYCOUNT says. Both are None
    when the option is not given. `last_id` is 0-0 without LASTID.
    """

    __slots__ = ("delivery_ms", "force", "just_id", "last_id", "retry_count")

    def __init__(self) -> None:
        self.delivery_ms: int | None = None
        self.retry_count: int | None = None
        self.force = False
        self.just_id = False
        self.last_id: StreamId = FIRST_ID

    def parse(self, words: tuple[bytes, ...], now_ms: int) -> None:
        """Read the words after the ids. Raises CommandError for an unknown option and for a value that is no number.

        A delivery time in the future, or before 1970, becomes `now_ms`.
        """
        at = 0
        while at < len(words):
            word = words[at].upper()
            more = at + 1 < len(words)
            if word == b"FORCE":
                self.force = True
            elif word == b"JUSTID":
                self.just_id = True
            elif more and word in (b"IDLE", b"TIME", b"RETRYCOUNT"):
                at += 1
                self._take_number(word, words[at], now_ms)
            elif more and word == b"LASTID":
                at += 1
                self.last_id = strict_id(words[at])
            else:
                shown = to_text(words[at])
                raise CommandError(f"ERR Unrecognized XCLAIM option '{shown}'")
            at += 1
        if self.delivery_ms is not None and not 0 <= self.delivery_ms <= now_ms:
            self.delivery_ms = now_ms

    def _take_number(self, word: bytes, text: bytes, now_ms: int) -> None:
        number = integer_argument(text, f"ERR Invalid {word.decode()} option argument for XCLAIM")
        if word == b"IDLE":
            self.delivery_ms = now_ms - number
        elif word == b"TIME":
            self.delivery_ms = number
        else:
            self.retry_count = number if number >= 0 else None


@final
class _Claims:
    """The claims that one call makes for one consumer of one group, and their propagation to the replicas.

    `rows` is the reply: one item per claimed entry. `gone` are the ids that were pending although the stream no longer
    has them. Raises CommandError NOGROUP when the key or the group is missing.
    """

    __slots__ = (
        "_call",
        "_consumer",
        "_consumer_is_new",
        "_group",
        "_group_name",
        "_key",
        "_stream",
        "gone",
        "has_told_position",
        "rows",
    )

    def __init__(self, call: Call, key: bytes, group_name: bytes, consumer: bytes) -> None:
        stream = call.db.read_as(StreamValue, key)
        group = None if stream is None else stream.groups.get(group_name)
        if stream is None or group is None:
            raise no_group(key, group_name)
        self._call = call
        self._key = key
        self._stream: StreamValue = stream
        self._group: StreamGroup = group
        self._group_name = group_name
        self._consumer = consumer
        self.rows: list[Reply] = []
        self.gone: list[StreamId] = []
        self.has_told_position = False
        """True once an XCLAIM has been propagated: it carries the group's last id (LASTID) along."""
        self._consumer_is_new = False
        """The consumer is new to the group, and nothing propagated so far names it."""

    @property
    def group(self) -> StreamGroup:
        return self._group

    def add_consumer(self) -> None:
        """Note that the consumer has asked; add it to the group when it is new."""
        self._consumer_is_new = touch_consumer(self._group, self._consumer, self._call.now_ms)
        if self._consumer_is_new:
            self._call.keyspace.dirty += 1
            self._call.db.note(events.CONSUMER_MADE, self._key)

    def entry(self, entry_id: StreamId) -> StreamEntry | None:
        """The stream's entry with this id, or None. When the stream has none, it is taken off the pending list too."""
        entry = find(self._stream, entry_id)
        if entry is None:
            pending = self._group.pending.get(entry_id)
            if pending is not None:
                self._tell_claim(entry_id, pending)
                remove(self._group, entry_id)
                self.gone.append(entry_id)
        return entry

    def is_idle(self, pending: PendingEntry, min_idle_ms: int) -> bool:
        """Was the entry last delivered `min_idle_ms` ago or earlier? Always true for 0 and below."""
        return min_idle_ms <= 0 or self._call.now_ms - pending.delivery_ms >= min_idle_ms

    def take(self, entry: StreamEntry, terms: _ClaimOptions) -> None:
        """Make the entry this consumer's and add it to the reply.

        The count of deliveries goes up by 1 unless RETRYCOUNT sets it or JUSTID asks for ids alone. An entry that FORCE
        puts on the list begins with 1, so it counts as delivered twice, as in Redis.
        """
        entry_id = entry[0]
        pending = assign(self._group, entry_id, self._consumer)
        pending.delivery_ms = self._call.now_ms if terms.delivery_ms is None else terms.delivery_ms
        if terms.retry_count is not None:
            pending.delivery_count = terms.retry_count
        elif not terms.just_id:
            pending.delivery_count += 1
        self._group.consumers[self._consumer].active_ms = self._call.now_ms
        self.rows.append(id_text(entry_id) if terms.just_id else entry_reply(entry))
        self._tell_claim(entry_id, pending)
        self._consumer_is_new = False

    def tell_new_consumer(self) -> None:
        """Tell the replicas of a new consumer that got no entry. To be called after the last `take`."""
        if self._consumer_is_new:
            propagate_consumer(self._call, self._key, self._group_name, self._consumer)

    def tell_position(self) -> None:
        """Tell the replicas the group's last id, which LASTID has moved while no XCLAIM carries it."""
        propagate_position(self._call, self._key, self._group_name, self._group)
        self._call.keyspace.dirty += 1

    def _tell_claim(self, entry_id: StreamId, pending: PendingEntry) -> None:
        """Propagate who has the entry now, as one XCLAIM."""
        propagate_claim(self._call, self._key, self._group_name, self._group, entry_id, pending)
        self._call.keyspace.dirty += 1
        self.has_told_position = True


@command("XCLAIM", arity=-6, flags=WRITE | FAST, keys=FIRST_ARG, group="stream", since="5.0.0")
def xclaim(call: Call, key: bytes, group_name: bytes, consumer: bytes, min_idle: bytes, *words: bytes) -> list[Reply]:
    """Take over pending entries by id, given that they have been idle long enough"""
    claims = _Claims(call, key, group_name, consumer)
    min_idle_ms = integer_argument(min_idle, "ERR Invalid min-idle-time argument for XCLAIM")
    ids: list[StreamId] = []
    for text in words:
        entry_id = parse_id(text)
        if entry_id is None:
            break
        ids.append(entry_id)
    terms = _ClaimOptions()
    terms.parse(words[len(ids) :], call.now_ms)
    call.propagate_nothing()
    group = claims.group
    advanced = terms.last_id > group.last_id
    if advanced:
        group.last_id = terms.last_id
    claims.add_consumer()
    for entry_id in ids:
        entry = claims.entry(entry_id)
        pending = group.pending.get(entry_id)
        if entry is None or (pending is None and not terms.force):
            continue
        if pending is None or claims.is_idle(pending, min_idle_ms):
            claims.take(entry, terms)
    if advanced and not claims.has_told_position:
        claims.tell_position()
    claims.tell_new_consumer()
    return claims.rows


@command("XAUTOCLAIM", arity=-6, flags=WRITE | FAST, keys=FIRST_ARG, group="stream", since="6.2.0")
def xautoclaim(
    call: Call, key: bytes, group_name: bytes, consumer: bytes, min_idle: bytes, start_text: bytes, *options: bytes
) -> list[Reply]:
    """Take over the pending entries from an id on that have been idle long enough: [next start, entries, gone ids]"""
    min_idle_ms = integer_argument(min_idle, "ERR Invalid min-idle-time argument for XAUTOCLAIM")
    start = range_start(start_text)
    terms = _ClaimOptions()
    count = _autoclaim_options(options, terms)
    claims = _Claims(call, key, group_name, consumer)
    call.propagate_nothing()
    claims.add_consumer()
    examined = list(islice(ids_from(claims.group, start), count * _ATTEMPTS_PER_CLAIM + 1))
    done = 0
    attempts = count * _ATTEMPTS_PER_CLAIM
    while done < len(examined) and done < attempts and count:
        entry_id = examined[done]
        done += 1
        entry = claims.entry(entry_id)
        if entry is None:
            count -= 1
        elif claims.is_idle(claims.group.pending[entry_id], min_idle_ms):
            claims.take(entry, terms)
            count -= 1
    claims.tell_new_consumer()
    cursor = examined[done] if done < len(examined) else FIRST_ID
    return [id_text(cursor), claims.rows, [id_text(entry_id) for entry_id in claims.gone]]


def _autoclaim_options(options: tuple[bytes, ...], terms: _ClaimOptions) -> int:
    """XAUTOCLAIM's COUNT, 1.._MAX_COUNT. JUSTID is noted in `terms`. Raises CommandError."""
    count = _DEFAULT_COUNT
    at = 0
    while at < len(options):
        word = options[at].upper()
        if word == b"COUNT" and at + 1 < len(options):
            count = ranged_integer_argument(options[at + 1], 1, _MAX_COUNT, "ERR COUNT must be > 0")
            at += 2
        elif word == b"JUSTID":
            terms.just_id = True
            at += 1
        else:
            raise syntax_error()
    return count
