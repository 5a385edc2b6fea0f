"""Small collections as a snapshot brought them: kept packed until somebody asks, as most never are.

A packed collection is the listpack or intset of its RDB type, checked by who loaded it, in an object of the class here.
It costs a tenth of the memory and of the time of what it stands for, and goes into the next snapshot as it is.
`Database` unpacks it where a command finds it, so commands never see one; what goes through `Database.values` itself
(snapshots, digests, sizes) must expect them.

They derive from `bytes` to be one block of memory each; `type(value) is bytes` is what tells a string.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Mapping
from typing import Final, final

from pyrepl.keyspace.values import HashValue, ListValue, SetValue, ZsetValue
from pyrepl.rdb.packed.intset import decode_intset
from pyrepl.rdb.packed.listpack import decode_listpack
from pyrepl.rdb.types.hash import HASH_LISTPACK
from pyrepl.rdb.types.list import LIST_QUICKLIST2
from pyrepl.rdb.types.set import SET_INTSET, SET_LISTPACK
from pyrepl.rdb.types.zset import ZSET_LISTPACK, parse_score


class Packed(bytes):
    """One of the classes below."""

    __slots__ = ()

    @abstractmethod
    def unpack(self) -> HashValue | ListValue | SetValue | ZsetValue:
        """The value that this stands for."""


@final
class PackedHash(Packed):
    """Listpack: field, value, ..."""

    __slots__ = ()

    def unpack(self) -> HashValue:
        elements = decode_listpack(self)
        return HashValue(dict(zip(elements[::2], elements[1::2])))


@final
class PackedZset(Packed):
    """Listpack: member, score, ..., ascending by (score, member)."""

    __slots__ = ()

    def unpack(self) -> ZsetValue:
        elements = decode_listpack(self)
        return ZsetValue(dict(zip(elements[::2], map(parse_score, elements[1::2]))))


@final
class PackedList(Packed):
    """Listpack, left to right: the one node of a short list."""

    __slots__ = ()

    def unpack(self) -> ListValue:
        return ListValue(deque(decode_listpack(self)))


@final
class PackedSet(Packed):
    """Listpack of the members."""

    __slots__ = ()

    def unpack(self) -> SetValue:
        return SetValue(set(decode_listpack(self)))


@final
class PackedIntset(Packed):
    """Intset."""

    __slots__ = ()

    def unpack(self) -> SetValue:
        return SetValue(set(decode_intset(self)))


CLASSES: Final[Mapping[int, type[Packed]]] = {
    HASH_LISTPACK: PackedHash,
    ZSET_LISTPACK: PackedZset,
    LIST_QUICKLIST2: PackedList,
    SET_LISTPACK: PackedSet,
    SET_INTSET: PackedIntset,
}
"""RDB type -> what its values are kept as."""
