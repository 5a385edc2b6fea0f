"""Lists: element by element, one ziplist, or a chain of nodes (quicklist) that are ziplists, listpacks or plain.

| type | since | the value's bytes |
|---|---|---|
| 1 | 1 | count, then each element |
| 10 | 1 | a string: ziplist |
| 14 | 7 | count, then each node as a string: ziplist |
| 18 | 10 | count, then each node: container (1 plain, 2 packed), a string: the element, or a listpack |
"""

from __future__ import annotations

from collections import deque
from typing import Final, final

from pyrepl.rdb.cursor import Cursor, Malformed
from pyrepl.rdb.length import decode_count, decode_length, encode_length
from pyrepl.rdb.packed.listpack import HEADER_BYTES, decode_listpack, encode_entry, join_entries
from pyrepl.rdb.packed.ziplist import decode_ziplist
from pyrepl.rdb.settings import list_node_bytes, list_node_entries
from pyrepl.rdb.strings import decode_string
from pyrepl.rdb.types.row import Decode, Encoded, Form, ValueType
from pyrepl.rdb.versions import LISTPACKS, both

LIST: Final = 1
LIST_ZIPLIST: Final = 10
LIST_QUICKLIST: Final = 14
LIST_QUICKLIST2: Final = 18

PLAIN_NODE: Final = 1
PACKED_NODE: Final = 2


@final
class _ListDecoder:
    """The three encodings that are counted: one element, one ziplist or one listpack at a time."""

    __slots__ = ("items", "kind", "left")

    def __init__(self, kind: int) -> None:
        self.kind = kind
        self.left = -1
        self.items: list[bytes] = []

    def decode(self, cursor: Cursor) -> object:
        if self.left < 0:
            self.left = decode_count(cursor)
            cursor.commit()
        kind = self.kind
        items = self.items
        while self.left > 0:
            if kind == LIST_QUICKLIST2:
                self._decode_node(cursor)
            elif kind == LIST:
                items.append(decode_string(cursor))
            else:
                items += decode_ziplist(decode_string(cursor))
            cursor.commit()
            self.left -= 1
        return items

    def _decode_node(self, cursor: Cursor) -> None:
        container = decode_length(cursor)
        if container == PACKED_NODE:
            self.items += decode_listpack(decode_string(cursor))
        elif container == PLAIN_NODE:
            self.items.append(decode_string(cursor))
        else:
            raise Malformed(f"Quicklist: unknown node container {container}, expected 1 (plain) or 2 (packed)")


def _decode_list_ziplist(cursor: Cursor) -> object:
    return decode_ziplist(decode_string(cursor))


def encode_list(items: list[bytes] | deque[bytes], form: Form) -> Encoded:
    """A chain of listpacks from version 10 on; before, element by element, which every reader can read."""
    if form.version in LISTPACKS:
        return LIST_QUICKLIST2, _encode_nodes(items, form)
    out = bytearray(encode_length(len(items)))
    text = form.text
    for item in items:
        out += text(item)
    return LIST, bytes(out)


def _encode_nodes(items: list[bytes] | deque[bytes], form: Form) -> bytes:
    """Nodes filled as Redis fills them: up to list-max-listpack-size; a larger element has a plain node of its own."""
    max_bytes = list_node_bytes(form.packing.list_max_listpack_size)
    max_entries = list_node_entries(form.packing.list_max_listpack_size)
    nodes: list[bytes] = []
    entries: list[bytes] = []
    size = HEADER_BYTES + 1
    for item in items:
        if len(item) > max_bytes:
            if entries:
                nodes.append(_packed_node(entries, form))
                entries = []
                size = HEADER_BYTES + 1
            nodes.append(bytes((PLAIN_NODE,)) + form.text(item))
            continue
        entry = encode_entry(item)
        if entries and (size + len(entry) > max_bytes or len(entries) >= max_entries):
            nodes.append(_packed_node(entries, form))
            entries = []
            size = HEADER_BYTES + 1
        entries.append(entry)
        size += len(entry)
    if entries:
        nodes.append(_packed_node(entries, form))
    return encode_length(len(nodes)) + b"".join(nodes)


def _packed_node(entries: list[bytes], form: Form) -> bytes:
    return bytes((PACKED_NODE,)) + form.text(join_entries(entries))


def _start_plain() -> Decode:
    return _ListDecoder(LIST).decode


def _start_ziplist() -> Decode:
    return _decode_list_ziplist


def _start_quicklist() -> Decode:
    return _ListDecoder(LIST_QUICKLIST).decode


def _start_quicklist2() -> Decode:
    return _ListDecoder(LIST_QUICKLIST2).decode


ROWS: Final[tuple[ValueType, ...]] = (
    ValueType(LIST, "list-linked-list", both(1), _start_plain),
    ValueType(LIST_ZIPLIST, "list-ziplist", both(1), _start_ziplist),
    ValueType(LIST_QUICKLIST, "quicklist", both(7), _start_quicklist),
    ValueType(LIST_QUICKLIST2, "quicklist-v2", LISTPACKS, _start_quicklist2),
)
