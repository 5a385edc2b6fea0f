"""Vector sets in snapshots: payloads of real servers, what is written is read, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from pyrepl.errors import CommandError
from pyrepl.rdb.checksum import crc64
from pyrepl.rdb.cursor import Cursor, Malformed
from pyrepl.rdb.length import encode_length
from pyrepl.rdb.payload import decode_payload
from pyrepl.rdb.strings import encode_string
from pyrepl.rdb.types.items import END_BYTE, encode_text, encode_unsigned
from pyrepl.rdb.types.module import module_name
from pyrepl.rdb.types.row import CannotHold, Form
from pyrepl.rdb.types.vectorset import MODULE, MODULE_ID, VectorSetDecoder, encode_vector_set
from pyrepl.rdb.vectors import BIN, NO_QUANT, Q8, Projection, VectorNode, VectorSetValue
from pyrepl.rdb.versions import Vendor, newest, numbered

OF_REDIS_8_2: Final = (
    b"\x07\x81\xbd\xe7-\xa2\xbb\x1e\xb4\x00\x02\x03\x02\x02\x02P\x01\x02\x02\x05\x01b\x05\x00\x05\x03*U\x7f\x02\x07\x02"
    b"\x03\x02\x80\x01\x00\x00\x00\x02\x01\x02 \x02\x02\x02\x81>\x92\xdc\x02\x00\x00\x00\x00\x02\x81?MA\xb2@owQ\x05"
    b'\x01a\x05\x07{"x":1}\x05\x03\x7fU*\x02\x07\x02\x02\x02\x80\x01\x00\x00\x00\x02\x01\x02 \x02\x03\x02\x81>\x92'
    b"\xdc\x02\x00\x00\x00\x00\x02\x81?MA\xb2@owQ\x00\x0c\x00nCM\xf7\xdb\xdb\x84\xd0"
)
"""DUMP of: VADD k VALUES 3 3 2 1 a SETATTR {"x":1}, VADD k VALUES 3 1 2 3 b; `a` had been there before."""

L2: Final = 3.7416574954986572
RANGE: Final = 0.8017836809158325


def linked(dim: int = 3, quant: int = Q8, projection: Projection | None = None) -> VectorSetValue:
    value = VectorSetValue(dim, quant, 16, projection)
    size = value.vector_bytes
    value.add(VectorNode(b"a", 2, b"\x01" * size, 1.5, 0.5 if quant == Q8 else 0.0, [[3]], b'{"x":1}'))
    value.add(VectorNode(b"b", 3, b"\x02" * size, 2.5, 0.25 if quant == Q8 else 0.0, [[2], []]))
    return value


def decoded(body: bytes) -> object:
    cursor = Cursor(1 << 20, 1 << 20, len(body))
    cursor.load(body)
    value = VectorSetDecoder().decode(cursor)
    assert cursor.pos == len(body)
    return value


def test_a_payload_of_redis() -> None:
    value = decode_payload(OF_REDIS_8_2)
    assert isinstance(value, VectorSetValue)
    wanted = VectorSetValue(3, Q8)
    wanted.add(VectorNode(b"a", 2, b"\x7fU*", L2, RANGE, [[3]], b'{"x":1}'))
    wanted.add(VectorNode(b"b", 3, b"*U\x7f", L2, RANGE, [[2]]))
    assert value == wanted
    assert list(value.nodes) == [b"a", b"b"]


def test_the_name_of_the_module() -> None:
    assert module_name(MODULE_ID) == "vectorset"


@pytest.mark.parametrize(
    "value",
    [
        linked(),
        linked(5, NO_QUANT),
        linked(70, BIN),
        linked(2, Q8, Projection(3, bytes(24))),
    ],
    ids=["q8", "f32", "bin", "projection"],
)
def test_what_is_written_is_read(value: VectorSetValue) -> None:
    kind, body = encode_vector_set(value, Form())
    assert kind == MODULE
    assert body.startswith(encode_length(MODULE_ID))
    read = decoded(body[len(encode_length(MODULE_ID)) :])
    assert read == value
    assert isinstance(read, VectorSetValue)
    assert list(read.nodes) == list(value.nodes)


def test_valkey_has_none() -> None:
    with pytest.raises(CannotHold, match="VALKEY RDB version 80 has no vector sets"):
        encode_vector_set(linked(), Form(newest(Vendor.VALKEY)))
    with pytest.raises(CannotHold):
        encode_vector_set(linked(), Form(numbered(7)))


def head(dim: int = 1, count: int = 1, config: int = 1, flags: int = 0) -> bytes:
    return b"".join(map(encode_unsigned, (dim, count, config, flags)))


def element(*parameters: int, name: bytes = b"e", vector: bytes = b"x", sizes: int | None = None) -> bytes:
    sizes = len(parameters) if sizes is None else sizes
    texts = encode_text(encode_string(name)) + encode_text(encode_string(vector))
    return texts + b"".join(map(encode_unsigned, (sizes, *parameters)))


WORST: Final = 1 << 24


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (head(dim=0), "0 dimensions, expected 1 to 65536"),
        (head(dim=65537), "65537 dimensions"),
        (head(config=3), "unknown quantization 3"),
        (head(count=1 << 40), "1099511627776"),
        (head(dim=2, flags=1) + encode_unsigned(1), "a projection of 1 dimensions to 2"),
        (head(flags=1) + encode_unsigned(2) + encode_text(encode_string(b"1234")), "4 bytes, expected 8"),
        (head() + element(1, 0, 0, 0, 0, vector=b"xy"), "Vector of 2 bytes, expected 1"),
        (head() + element(1, 0, sizes=2), "with 2 parameters"),
        (head() + element(1, sizes=1 << 50), "with 1125899906842624 parameters"),
        (head() + element(0, 0, 0, 2, 0), "with id 0, layer 0, version 0"),
        (head() + element(1, 17, 0, 2, 0), "with id 1, layer 17"),
        (head() + element(1, 2 * WORST, 0, 2, 0), "version 2"),
        (head() + element(1, 1, 0, 2, 0), "ends before its links"),
        (head() + element(1, 0, 3, 4, 0), "3 links of at most 4"),
        (head() + element(1, 0, 2, 1, 5, 6, 0), "2 links of at most 1"),
        (head() + element(1, 0, 0, 1 << 20, 0), "0 links of at most 1048576"),
        (head() + element(1, 0, 0, 2, 0, 0), "6 parameters, expected 5"),
        (head() + element(1, WORST, 0, 2, 0), "5 parameters, expected 6"),
        (head() + element(1, 0, 1, 2, 9, 0) + END_BYTE, "has a link to 9"),
        (head(count=2) + element(1, 0, 0, 2, 0) * 2, "Duplicate vector set element b'e'"),
        (head(count=2) + element(1, 0, 0, 2, 0) + element(1, 0, 0, 2, 0, name=b"f"), "the element id 1 twice"),
        (head() + element(1, 0, 0, 2, 0) + encode_unsigned(1), "an item with tag 2, expected 0"),
    ],
)
def test_what_is_refused(body: bytes, reason: str) -> None:
    with pytest.raises(Malformed, match=reason):
        decoded(body + bytes(40))


def test_m_has_a_default_and_a_bound() -> None:
    for stored, read in ((0, 16), (7, 7), (0xFFFF, 4096)):
        value = decoded(head(config=1 | stored << 8) + element(1, 0, 0, 2, 0) + END_BYTE)
        assert isinstance(value, VectorSetValue)
        assert value.m == read


@pytest.mark.parametrize("spoil", [lambda body: body[:-1], lambda body: body + b"\x00"], ids=["short", "long"])
def test_a_payload_of_another_length(spoil: Callable[[bytes], bytes]) -> None:
    body = spoil(OF_REDIS_8_2[:-10]) + OF_REDIS_8_2[-10:-8]
    with pytest.raises(CommandError, match="Bad data format"):
        decode_payload(body + crc64(body).to_bytes(8, "little"))
