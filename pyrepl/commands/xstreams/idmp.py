"""Messages that are added only once (Redis 8.6): XADD's options IDMP and IDMPAUTO, XCFGSET, XIDMPRECORD.

A producer that gets no reply cannot know whether its message was added, and sends it again. So it gives each message an
idempotency id (IDMP), or has it derived from the fields (IDMPAUTO). When the stream remembers that id, XADD adds no
entry and answers the id of the entry that is there. What a stream remembers, and for how long, is in `keyspace.idmp`.

Propagation is Redis 8.6.3's. A new entry goes out with the entry id that it got, and with its options
(`XADD s IDMP p i 1700000000000-0 f v`). A repeated message goes out as the client sent it, with `*`, so that the
replica's counters follow. The entry id tells the replica which of the two it is. It must not decide by what it
remembers itself, because its clock may let it forget an idempotency id earlier or later than its master.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.commands.engine.arguments import integer_argument, no_such_key, syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import DENYOOM, FAST, FIRST_ARG, WRITE, command
from pyrepl.commands.xstreams.ids import strict_id
from pyrepl.commands.xstreams.log import find
from pyrepl.errors import CommandError
from pyrepl.keyspace.idmp import count_duplicate, recall, remember, set_limits
from pyrepl.rdb.values import MAX_IDMP_DURATION_S, MAX_IDMP_MAX_ENTRIES, ZERO_ID, StreamId, StreamValue
from pyrepl.resp.reply import OK, Simple

_U64: Final = (1 << 64) - 1
"""The mask of an unsigned 64-bit number."""
_LIMITS: Final = {
    b"IDMP-DURATION": (MAX_IDMP_DURATION_S, "seconds"),
    b"IDMP-MAXSIZE": (MAX_IDMP_MAX_ENTRIES, "entries"),
}
"""Option of XCFGSET -> (its greatest value, inclusive, and the unit for the error text)."""


@final
class Idempotency:
    """The option IDMP or IDMPAUTO of one XADD: `producer` and `iid`, the idempotency id.

    `producer` is None when neither option is given. `iid` is None for IDMPAUTO, which derives it from the fields.
    """

    __slots__ = ("iid", "producer")

    def __init__(self) -> None:
        self.producer: bytes | None = None
        self.iid: bytes | None = None

    def take(self, words: tuple[bytes, ...], at: int) -> int:
        """Parse IDMP or IDMPAUTO at position `at` of `words`, and return the position after it; `at` for other words.

        Raises CommandError for an empty producer or idempotency id, and for a second such option.
        """
        word = words[at].upper()
        if word == b"IDMPAUTO" and at + 1 < len(words):
            self._take_producer("IDMPAUTO", words[at + 1])
            return at + 2
        if word == b"IDMP" and at + 2 < len(words):
            self._take_producer("IDMP", words[at + 1])
            if not words[at + 2]:
                raise CommandError("ERR syntax error, IDMP requires a non-empty idempotent ID")
            self.iid = words[at + 2]
            return at + 3
        return at

    def _take_producer(self, option: str, producer: bytes) -> None:
        if self.producer is not None:
            raise CommandError("ERR syntax error, IDMP/IDMPAUTO specified multiple times")
        if not producer:
            raise CommandError(f"ERR syntax error, {option} requires a non-empty producer ID")
        self.producer = producer

    def iid_of(self, fields: tuple[bytes, ...]) -> bytes:
        """The idempotency id of a message: the one given with IDMP, or the fingerprint of its fields."""
        return fingerprint(fields) if self.iid is None else self.iid


def not_with_an_id() -> CommandError:
    """The error for a client that gives an idempotency id and an entry id at once."""
    return CommandError("ERR syntax error, IDMP/IDMPAUTO can be used only with auto-generated IDs")


def known_entry(call: Call, key: bytes, stream: StreamValue | None, producer: bytes, iid: bytes) -> StreamId | None:
    """The id of the entry that a message sent with `*` has already made, or None when the message is new.

    A repeated message is counted, and propagated as it was sent. Our master sends `*` only for a message that it knew,
    so the message is a repeated one even when this node has forgotten it. The result is then ZERO_ID; nobody reads a
    reply to a master.
    """
    known = None if stream is None else recall(stream, producer, iid)
    if call.client.is_master_link and known is None:
        known = ZERO_ID
    if known is not None:
        if stream is not None:
            count_duplicate(call.db, key, stream)
        call.keyspace.dirty += 1
    return known


def fingerprint(fields: tuple[bytes, ...]) -> bytes:
    """The 16 bytes that IDMPAUTO uses as the idempotency id. The order of the field-value pairs does not matter.

    The rule is Redis 8.6.3's (`createIdempotencyHash`), as replicas of both kinds must agree. Each pair is hashed by
    XXH3-128: the field, the field's length in bytes (8 bytes, least significant first), the value. The two 64-bit
    halves of the hashes are summed and XORed over all pairs. Each half of the result is its sum, XORed with the other
    half's XOR rotated left by one bit.
    """
    from xxhash import xxh3_128_intdigest  # few streams ever need it

    sum_low = sum_high = xor_low = xor_high = 0
    for at in range(0, len(fields), 2):
        field = fields[at]
        digest = xxh3_128_intdigest(b"".join((field, len(field).to_bytes(8, "little"), fields[at + 1])))
        low, high = digest & _U64, digest >> 64
        sum_low, sum_high = sum_low + low & _U64, sum_high + high & _U64
        xor_low, xor_high = xor_low ^ low, xor_high ^ high
    low, high = sum_low ^ _rotated_left(xor_high), sum_high ^ _rotated_left(xor_low)
    return low.to_bytes(8, "little") + high.to_bytes(8, "little")


def _rotated_left(half: int) -> int:
    """An unsigned 64-bit number rotated left by one bit."""
    return (half << 1 | half >> 63) & _U64


@command("XCFGSET", arity=-2, flags=WRITE | FAST, keys=FIRST_ARG, group="stream", since="8.6.0")
def xcfgset(call: Call, key: bytes, *options: bytes) -> Simple:
    """Set how long, and how many, idempotency ids a stream keeps; other limits than before make it forget them

    This does not count as a change of the key for WATCH, as in Redis.
    """
    stream = call.db.find_as(StreamValue, key)
    if stream is None:
        raise no_such_key()
    limits: dict[bytes, int] = {}
    words = iter(options)
    for option in words:
        name = option.upper()
        text = next(words, None) if name in _LIMITS else None
        if text is None:
            raise syntax_error()
        if name in limits:
            raise CommandError(f"ERR {name.decode()} specified multiple times")
        most, unit = _LIMITS[name]
        limits[name] = integer_argument(text)
        if not 1 <= limits[name] <= most:
            raise CommandError(f"ERR {name.decode()} must be between 1 and {most} {unit}")
    if not limits:
        raise CommandError("ERR At least one parameter must be specified")
    if set_limits(call.db, key, stream, limits.get(b"IDMP-DURATION"), limits.get(b"IDMP-MAXSIZE")):
        call.keyspace.dirty += 1
    return OK


@command("XIDMPRECORD", arity=5, flags=WRITE | DENYOOM | FAST, keys=FIRST_ARG, group="stream", since="8.6.2")
def xidmprecord(call: Call, key: bytes, producer: bytes, iid: bytes, id_text: bytes) -> Simple:
    """Let an entry that is there have an idempotency id; for internal use: append-only files have it

    This does not count as a change of the key for WATCH, as in Redis.
    """
    entry_id = strict_id(id_text)
    if not producer:
        raise CommandError("ERR producer ID must be non-empty")
    if not iid:
        raise CommandError("ERR idempotent ID must be non-empty")
    stream = call.db.find_as(StreamValue, key)
    if stream is None:
        raise no_such_key()
    if find(stream, entry_id) is None:
        raise CommandError("ERR No such message in stream")
    known = recall(stream, producer, iid)
    if known is None:
        remember(call.db, key, stream, producer, iid, entry_id)
        call.keyspace.dirty += 1
    elif known != entry_id:
        raise CommandError("ERR IID already exists for this producer with a different stream ID")
    return OK
