"""JSON and MessagePack as tokens."""

from __future__ import annotations

import msgpack
import pytest

from pyrepl.scripting.decoding import DecodingError, decode_json, decode_msgpack


def test_json() -> None:
    tokens = decode_json(b'{"a":[1,null,true,"\\u00e9",1.5]}', 1000, True)
    assert tokens.kinds == b"ovavNtvv" and tokens.take() == (1, b"a", 5, 1, b"\xc3\xa9", 1.5)
    assert decode_json(b'"\xff\xfe"', 1000, True).take() == (b"\xff\xfe",)
    assert decode_json(b"1" + b"0" * 400, 1000, True).take() == (float("inf"),)
    assert decode_json(b"NaN", 10, True).kinds == b"v"


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[1,", b"[1 2]", b'{"a" 1}', b"{1:2}", b"1 2", b"nul", b'"\\ud800"', b"[" * 5000]
)
def test_what_is_no_json(text: bytes) -> None:
    with pytest.raises(DecodingError):
        decode_json(text, 1000, True)


def test_limits_of_json() -> None:
    with pytest.raises(DecodingError, match="nested"):
        decode_json(b"[[[1]]]", 2, True)
    with pytest.raises(DecodingError, match="number"):
        decode_json(b"NaN", 1000, False)
    assert decode_json(b"[[1]]", 2, True).kinds == b"aav"


def test_msgpack() -> None:
    data = msgpack.packb([1, None]) + msgpack.packb({b"k": 2.5}) + b"\x05"
    tokens = decode_msgpack(data, 0, 0)
    assert tokens.kinds == b"avavnovvvv" and tokens.take() == (5, 3, 2, 1, 1, b"k", 2.5, 5, -1)
    assert decode_msgpack(data, 1, 0).take() == (3, 1, 2, 1, 3)
    assert decode_msgpack(data, 1, len(data) - 1).take() == (3, 1, 5, -1)
    assert decode_msgpack(b"", 0, 0).take() == (2, 0, -1)


@pytest.mark.parametrize(
    ("data", "most", "offset"),
    [
        (b"\x91", 0, 0),
        (b"\xc1", 0, 0),
        (b"\xd4\1x", 0, 0),
        (b"a", 0, 5),
        (b"a", -1, 0),
        (b"\x91" * 9000, 0, 0),
        (b"\xdd\xff\xff\xff\xff", 0, 0),
    ],
)
def test_what_is_no_msgpack(data: bytes, most: int, offset: int) -> None:
    with pytest.raises(DecodingError):
        decode_msgpack(data, most, offset)
