"""Sorted sets: member by member with a score as text or binary, or member, score, ... in one ziplist or listpack.

| type | since | the value's bytes |
|---|---|---|
| 3 | 1 | count, then each member and its score: length and text, or 253 nan, 254 inf, 255 -inf |
| 5 | 8 | count, then each member and its score: 8 bytes, least significant first |
| 12 | 1 | a string: ziplist, ascending by (score, member) |
| 17 | 10 | a string: listpack, ascending by (score, member) |
"""

from __future__ import annotations

from struct import Struct
from typing import Final, final

from pyrepl.rdb.cursor import Cursor, Malformed
from pyrepl.rdb.length import decode_count, encode_length
from pyrepl.rdb.packed.listpack import decode_listpack, encode_entry, join_entries
from pyrepl.rdb.packed.ziplist import decode_ziplist
from pyrepl.rdb.strings import decode_string
from pyrepl.rdb.types.row import Decode, Encoded, Form, ValueType
from pyrepl.rdb.versions import LISTPACKS, both

ZSET: Final = 3
ZSET2: Final = 5
ZSET_ZIPLIST: Final = 12
ZSET_LISTPACK: Final = 17

_BINARY_VERSIONS: Final = both(8)

_NAN: Final = 253
_INF: Final = 254
_MINUS_INF: Final = 255
_INFINITY: Final = float("inf")

_INTEGRAL_BOUND: Final = 2.0**52
"""Redis writes an integral score within this bound as an integer (d2string, 7.0)."""

_F64: Final = Struct("<d")


@final
class _ZsetDecoder:
    """Member by member; `kind` says how the scores are written."""

    __slots__ = ("count", "kind", "left", "scores")

    def __init__(self, kind: int) -> None:
        self.kind = kind
        self.count = -1
        self.left = 0
        self.scores: dict[bytes, float] = {}

    def decode(self, cursor: Cursor) -> object:
        if self.count < 0:
            self.left = self.count = decode_count(cursor)
            cursor.commit()
        scores = self.scores
        binary = self.kind == ZSET2
        while self.left > 0:
            member = decode_string(cursor)
            if binary:
                score: float = _F64.unpack_from(cursor.buf, cursor.advance(8))[0]
            else:
                score = _decode_score_text(cursor)
            if score != score:
                raise _not_a_number()
            scores[member] = score
            cursor.commit()
            self.left -= 1
        if len(scores) != self.count:
            raise _duplicate()
        return scores


def _decode_score_text(cursor: Cursor) -> float:
    size = cursor.byte()
    if size == _INF:
        return _INFINITY
    if size == _MINUS_INF:
        return -_INFINITY
    if size == _NAN:
        raise _not_a_number()
    return parse_score(cursor.take(size))


def parse_score(text: bytes) -> float:
    """The score that `text` names, nan excluded. Raises Malformed."""
    try:
        score = float(text)
    except ValueError:
        raise Malformed(f"Zset score {text[:40]!r} is no number") from None
    if score != score:
        raise _not_a_number()
    return score


def _decode_zset_ziplist(cursor: Cursor) -> object:
    return _pair_up(decode_ziplist(decode_string(cursor)))


def _decode_zset_listpack(cursor: Cursor) -> object:
    return _pair_up(decode_listpack(decode_string(cursor)))


def _pair_up(elements: list[bytes]) -> dict[bytes, float]:
    if len(elements) & 1:
        raise Malformed(f"Zset: a member without score, {len(elements)} elements")
    scores: dict[bytes, float] = {}
    for at in range(0, len(elements), 2):
        scores[elements[at]] = parse_score(elements[at + 1])
    if len(scores) * 2 != len(elements):
        raise _duplicate()
    return scores


def _duplicate() -> Malformed:
    return Malformed("Duplicate zset fields detected")


def _not_a_number() -> Malformed:
    return Malformed("Zset with NAN score detected")


def encode_zset(scores: dict[bytes, float], form: Form) -> Encoded:
    """A listpack if the sorted set is small and the version has listpacks, else member by member, with binary scores if
    the version has them."""
    packing = form.packing
    count = len(scores)
    if (
        form.version in LISTPACKS
        and count <= packing.zset_max_listpack_entries
        and max(map(len, scores), default=0) <= packing.zset_max_listpack_value
    ):
        return ZSET_LISTPACK, form.text(_encode_listpack(scores))
    out = bytearray(encode_length(count))
    text = form.text
    if form.version in _BINARY_VERSIONS:
        for member, score in scores.items():
            out += text(member)
            out += _F64.pack(score)
        return ZSET2, bytes(out)
    for member, score in scores.items():
        out += text(member)
        out += _encode_score_text(score)
    return ZSET, bytes(out)


def _encode_listpack(scores: dict[bytes, float]) -> bytes:
    # Redis keeps a listpack as it comes, so the order of the members is part of the data.
    entries: list[bytes] = []
    for score, member in sorted([(score, member) for member, score in scores.items()]):
        entries.append(encode_entry(member))
        entries.append(encode_entry(format_score(score)))
    return join_entries(entries)


def _encode_score_text(score: float) -> bytes:
    if score == _INFINITY:
        return bytes((_INF,))
    if score == -_INFINITY:
        return bytes((_MINUS_INF,))
    text = format_score(score)
    return bytes((len(text),)) + text


def format_score(score: float) -> bytes:
    """The shortest text that reads back as `score`."""
    if -_INTEGRAL_BOUND < score < _INTEGRAL_BOUND and score == int(score) and score != 0:
        return b"%d" % int(score)
    if score == 0:
        return b"-0" if str(score)[0] == "-" else b"0"
    return repr(score).encode()


def _start_plain() -> Decode:
    return _ZsetDecoder(ZSET).decode


def _start_binary() -> Decode:
    return _ZsetDecoder(ZSET2).decode


def _start_ziplist() -> Decode:
    return _decode_zset_ziplist


def _start_listpack() -> Decode:
    return _decode_zset_listpack


ROWS: Final[tuple[ValueType, ...]] = (
    ValueType(ZSET, "zset-v1", both(1), _start_plain),
    ValueType(ZSET2, "zset-v2", _BINARY_VERSIONS, _start_binary),
    ValueType(ZSET_ZIPLIST, "zset-ziplist", both(1), _start_ziplist),
    ValueType(ZSET_LISTPACK, "zset-listpack", LISTPACKS, _start_listpack),
)
