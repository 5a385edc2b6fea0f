"""DUMP and RESTORE payloads: byte for byte those of Redis 7.0, and its two errors."""

from __future__ import annotations

import struct

import pytest
from anycrc import Model

from pyrepl.errors import CommandError
from pyrepl.rdb.payload import decode_payload, encode_payload
from pyrepl.rdb.reader import RdbLimits
from pyrepl.rdb.types.row import CannotHold, Form
from pyrepl.rdb.values import HashWithTtls, StreamValue
from pyrepl.rdb.versions import Vendor, newest, numbered

# What DUMP answers in Redis 7.0.15.
CAPTURED = [
    ([b"a", b"1", b"-70000"], "120102111100000003008161020101f290eefe04ff0a0018418e56c0405984"),
    ({b"1", b"-2"}, "0b0c0200000002000000feff01000a00196e77405441b953"),
    ({b"a": 1.5, b"b": -3.0}, "1115150000000400816202dffd0281610283312e3504ff0a005007ba517f3890cd"),
    ({b"f": b"v", b"n": b"300"}, "1013130000000400816602817602816e02c12c02ff0a00b4bc2f6c5b5cb139"),
    (
        StreamValue([((5, 1), (b"a", b"1"))], last_id=(5, 1), first_id=(5, 1), entries_added=1),
        "130110000000000000000500000000000000011c1c0000000a00010100010101816102000102010001000101010401ff"
        "0105010501000001000a00b7f946367c1f2f5f",
    ),
    (b"-300", "00c1d4fe0a00c6c48623febede2e"),
    (b"hello", "000568656c6c6f0a006372df766534200a"),
    (b"", "00000a005d9b5c400f7fa2da"),
]


@pytest.mark.parametrize(("value", "captured"), CAPTURED)
def test_as_redis_dumps_it(value: object, captured: str) -> None:
    payload = bytes.fromhex(captured)
    assert encode_payload(value, Form(numbered(10))) == payload
    assert decode_payload(payload) == value


def sealed(body: bytes, version: int = 10) -> bytes:
    data = body + struct.pack("<H", version)
    return data + struct.pack("<Q", Model("CRC64-REDIS").calc(data))


def refusal(payload: bytes, limits: RdbLimits | None = None) -> str:
    with pytest.raises(CommandError) as caught:
        decode_payload(payload, limits or RdbLimits())
    return str(caught.value)


def test_trailer_refused() -> None:
    good = sealed(b"\x00\x05hello")
    expected = "ERR DUMP payload version or checksum are wrong"
    assert decode_payload(good) == b"hello"
    for bad in (b"", b"123456789", good[2:], good + b"x", b"\x00\x05jello" + good[7:]):
        assert refusal(bad) == expected
    for version in (0, newest(Vendor.REDIS).number + 1, 79, 81, 65535):
        assert refusal(sealed(b"\x00\x05hello", version)) == expected


def test_checksum_can_be_left_unchecked() -> None:
    good = sealed(b"\x00\x05hello")
    assert decode_payload(b"\x00\x05jello" + good[7:], RdbLimits(verify_checksum=False)) == b"jello"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x00",
        b"\x00\x05hell",
        b"\x00\x05hello!",
        b"\x08\x01a",
        b"\xff",
        b"\x01\x00",
        b"\x02\x02\x01a\x01a",
        b"\x0b\x03abc",
        b"\x04\xc0",
        b"\x06\x00",
        b"\x07\x00\x00",
        b"\x14\x00",
    ],
)
def test_body_refused(body: bytes) -> None:
    assert refusal(sealed(body)) == "ERR Bad data format"


def test_relaxed_tries_what_is_newer() -> None:
    relaxed = RdbLimits(relaxed=True)
    for version in (14, 79, 81, 1000, 65535):
        assert decode_payload(sealed(b"\x00\x05hello", version), relaxed) == b"hello"
        assert refusal(sealed(b"\x1b\x05hello", version), relaxed) == "ERR Bad data format"
    assert refusal(sealed(b"\x00\x05hello", 0), relaxed) == "ERR DUMP payload version or checksum are wrong"


def test_metadata_before_the_type() -> None:
    """As Redis 8.6.3 dumps a string of which two modules keep something."""
    meta = "f5c428050568656c6c6f0201030000c03f05c30f16043078612e61e00300043965702d3500"
    meta2 = "18f6c4280505776f726c640201030000c03f05c30f16043078612e61e00300043965702d3500"
    body = bytes.fromhex("f30209" + meta + meta2 + "000176")
    assert sealed(body, 13).hex().endswith("0d000c5db4041447cd2a")
    assert decode_payload(sealed(body, 13)) == b"v"
    assert refusal(sealed(body, 12)) == "ERR Bad data format"
    assert refusal(sealed(body, 80)) == "ERR Bad data format"
    assert refusal(sealed(b"\xf3\x08" + body[2:], 13)) == "ERR Bad data format"


def test_vendors_are_told_apart_by_version() -> None:
    value = HashWithTtls({b"f": b"v", b"g": b"w"}, {b"f": 4102444800123})
    redis_payload = encode_payload(value, Form(numbered(12)))
    valkey_payload = encode_payload(value, Form(numbered(80)))
    assert redis_payload[0] == 25
    assert valkey_payload[0] == 22
    assert decode_payload(redis_payload) == decode_payload(valkey_payload) == value
    with pytest.raises(CannotHold, match="12 or 80, not 11"):
        encode_payload(value, Form(numbered(11)))
