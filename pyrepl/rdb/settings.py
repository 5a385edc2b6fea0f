"""How small a collection must be to be written packed: Redis's directives of the same names, as one record."""

from __future__ import annotations

from typing import Final, NamedTuple

_LIST_NODE_BYTES: Final = (4096, 8192, 16384, 32768, 65536)
"""list-max-listpack-size -1 to -5."""

SAFE_NODE_BYTES: Final = 8192
"""Redis's bound on a list node whose elements are counted (SIZE_SAFETY_LIMIT)."""


class PackingSettings(NamedTuple):
    """Inclusive limits, with the defaults of Redis 7.0 to 8.2. `*_value` are bytes per element."""

    hash_max_listpack_entries: int = 512
    hash_max_listpack_value: int = 64
    zset_max_listpack_entries: int = 128
    zset_max_listpack_value: int = 64
    set_max_intset_entries: int = 512
    set_max_listpack_entries: int = 128
    set_max_listpack_value: int = 64
    list_max_listpack_size: int = -2
    stream_node_max_bytes: int = 4096
    stream_node_max_entries: int = 100


DEFAULT_PACKING: Final = PackingSettings()


def list_node_bytes(list_max_listpack_size: int) -> int:
    """The bytes a list node may have: by the directive's negative values, else the safety limit."""
    if list_max_listpack_size >= 0:
        return SAFE_NODE_BYTES
    return _LIST_NODE_BYTES[min(-list_max_listpack_size, 5) - 1]


def list_node_entries(list_max_listpack_size: int) -> int:
    """The elements a list node may have: the directive if it is not negative (0 counts as 1), else no limit."""
    if list_max_listpack_size < 0:
        return 1 << 31
    return max(list_max_listpack_size, 1)
