"""Small collections in one block of memory: as a snapshot brought them, or as commands made them.

A packed collection is the listpack or intset of its RDB type, checked by who loaded it, in an object of the class here.
It costs a tenth of the memory and of the time of what it stands for, and goes into the next snapshot as it is.
The usual verbs read and change it as it is (`list_verbs` and its like) while it is small; for all others
`Database.find` unpacks it, for good. What goes through `Database.store` itself (snapshots, digests,
sizes) must expect them.

They derive from `bytes` to be one block of memory each; `type(value) is bytes` is what tells a string.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Mapping
from typing import ClassVar, Final, final

from pyrepl.keyspace.values import HashValue, ListValue, SetValue, Value, ZsetValue, plain_value, type_name
from pyrepl.rdb import edits
from pyrepl.rdb.packed.intset import decode_intset
from pyrepl.rdb.types.hash import HASH_LISTPACK
from pyrepl.rdb.types.list import LIST_QUICKLIST2
from pyrepl.rdb.types.set import SET_INTSET, SET_LISTPACK
from pyrepl.rdb.types.zset import ZSET_LISTPACK, parse_score

_ALL: Final = 2**31


class Packed(bytes):
    """One of the classes below. `word` is what TYPE answers."""

    __slots__ = ()

    word: ClassVar[str]

    @abstractmethod
    def unpack(self) -> HashValue | ListValue | SetValue | ZsetValue:
        """The value that this stands for."""


@final
class PackedHash(Packed):
    """Listpack: field, value, ..."""

    __slots__ = ()
    word = "hash"

    def unpack(self) -> HashValue:
        elements = _elements(self)
        return HashValue(dict(zip(elements[::2], elements[1::2])))


@final
class PackedZset(Packed):
    """Listpack: member, score, ..., ascending by (score, member)."""

    __slots__ = ()
    word = "zset"

    def unpack(self) -> ZsetValue:
        elements = _elements(self)
        return ZsetValue(dict(zip(elements[::2], map(parse_score, elements[1::2]))))


@final
class PackedList(Packed):
    """Listpack, left to right: the one node of a short list."""

    __slots__ = ()
    word = "list"

    def unpack(self) -> ListValue:
        return ListValue(deque(_elements(self)))


@final
class PackedSet(Packed):
    """Listpack of the members."""

    __slots__ = ()
    word = "set"

    def unpack(self) -> SetValue:
        return SetValue(set(_elements(self)))


@final
class PackedIntset(Packed):
    """Intset."""

    __slots__ = ()
    word = "set"

    def unpack(self) -> SetValue:
        return SetValue(set(decode_intset(self)))


def _elements(packed: bytes) -> list[bytes]:
    return edits.elements(packed, 0, _ALL)


def unpacked(value: Value) -> Value:
    """What a value that `Database.find_kept` gave stands for; the database keeps it as it is."""
    return value.unpack() if isinstance(value, Packed) else value


def kept_plain(value: Value) -> object:
    """As `plain_value`, for a value that may be packed and stays so."""
    return plain_value(unpacked(value))


def kept_type_name(value: Value) -> str:
    """The word that TYPE answers, for a value that may be packed."""
    return value.word if isinstance(value, Packed) else type_name(value)


CLASSES: Final[Mapping[int, type[Packed]]] = {
    HASH_LISTPACK: PackedHash,
    ZSET_LISTPACK: PackedZset,
    LIST_QUICKLIST2: PackedList,
    SET_LISTPACK: PackedSet,
    SET_INTSET: PackedIntset,
}
"""RDB type -> what its values are kept as."""
