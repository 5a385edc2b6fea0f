"""Lists: the encodings of old servers by hand, and how nodes are filled."""

from __future__ import annotations

from collections import deque

import pytest

from pyrepl.errors import CorruptData
from pyrepl.rdb.settings import PackingSettings
from pyrepl.rdb.types.list import encode_list
from pyrepl.rdb.types.row import Form
from pyrepl.rdb.versions import numbered
from tests.unit.rdb.loading import load
from tests.unit.rdb.old_encodings import key, snapshot, text, ziplist


def value_of(version: int, kind: int, data: bytes) -> object:
    return load(snapshot(version, key(kind, b"k", data))).values[0][b"k"]


def test_old_encodings() -> None:
    assert value_of(1, 1, b"\x02\x01a\xc0\x05") == [b"a", b"5"]
    assert value_of(6, 10, text(ziplist([b"a", 70000, b"x" * 300]))) == [b"a", b"70000", b"x" * 300]
    nodes = b"\x02" + text(ziplist([b"a", 1])) + text(ziplist([b"b"]))
    assert value_of(9, 14, nodes) == [b"a", b"1", b"b"]


@pytest.mark.parametrize(
    ("version", "kind", "data", "message"),
    [
        (6, 10, text(b"short"), "ziplist of 5 bytes"),
        (9, 14, b"\x01" + text(b"short"), "ziplist of 5 bytes"),
        (10, 18, b"\x01\x03\x01a", "unknown node container 3"),
        (10, 18, b"\x01\x02\x01a", "listpack of 1 bytes"),
    ],
)
def test_refused(version: int, kind: int, data: bytes, message: str) -> None:
    with pytest.raises(CorruptData, match=message):
        value_of(version, kind, data)


def nodes_of(items: list[bytes], size: int) -> list[tuple[int, int]]:
    """(container, bytes) of each node written with list-max-listpack-size `size`."""
    kind, body = encode_list(deque(items), Form(numbered(10), packing=PackingSettings(list_max_listpack_size=size)))
    assert kind == 18
    assert value_of(10, kind, body) == items
    nodes = []
    pos = 1
    while pos < len(body):
        first = body[pos + 1]
        if first < 64:
            start, length = pos + 2, first
        elif first < 128:
            start, length = pos + 3, (first & 63) << 8 | body[pos + 2]
        else:
            start, length = pos + 6, int.from_bytes(body[pos + 2 : pos + 6], "big")
        nodes.append((body[pos], length))
        pos = start + length
    assert len(nodes) == body[0]
    return nodes


def test_nodes_are_filled_by_bytes() -> None:
    # 100 bytes of text take 103 in a listpack; 7 are around them: 79 fit into 8192.
    assert nodes_of([b"x" * 100] * 100, -2) == [(2, 7 + 79 * 103), (2, 7 + 21 * 103)]
    assert nodes_of([b"a", b"x" * 8193, b"b", b"c"], -2) == [(2, 10), (1, 8193), (2, 13)]
    assert nodes_of([b"y" * 8192, b"a"], -2) == [(2, 8206), (2, 10)]


def test_nodes_are_filled_by_elements() -> None:
    assert nodes_of([b"a"] * 7, 3) == [(2, 16), (2, 16), (2, 10)]
    assert nodes_of([b"a"] * 3, 0) == [(2, 10)] * 3
    assert [size for _, size in nodes_of([b"x" * 4000] * 3, 3)] == [7 + 2 * 4004, 7 + 4004]


def test_before_listpacks_element_by_element() -> None:
    assert encode_list([b"a", b"5"], Form(numbered(9))) == (1, b"\x02\x01a\xc0\x05")
