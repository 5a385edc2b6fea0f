"""Hashes: old encodings by hand, field expiries in every vendor's form."""

from __future__ import annotations

import struct

import pytest

from pyrepl.errors import CorruptData
from pyrepl.rdb.cursor import Cursor
from pyrepl.rdb.packed.listpack import decode_listpack, encode_listpack
from pyrepl.rdb.settings import PackingSettings
from pyrepl.rdb.strings import decode_string
from pyrepl.rdb.types.hash import encode_hash, encode_hash_with_ttls
from pyrepl.rdb.types.row import CannotHold, Form
from pyrepl.rdb.values import HashWithTtls
from pyrepl.rdb.versions import numbered
from tests.unit.rdb.loading import load
from tests.unit.rdb.old_encodings import key, snapshot, text, ziplist, zipmap

SMALL = HashWithTtls({b"a": b"1", b"b": b"x", b"c": b""}, {b"b": 2000, b"c": 1000})


def value_of(version: int, kind: int, data: bytes) -> object:
    magic = b"VALKEY080" if version == 80 else None
    return load(snapshot(version, key(kind, b"k", data), magic)).values[0][b"k"]


def test_old_encodings() -> None:
    assert value_of(1, 4, b"\x02\x01f\x01v\xc0\x07\xc0\x08") == {b"f": b"v", b"7": b"8"}
    assert value_of(2, 9, text(zipmap([(b"f", b"v"), (b"g", b"w" * 300)], 2))) == {b"f": b"v", b"g": b"w" * 300}
    assert value_of(6, 13, text(ziplist([b"f", b"v", 7, -300]))) == {b"f": b"v", b"7": b"-300"}


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({b"x" * 64: b"y" * 64}, 16),
        ({b"x" * 65: b""}, 4),
        ({b"": b"y" * 65}, 4),
        ({b"%d" % i: b"" for i in range(512)}, 16),
        ({b"%d" % i: b"" for i in range(513)}, 4),
    ],
)
def test_choice(fields: dict[bytes, bytes], kind: int) -> None:
    written, body = encode_hash(fields, Form(numbered(10)))
    assert written == kind
    assert value_of(10, written, body) == fields
    assert encode_hash(fields, Form(numbered(9)))[0] == 4


@pytest.mark.parametrize(("version", "entries", "kind"), [(12, 512, 25), (12, 2, 24), (80, 512, 22)])
def test_field_expiries(version: int, entries: int, kind: int) -> None:
    form = Form(numbered(version), packing=PackingSettings(hash_max_listpack_entries=entries))
    written, body = encode_hash_with_ttls(SMALL, form)
    assert written == kind
    assert value_of(version, written, body) == SMALL


def test_the_listpack_with_expiries_is_in_their_order() -> None:
    _, body = encode_hash_with_ttls(SMALL, Form(numbered(12)))
    assert body[:8] == struct.pack("<q", 1000)
    cursor = Cursor(1 << 20, 100)
    cursor.load(body[8:])
    assert decode_listpack(decode_string(cursor)) == [b"c", b"", b"1000", b"b", b"x", b"2000", b"a", b"1", b"0"]


def test_pre_release_forms() -> None:
    assert value_of(12, 22, b"\x02\x43\xe8\x01f\x01v\x00\x01g\x01w") == HashWithTtls(
        {b"f": b"v", b"g": b"w"}, {b"f": 1000}
    )
    packed = text(encode_listpack([b"f", b"v", b"1000", b"g", b"w", b"0"]))
    assert value_of(12, 23, packed) == HashWithTtls({b"f": b"v", b"g": b"w"}, {b"f": 1000})


def test_without_expiries_it_is_a_plain_hash() -> None:
    assert value_of(12, 24, bytes(8) + b"\x01\x00\x01f\x01v") == {b"f": b"v"}
    assert value_of(80, 22, b"\x01\x01f\x01v" + b"\xff" * 8) == {b"f": b"v"}
    assert encode_hash_with_ttls(HashWithTtls({b"f": b"v"}, {}), Form(numbered(10)))[0] == 16


@pytest.mark.parametrize("version", [1, 10, 11])
def test_a_version_without_them_says_so(version: int) -> None:
    with pytest.raises(CannotHold, match=f"12 or 80, not {version}: 2 of its 3 fields expire"):
        encode_hash_with_ttls(SMALL, Form(numbered(version)))


@pytest.mark.parametrize(
    ("version", "kind", "data", "message"),
    [
        (10, 4, b"\x02\x01f\x01v\x01f\x01w", "Duplicate hash fields"),
        (2, 9, text(zipmap([(b"f", b"v"), (b"f", b"w")])), "Duplicate hash fields"),
        (6, 13, text(ziplist([b"f"])), "a field without value"),
        (10, 16, text(encode_listpack([b"f", b"v", b"f", b"w"])), "Duplicate hash fields"),
        (12, 24, bytes(8) + b"\x02\x00\x01f\x01v\x00\x01f\x01w", "Duplicate hash fields"),
        (12, 24, b"\xff" * 8 + b"\x01\x00\x01f\x01v", "Hash field expiry -1"),
        (12, 24, struct.pack("<q", 1 << 48) + b"\x01\x00\x01f\x01v", "Hash field expiry"),
        (12, 24, bytes(8) + b"\x01\x81" + b"\xff" * 8 + b"\x01f\x01v", "Hash field expiry"),
        (12, 25, bytes(8) + text(encode_listpack([b"f", b"v"])), "a multiple of 3"),
        (12, 25, bytes(8) + text(encode_listpack([b"f", b"v", b"x"])), "Hash field expiry b'x'"),
        (12, 25, bytes(8) + text(encode_listpack([b"f", b"v", b"-5"])), "Hash field expiry b'-5'"),
        (12, 25, bytes(8) + text(encode_listpack([b"f", b"v", b"5", b"f", b"v", b"5"])), "Duplicate hash fields"),
        (80, 22, b"\x01\x01f\x01v" + struct.pack("<q", -2), "Hash field expiry -2"),
    ],
)
def test_refused(version: int, kind: int, data: bytes, message: str) -> None:
    with pytest.raises(CorruptData, match=message):
        value_of(version, kind, data)
