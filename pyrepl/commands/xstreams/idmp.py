"""Messages that are added only once (Redis 8.6): XADD's options IDMP and IDMPAUTO, XCFGSET, XIDMPRECORD.

A producer names each message by an idempotency id, or lets it be worked out from the fields; what a stream has already
under that id is not added again, and XADD answers the id of before. What a stream remembers, and for how long, is
`keyspace.idmp`.

Propagation is Redis 8.6.3's: an entry with the id it got, its options kept (`XADD s IDMP p i 1700000000000-0 f v`); a
message that came again as it came, with `*`, for the counters. So a replica does what its master did, whatever it
remembers itself: its clock may have let it forget an idempotency id earlier or later than the master.
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
_LIMITS: Final = {
    b"IDMP-DURATION": (MAX_IDMP_DURATION_S, "seconds"),
    b"IDMP-MAXSIZE": (MAX_IDMP_MAX_ENTRIES, "entries"),
}


@final
class Idempotency:
    """The options IDMP and IDMPAUTO of one XADD. `producer` is None while neither was met; `iid` for IDMPAUTO."""

    __slots__ = ("iid", "producer")

    def __init__(self) -> None:
        self.producer: bytes | None = None
        self.iid: bytes | None = None

    def take(self, words: tuple[bytes, ...], at: int) -> int:
        """Parse the option at position `at`, if it is one; the position after it, or `at`."""
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
        """The idempotency id of a message."""
        return fingerprint(fields) if self.iid is None else self.iid


def not_with_an_id() -> CommandError:
    """For a client that gives the entry's id itself."""
    return CommandError("ERR syntax error, IDMP/IDMPAUTO can be used only with auto-generated IDs")


def known_entry(call: Call, key: bytes, stream: StreamValue | None, producer: bytes, iid: bytes) -> StreamId | None:
    """The entry that is there already for a message that comes with `*`; counted, and propagated as it came.

    From our master such a message is one that it had, even where we know no more of it; then ZERO_ID is the answer,
    which nobody reads.
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
    """The 16 bytes that IDMPAUTO takes for an idempotency id: the same for the same pairs, in whatever order.

    Redis 8.6.3 (`createIdempotencyHash`): XXH3-128 of field, its length (8 bytes, least significant first) and value;
    over the pairs, each half's sum, XORed with the other half's XOR turned left by a bit.
    """
    from xxhash import xxh3_128_intdigest  # few streams ever need it

    sum_low = sum_high = xor_low = xor_high = 0
    for at in range(0, len(fields), 2):
        field = fields[at]
        digest = xxh3_128_intdigest(b"".join((field, len(field).to_bytes(8, "little"), fields[at + 1])))
        low, high = digest & _U64, digest >> 64
        sum_low, sum_high = sum_low + low & _U64, sum_high + high & _U64
        xor_low, xor_high = xor_low ^ low, xor_high ^ high
    low, high = sum_low ^ _turned(xor_high), sum_high ^ _turned(xor_low)
    return low.to_bytes(8, "little") + high.to_bytes(8, "little")


def _turned(half: int) -> int:
    return (half << 1 | half >> 63) & _U64


@command("XCFGSET", arity=-2, flags=WRITE | FAST, keys=FIRST_ARG, group="stream", since="8.6.0")
def xcfgset(call: Call, key: bytes, *options: bytes) -> Simple:
    """Set how long, and how many, idempotency ids a stream keeps; other limits than before make it forget them

    No change of the key for WATCH, as in Redis.
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

    No change of the key for WATCH, as in Redis.
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
