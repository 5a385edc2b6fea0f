"""DEBUG DIGEST and DEBUG DIGEST-VALUE: 160 bits that are the same for the same data, here and on any Redis.

The rule is Redis's (`debug.c`), built on two operations on a digest of 20 bytes, which begins as zeros:

    xor(d, bytes) = d ^ SHA1(bytes)               order does not matter
    mix(d, bytes) = SHA1(xor(d, bytes))           order matters

| what | digest |
|---|---|
| value | mix(type number); string: mix it; list: mix each; set: xor each; hash, sorted set: xor a digest of each pair |
| stream | for each entry mix `ms.seq`, then each field and each value |
| vector set | xor one digest of all: xor mixed counts of elements and dimensions, xor each mixed element |
| pair | mix field, mix content (a score as text); a field with a time to live (Redis 7.4): xor `!!hexpire!!` |
| time to live | xor `!!expire!!`, whenever it is |
| key | mix its name, then its value's operations; the database's digest xors the key's digest |
| databases | mix the number of each that is not empty (32 bits, big-endian), then its keys |

A score enters as the shortest text that reads back as the same number (Redis 8.2, Valkey 8.0); Redis 7.0 used `%.17g`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final, final

from pyrepl.keyspace.database import Database, Keyspace
from pyrepl.keyspace.packed import Packed
from pyrepl.keyspace.values import HashValue, ListValue, SetValue, Value, ZsetValue
from pyrepl.rdb.values import StreamValue
from pyrepl.rdb.vectors import VectorSetValue
from pyrepl.resp.doubles import format_double
from pyrepl.store.key_round import KeyRound

_EMPTY: Final = hashlib.sha1(usedforsecurity=False)
_SIZE: Final = 20
_ORDER: Final = "big"
_TYPE_NUMBERS: Final = {
    bytes: 0,
    ListValue: 1,
    SetValue: 2,
    ZsetValue: 3,
    HashValue: 4,
    VectorSetValue: 5,
    StreamValue: 6,
}
_PLAIN_ZEROS: Final = 7
"""An integral score that ends in more zeros is written with an exponent."""

ScoreText = Callable[[float], bytes]


def _sha1(data: bytes) -> int:
    hashed = _EMPTY.copy()  # faster than a new one
    hashed.update(data)
    return int.from_bytes(hashed.digest(), _ORDER)


def _mix(digest: int, data: bytes) -> int:
    return _sha1((digest ^ _sha1(data)).to_bytes(_SIZE, _ORDER))


def _hex(digest: int) -> str:
    return f"{digest:040x}"


def score_text(score: float) -> bytes:
    """A score as Redis 8.2 mixes it: as it prints doubles, but an integer with many zeros at its end as `1.23e+10`."""
    if not float(score).is_integer():
        return format_double(score)
    mantissa, _, exponent = f"{score!r}".partition("e")
    whole = mantissa.removesuffix(".0") if not exponent else ""
    if not exponent and len(whole) - len(whole.rstrip("0")) <= _PLAIN_ZEROS:
        return whole.encode()
    digits = mantissa.replace(".", "") if exponent else whole
    sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
    power = int(exponent) if exponent else len(digits) - 1
    digits = digits.rstrip("0")
    zeros = power + 1 - len(digits)
    if zeros <= _PLAIN_ZEROS:
        return f"{sign}{digits}{'0' * zeros}".encode()
    point = "." if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{point}{digits[1:]}e+{power}".encode()


def old_score_text(score: float) -> bytes:
    """A score as Redis 7.0 mixes it."""
    return b"%.17g" % score


def value_digest(value: Value, *, expires: bool, digest: int = 0, score: ScoreText = score_text) -> int:
    """Mix a value into a digest. `expires` says whether the value's key has a time to live."""
    digest = _mix(digest, _TYPE_NUMBERS[type(value)].to_bytes(4, _ORDER))
    if isinstance(value, bytes):
        digest = _mix(digest, value)
    elif isinstance(value, ListValue):
        for item in value.items:
            digest = _mix(digest, item)
    elif isinstance(value, SetValue):
        for member in value.members:
            digest ^= _sha1(member)
    elif isinstance(value, HashValue):
        digest ^= _hash_digest(value)
    elif isinstance(value, ZsetValue):
        for member, number in value.scores.items():
            digest ^= _pair_digest(member, score(number))
    elif isinstance(value, VectorSetValue):
        digest ^= _vector_set_digest(value)
    else:
        digest = _stream_digest(value, digest)
    return digest ^ _sha1(b"!!expire!!") if expires else digest


def _pair_digest(first: bytes, second: bytes) -> int:
    return _sha1(_mix(_mix(0, first), second).to_bytes(_SIZE, _ORDER))


def _hash_digest(value: HashValue) -> int:
    volatile = value.expires or {}
    mark = _sha1(b"!!hexpire!!")
    digest = 0
    for field, content in value.fields.items():
        pair = _mix(_mix(0, field), content)
        if field in volatile:
            pair ^= mark
        digest ^= _sha1(pair.to_bytes(_SIZE, _ORDER))
    return digest


def _stream_digest(value: StreamValue, digest: int) -> int:
    for (ms, sequence), parts in value.entries:
        digest = _mix(digest, b"%d.%d" % (ms, sequence))
        for part in parts:
            digest = _mix(digest, part)
    return digest


def _vector_set_digest(value: VectorSetValue) -> int:
    """As the module API has it: a mixed sequence is xored into a digest of its own, and that into the value's."""
    digest = _xored(_mix(_mix(0, b"%d" % len(value)), b"%d" % value.dim))
    for node in value.nodes.values():
        mixed = _mix(_mix(0, node.vector), node.name)
        if node.attributes is not None:
            mixed = _mix(mixed, node.attributes)
        digest ^= _xored(mixed)
    return _xored(digest)


def _xored(digest: int) -> int:
    return _sha1(digest.to_bytes(_SIZE, _ORDER))


def key_digest(db: Database, key: bytes) -> str:
    """DEBUG DIGEST-VALUE: 40 hex digits for the value of a key, expired or not; zeros when there is none."""
    value = db.store.get(key)
    if isinstance(value, Packed):
        value = value.unpack()
    return _hex(0 if value is None else value_digest(value, expires=db.expiry_of(key) is not None))


@final
class KeyspaceDigest:
    """DEBUG DIGEST in slices: `step` until it is `done`, then `hex`.

    The result is the digest of one moment only if no key changes before `done`. Keys that are deleted before their
    turn are left out, and new keys may be missed.
    """

    __slots__ = ("_digest", "_keys", "_keyspace", "_next_db", "_score", "done")

    def __init__(self, keyspace: Keyspace, score: ScoreText = score_text) -> None:
        self._keyspace = keyspace
        self._score = score
        self._next_db = 0
        self._keys: KeyRound | None = None
        self._digest = 0
        self.done = False

    @property
    def hex(self) -> str:
        """The digest, 40 hex digits; before `done` it covers only the keys that `step` has looked at."""
        return _hex(self._digest)

    def step(self, max_keys: int) -> None:
        """Look at up to `max_keys` keys, which is at least 1."""
        assert max_keys > 0 and not self.done
        while max_keys:
            if self._keys is None and not self._begin_database():
                self.done = True
                return
            assert self._keys is not None
            taken = self._keys.take(max_keys)
            if not taken:
                self._keys = None
                continue
            max_keys -= len(taken)
            self._add(self._keyspace.databases[self._next_db - 1], taken)

    def _begin_database(self) -> bool:
        while self._next_db < len(self._keyspace.databases):
            db = self._keyspace.databases[self._next_db]
            self._next_db += 1
            if db.key_count:
                self._digest = _mix(self._digest, db.index.to_bytes(4, _ORDER))
                self._keys = db.key_round()
                return True
        return False

    def _add(self, db: Database, keys: list[bytes]) -> None:
        for key in keys:
            value = db.store.get(key)
            if value is not None:
                if isinstance(value, Packed):
                    value = value.unpack()
                digest = value_digest(
                    value, expires=db.expiry_of(key) is not None, digest=_mix(0, key), score=self._score
                )
                self._digest ^= _sha1(digest.to_bytes(_SIZE, _ORDER))


def keyspace_digest(keyspace: Keyspace, *, old_scores: bool = False) -> str:
    """DEBUG DIGEST at once: 40 hex digits. `old_scores` computes what Redis 7.0 would print."""
    running = KeyspaceDigest(keyspace, old_score_text if old_scores else score_text)
    while not running.done:
        running.step(1 << 20)
    return running.hex
