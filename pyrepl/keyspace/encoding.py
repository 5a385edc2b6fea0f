"""The name of a value's encoding, for OBJECT ENCODING.

The name is that of the encoding which the value would have in Redis 7.2 or later, computed from its contents and the
thresholds in force. Whether a value is kept packed in our memory makes no difference.
"""

from __future__ import annotations

from typing import Final

from pyrepl.config.settings import Settings
from pyrepl.keyspace.packed import unpacked
from pyrepl.keyspace.values import HashValue, ListValue, SetValue, Value, ZsetValue
from pyrepl.rdb.settings import list_node_bytes, list_node_entries
from pyrepl.rdb.values import StreamValue
from pyrepl.resp.numbers import parse_integer

EMBSTR_MAX_BYTES: Final = 44
_ENTRY_OVERHEAD_BYTES: Final = 11
"""The most bytes that a listpack adds to an element: a header before it and its length behind it."""
_LISTPACK_FRAME_BYTES: Final = 7


def encoding(value: Value, settings: Settings) -> str:
    """The name of a stored value's encoding; `value` may be packed."""
    value = unpacked(value)
    if isinstance(value, bytes):
        if parse_integer(value) is not None:
            return "int"
        return "embstr" if len(value) <= EMBSTR_MAX_BYTES else "raw"
    if isinstance(value, ListValue):
        return _list_encoding(value, settings)
    if isinstance(value, SetValue):
        return _set_encoding(value, settings)
    if isinstance(value, HashValue):
        return _hash_encoding(value, settings)
    if isinstance(value, ZsetValue):
        compact = _fits(value.scores, settings.zset_max_listpack_entries, settings.zset_max_listpack_value)
        return "listpack" if compact else "skiplist"
    return "stream" if isinstance(value, StreamValue) else "raw"


def _list_encoding(value: ListValue, settings: Settings) -> str:
    limit = list_node_bytes(settings.list_max_listpack_size)
    if len(value.items) > min(list_node_entries(settings.list_max_listpack_size), limit):
        return "quicklist"
    size = _LISTPACK_FRAME_BYTES + sum(len(item) + _ENTRY_OVERHEAD_BYTES for item in value.items)
    return "listpack" if size <= limit else "quicklist"


def _set_encoding(value: SetValue, settings: Settings) -> str:
    members = value.members
    if len(members) <= settings.set_max_intset_entries and all(parse_integer(member) is not None for member in members):
        return "intset"
    compact = _fits(members, settings.set_max_listpack_entries, settings.set_max_listpack_value)
    return "listpack" if compact else "hashtable"


def _hash_encoding(value: HashValue, settings: Settings) -> str:
    entries, size = settings.hash_max_listpack_entries, settings.hash_max_listpack_value
    if not _fits(value.fields, entries, size) or any(len(content) > size for content in value.fields.values()):
        return "hashtable"
    return "listpackex" if value.expires else "listpack"


def _fits(elements: set[bytes] | dict[bytes, float] | dict[bytes, bytes], max_entries: int, max_bytes: int) -> bool:
    return len(elements) <= max_entries and all(len(element) <= max_bytes for element in elements)
