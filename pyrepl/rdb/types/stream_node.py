"""One listpack of a stream: consecutive entries, written as differences from the first one (Redis's t_stream.c).

The node's key in the snapshot is the id of its first entry, 16 bytes, most significant first. The listpack begins
with the master entry, whose fields the others need not repeat:

    count, deleted, number of fields, each field, 0

and goes on with the entries, live and deleted:

    flags, ms - master ms, seq - master seq, [number of fields], [field,] value, ..., number of elements before this

flags: 1 deleted, 2 same fields as the master (then neither their number nor their names are there).
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from pyrepl.rdb.cursor import Malformed
from pyrepl.rdb.packed.listpack import HEADER_BYTES, decode_listpack, encode_entry, encode_integer_entry, join_entries
from pyrepl.rdb.values import StreamEntry, StreamId

ID_BYTES: Final = 16

_DELETED: Final = 1
_SAME_FIELDS: Final = 2
_HALF: Final = 1 << 63
_WHOLE: Final = 1 << 64
_MASK: Final = _WHOLE - 1
_ID: Final = Struct(">QQ")


def decode_id(data: bytes) -> StreamId:
    """An id from its 16 bytes."""
    ms, seq = _ID.unpack(data)
    return ms, seq


def encode_id(entry_id: StreamId) -> bytes:
    return _ID.pack(entry_id[0], entry_id[1])


def decode_node(key: bytes, packed: bytes, entries: list[StreamEntry]) -> None:
    """Append the live entries of a node to `entries`. Raises Malformed, also if ids do not ascend."""
    if len(key) != ID_BYTES:
        raise Malformed(f"Stream node key of {len(key)} bytes, expected {ID_BYTES}")
    master_ms, master_seq = decode_id(key)
    elements = decode_listpack(packed)
    live = _number(elements, 0)
    deleted = _number(elements, 1)
    width = _number(elements, 2)
    pos = 4 + width
    if live < 0 or deleted < 0 or width < 0 or _number(elements, pos - 1) != 0:
        raise Malformed("Stream node: bad master entry")
    names = elements[3 : 3 + width]
    last = entries[-1][0] if entries else (-1, 0)
    end = len(elements)
    while pos < end:
        flags = _number(elements, pos)
        entry_id = ((master_ms + _number(elements, pos + 1)) & _MASK, (master_seq + _number(elements, pos + 2)) & _MASK)
        if entry_id <= last:
            raise Malformed(f"Stream entry {entry_id[0]}-{entry_id[1]} after {last[0]}-{last[1]}")
        last = entry_id
        fields, size = _decode_fields(elements, pos, names if flags & _SAME_FIELDS else None)
        if size < 0 or _number(elements, pos + size) != size:
            raise Malformed(f"Stream entry {entry_id[0]}-{entry_id[1]}: its number of fields does not fit its node")
        pos += size + 1
        if flags & _DELETED:
            deleted -= 1
        else:
            live -= 1
            entries.append((entry_id, fields))
    if live or deleted:
        raise Malformed("Stream node: its entries are not as many as it says")


def _decode_fields(elements: list[bytes], pos: int, names: list[bytes] | None) -> tuple[tuple[bytes, ...], int]:
    """(field, value, ...) of the entry at `pos`, whose fields are `names` if given, and how many elements it has.

    That number is -1 where the node ends before.
    """
    if names is not None:
        size = 3 + len(names)
        values = elements[pos + 3 : pos + size]
        if len(values) != len(names):
            return (), -1
        return tuple([part for pair in zip(names, values) for part in pair]), size
    count = _number(elements, pos + 3) * 2
    fields = tuple(elements[pos + 4 : pos + 4 + count])
    return fields, 4 + count if count == len(fields) else -1


def _number(elements: list[bytes], at: int) -> int:
    if at >= len(elements):
        raise Malformed("Stream node ends within an entry")
    text = elements[at]
    digits = text[1:] if text[:1] == b"-" else text
    if not digits.isdigit() or len(digits) > 20:
        raise Malformed(f"Stream node: {text[:40]!r} where a number belongs")
    return int(text)


def encode_nodes(entries: list[StreamEntry], max_bytes: int, max_entries: int) -> list[tuple[bytes, bytes]]:
    """(key, listpack) of each node, as full as the limits allow (stream-node-max-*, 0 for none)."""
    nodes: list[tuple[bytes, bytes]] = []
    start = 0
    count = len(entries)
    while start < count:
        stop = _encode_node(entries, start, max_bytes or 1 << 30, max_entries or count, nodes)
        start = stop
    return nodes


def _encode_node(
    entries: list[StreamEntry], start: int, max_bytes: int, max_entries: int, nodes: list[tuple[bytes, bytes]]
) -> int:
    """Append the node that begins with entry `start`; the index of the first entry behind it."""
    master, master_fields = entries[start]
    names = master_fields[::2]
    stop = start
    limit = min(len(entries), start + max_entries)
    size = HEADER_BYTES
    body: list[bytes] = []
    while stop < limit and (size < max_bytes or stop == start):
        parts = _encode_stream_entry(entries[stop], master, names)
        body += parts
        size += sum(map(len, parts))
        stop += 1
    head = [encode_integer_entry(stop - start), encode_integer_entry(0), encode_integer_entry(len(names))]
    for name in names:
        head.append(encode_entry(name))
    head.append(encode_integer_entry(0))
    nodes.append((encode_id(master), join_entries(head + body)))
    return stop


def _encode_stream_entry(entry: StreamEntry, master: StreamId, names: tuple[bytes, ...]) -> list[bytes]:
    entry_id, fields = entry
    same = fields[::2] == names
    parts = [
        encode_integer_entry(_SAME_FIELDS if same else 0),
        encode_integer_entry(_signed(entry_id[0] - master[0])),
        encode_integer_entry(_signed(entry_id[1] - master[1])),
    ]
    if not same:
        parts.append(encode_integer_entry(len(fields) // 2))
    for part in fields[1::2] if same else fields:
        parts.append(encode_entry(part))
    parts.append(encode_integer_entry(len(parts)))
    return parts


def _signed(difference: int) -> int:
    """A difference of unsigned 64-bit numbers as a listpack holds it: wrapped into the signed range."""
    return (difference + _HALF) % _WHOLE - _HALF
