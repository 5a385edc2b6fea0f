"""Small collections in one block of memory: as a snapshot brought them, or as commands made them.

A packed collection is the listpack or intset of its RDB type, in an object of one of the classes here; whoever loads
it has checked it. It takes a tenth of the memory of the collection that it stands for, and a tenth of the time to load,
and it goes into the next snapshot as it is. While it is small, the verbs that are called most (`list_verbs` and its
like) read and change it without unpacking. For all other verbs `Database.find` unpacks it, and it is not packed again.
Code that walks `Database.store` itself (snapshots, digests, sizes) meets packed collections.

The classes derive from `bytes`, so that each object is one block of memory. A string is therefore told by
`type(value) is bytes`, never by isinstance.
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
    """The base of the classes below. `word` is what TYPE answers, in Redis's words."""

    __slots__ = ()

    word: ClassVar[str]

    @abstractmethod
    def unpack(self) -> HashValue | ListValue | SetValue | ZsetValue:
        """The value that this stands for, as a new object."""


@final
class PackedHash(Packed):
    """A hash as a listpack: field, value, ..."""

    __slots__ = ()
    word = "hash"

    def unpack(self) -> HashValue:
        elements = _elements(self)
        return HashValue(dict(zip(elements[::2], elements[1::2])))


@final
class PackedZset(Packed):
    """A sorted set as a listpack: member, score, ..., ascending by (score, member)."""

    __slots__ = ()
    word = "zset"

    def unpack(self) -> ZsetValue:
        elements = _elements(self)
        return ZsetValue(dict(zip(elements[::2], map(parse_score, elements[1::2]))))


@final
class PackedList(Packed):
    """A list as a listpack, from left to right: the one node that a short list has in the file."""

    __slots__ = ()
    word = "list"

    def unpack(self) -> ListValue:
        return ListValue(deque(_elements(self)))


@final
class PackedSet(Packed):
    """A set as a listpack of its members, in any order."""

    __slots__ = ()
    word = "set"

    def unpack(self) -> SetValue:
        return SetValue(set(_elements(self)))


@final
class PackedIntset(Packed):
    """A set of integers as an intset, in ascending order."""

    __slots__ = ()
    word = "set"

    def unpack(self) -> SetValue:
        return SetValue(set(decode_intset(self)))


def _elements(packed: bytes) -> list[bytes]:
    return edits.elements(packed, 0, _ALL)


def unpacked(value: Value) -> Value:
    """The value itself, or what it stands for if it is packed; the database goes on keeping it packed.

    `value` is what `Database.find_kept` gave.
    """
    return value.unpack() if isinstance(value, Packed) else value


def kept_plain(value: Value) -> object:
    """`plain_value` of a value that may be packed; the database goes on keeping it packed."""
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
"""RDB type -> the class that collections of this type are kept in."""
