"""Sorted sets: scores in every form, order, choice of encoding."""

from __future__ import annotations

import math
import struct

import pytest

from pyrepl.errors import CorruptData
from pyrepl.rdb.cursor import Cursor
from pyrepl.rdb.packed.listpack import decode_listpack, encode_listpack
from pyrepl.rdb.strings import decode_string
from pyrepl.rdb.types.row import Form
from pyrepl.rdb.types.zset import encode_zset, format_score, parse_score
from pyrepl.rdb.versions import numbered
from tests.unit.rdb.loading import load
from tests.unit.rdb.old_encodings import key, snapshot, text, ziplist

INF = float("inf")
SCORES = (0.0, -0.0, 1.0, -1.0, 0.1, 1 / 7, 1e-320, 1e300, -(2.0**52), 2.0**53, 2.0**63, 123456789.12345679, INF, -INF)


def value_of(version: int, kind: int, data: bytes) -> object:
    return load(snapshot(version, key(kind, b"k", data))).values[0][b"k"]


def test_old_encodings() -> None:
    plain = b"\x04\x01a\x031.5\x01b\xfe\x01c\xff\x01d\x05-1e-3"
    assert value_of(1, 3, plain) == {b"a": 1.5, b"b": INF, b"c": -INF, b"d": -0.001}
    packed = text(ziplist([b"a", -3, b"b", 0, b"c", b"0.25"]))
    assert value_of(6, 12, packed) == {b"a": -3.0, b"b": 0.0, b"c": 0.25}


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("version", [7, 8, 10])
def test_scores_in_every_form(score: float, version: int) -> None:
    kind, body = encode_zset({b"m": score}, Form(numbered(version)))
    assert kind == {7: 3, 8: 5, 10: 17}[version]
    value = value_of(10, kind, body)
    assert isinstance(value, dict)
    assert struct.pack("<d", value[b"m"]) == struct.pack("<d", score)


def test_text_of_scores() -> None:
    assert [format_score(score) for score in (3.0, -0.0, 0.0, 0.1, INF, 1e100)] == [
        b"3",
        b"-0",
        b"0",
        b"0.1",
        b"inf",
        b"1e+100",
    ]
    assert parse_score(b"-inf") == -INF
    assert math.copysign(1, parse_score(b"-0")) == -1


def test_a_listpack_is_in_order() -> None:
    scores = {b"z": 1.0, b"a": 2.0, b"b": 1.0, b"y": -INF, b"x": INF}
    kind, body = encode_zset(scores, Form(numbered(10)))
    cursor = Cursor(1 << 20, 100)
    cursor.load(body)
    assert kind == 17
    assert decode_listpack(decode_string(cursor))[::2] == [b"y", b"b", b"z", b"a", b"x"]


@pytest.mark.parametrize(
    ("scores", "kind"),
    [
        ({b"x" * 64: 1.0}, 17),
        ({b"x" * 65: 1.0}, 5),
        ({b"%d" % i: 1.0 for i in range(128)}, 17),
        ({b"%d" % i: 1.0 for i in range(129)}, 5),
    ],
)
def test_choice(scores: dict[bytes, float], kind: int) -> None:
    written, body = encode_zset(scores, Form(numbered(10)))
    assert written == kind
    assert value_of(10, written, body) == scores


@pytest.mark.parametrize(
    ("kind", "data", "message"),
    [
        (3, b"\x01\x01a\xfd", "Zset with NAN score detected"),
        (3, b"\x01\x01a\x03nan", "Zset with NAN score detected"),
        (3, b"\x01\x01a\x03abc", "Zset score b'abc' is no number"),
        (3, b"\x01\x01a\x00", "Zset score b'' is no number"),
        (5, b"\x01\x01a" + struct.pack("<d", float("nan")), "Zset with NAN score detected"),
        (5, b"\x02" + (b"\x01a" + bytes(8)) * 2, "Duplicate zset fields"),
        (12, text(ziplist([b"a"])), "a member without score"),
        (17, text(encode_listpack([b"a", b"1", b"a", b"2"])), "Duplicate zset fields"),
        (17, text(encode_listpack([b"a", b"x"])), "is no number"),
    ],
)
def test_refused(kind: int, data: bytes, message: str) -> None:
    with pytest.raises(CorruptData, match=message):
        value_of(10, kind, data)
