"""A stream's listpacks: differences of ids, shared fields, deleted entries; and what must be refused."""

from __future__ import annotations

import pytest

from pyrepl.rdb.cursor import Malformed
from pyrepl.rdb.packed.listpack import decode_listpack, encode_listpack
from pyrepl.rdb.types.stream_node import decode_id, decode_node, encode_id, encode_nodes
from pyrepl.rdb.values import StreamEntry

MASTER = encode_id((100, 5))


def numbers(*elements: int | bytes) -> bytes:
    return encode_listpack([b"%d" % each if isinstance(each, int) else each for each in elements])


def decoded(packed: bytes, key: bytes = MASTER) -> list[StreamEntry]:
    entries: list[StreamEntry] = []
    decode_node(key, packed, entries)
    return entries


def test_ids() -> None:
    assert encode_id((1, 2)) == bytes(7) + b"\x01" + bytes(7) + b"\x02"
    assert decode_id(b"\xff" * 16) == ((1 << 64) - 1, (1 << 64) - 1)


def test_a_node_spelled_out() -> None:
    packed = numbers(
        2, 1, 2, b"a", b"b", 0,
        2, 0, 0, b"1", b"2", 5,
        3, 0, 7, b"x", b"y", 5,
        0, 10, -5, 1, b"c", b"3", 6,
    )  # fmt: skip
    assert decoded(packed) == [((100, 5), (b"a", b"1", b"b", b"2")), ((110, 0), (b"c", b"3"))]


def test_nodes_share_the_fields_of_their_first_entry() -> None:
    entries: list[StreamEntry] = [
        ((100, 5), (b"a", b"1")),
        ((100, 6), (b"a", b"2")),
        ((101, 0), (b"b", b"3")),
        ((102, 0), ()),
    ]
    [(key, packed)] = encode_nodes(entries, 4096, 100)
    assert key == MASTER
    elements = [4, 0, 1, b"a", 0, 2, 0, 0, 1, 4, 2, 0, 1, 2, 4, 0, 1, -5, 1, b"b", 3, 6, 0, 2, -5, 0, 4]
    assert decode_listpack(packed) == [b"%d" % each if isinstance(each, int) else each for each in elements]
    assert decoded(packed) == entries


def test_nodes_are_cut_by_entries_and_by_bytes() -> None:
    entries: list[StreamEntry] = [((1, i), (b"f", b"x" * 50)) for i in range(250)]
    for max_bytes, max_entries, expected in [(1 << 20, 100, [100, 100, 50]), (0, 0, [250]), (1, 100, [1] * 250)]:
        nodes = encode_nodes(entries, max_bytes, max_entries)
        assert [int(decode_listpack(packed)[0]) for _, packed in nodes] == expected
    sizes = [len(packed) for _, packed in encode_nodes(entries, 1000, 0)]
    assert max(sizes) < 1000 + 60 + 20
    again: list[StreamEntry] = []
    for key, packed in encode_nodes(entries, 1000, 0):
        decode_node(key, packed, again)
    assert again == entries


def test_ids_wrap_within_64_bits() -> None:
    top = (1 << 64) - 1
    entries: list[StreamEntry] = [((5, top), (b"f", b"v")), ((6, 0), (b"f", b"v")), ((top, top), (b"f", b"v"))]
    [(key, packed)] = encode_nodes(entries, 4096, 100)
    assert decoded(packed, key) == entries


@pytest.mark.parametrize(
    ("packed", "key", "message"),
    [
        (numbers(0, 0, 0, 0), b"short", "node key of 5 bytes"),
        (numbers(), MASTER, "ends within an entry"),
        (numbers(0, 0, 5, 0), MASTER, "ends within an entry"),
        (numbers(0, 0, 0, 9), MASTER, "bad master entry"),
        (numbers(-1, 0, 0, 0), MASTER, "bad master entry"),
        (numbers(b"x", 0, 0, 0), MASTER, "b'x' where a number belongs"),
        (numbers(2, 0, 0, 0, 2, 0, 0, 3), MASTER, "not as many as it says"),
        (numbers(0, 0, 0, 0, 2, 0, 0, 3), MASTER, "not as many as it says"),
        (numbers(1, 0, 0, 0, 2, 0, 0, 4), MASTER, "does not fit its node"),
        (numbers(1, 0, 1, b"f", 0, 2, 0, 0, 3), MASTER, "ends within an entry"),
        (numbers(1, 0, 0, 0, 0, 0, 0, -1, 3), MASTER, "does not fit its node"),
        (numbers(1, 0, 0, 0, 0, 0, 0, 1 << 62, 3), MASTER, "does not fit its node"),
        (numbers(2, 0, 0, 0, 2, 0, 0, 3, 2, 0, 0, 3), MASTER, "Stream entry 100-5 after 100-5"),
        (numbers(2, 0, 0, 0, 2, 0, 5, 3, 2, 0, 4, 3), MASTER, "Stream entry 100-9 after 100-10"),
    ],
)
def test_refused(packed: bytes, key: bytes, message: str) -> None:
    with pytest.raises(Malformed, match=message):
        decoded(packed, key)
