"""Sets: member by member, an intset, or a listpack.

| type | since | the value's bytes |
|---|---|---|
| 2 | 1 | count, then each member |
| 11 | 1 | a string: intset |
| 20 | 11 | a string: listpack |
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.rdb.cursor import Cursor, Malformed
from pyrepl.rdb.length import decode_count, encode_length
from pyrepl.rdb.packed.intset import decode_intset, encode_intset
from pyrepl.rdb.packed.listpack import decode_listpack, encode_listpack, parse_integer
from pyrepl.rdb.strings import decode_string
from pyrepl.rdb.types.row import Decode, Encoded, Form, ValueType
from pyrepl.rdb.versions import both

SET: Final = 2
SET_INTSET: Final = 11
SET_LISTPACK: Final = 20

SET_LISTPACK_VERSIONS: Final = both(11)


@final
class _SetDecoder:
    """Member by member."""

    __slots__ = ("count", "left", "members")

    def __init__(self) -> None:
        self.count = -1
        self.left = 0
        self.members: set[bytes] = set()

    def decode(self, cursor: Cursor) -> object:
        if self.count < 0:
            self.left = self.count = decode_count(cursor)
            cursor.commit()
        members = self.members
        while self.left > 0:
            members.add(decode_string(cursor))
            cursor.commit()
            self.left -= 1
        if len(members) != self.count:
            raise _duplicate()
        return members


def _decode_set_intset(cursor: Cursor) -> object:
    return set(decode_intset(decode_string(cursor)))


def _decode_set_listpack(cursor: Cursor) -> object:
    elements = decode_listpack(decode_string(cursor))
    members = set(elements)
    if len(members) != len(elements):
        raise _duplicate()
    return members


def _duplicate() -> Malformed:
    return Malformed("Duplicate set members detected")


def encode_set(members: set[bytes], form: Form) -> Encoded:
    """An intset if the members are few and all integers, a listpack if the set is small and the version has listpack
    sets, else member by member."""
    packing = form.packing
    count = len(members)
    if count <= packing.set_max_intset_entries:
        numbers = _integers(members)
        if numbers is not None:
            return SET_INTSET, form.text(encode_intset(numbers))
    if (
        form.version in SET_LISTPACK_VERSIONS
        and count <= packing.set_max_listpack_entries
        and max(map(len, members), default=0) <= packing.set_max_listpack_value
    ):
        return SET_LISTPACK, form.text(encode_listpack(list(members)))
    out = bytearray(encode_length(count))
    text = form.text
    for member in members:
        out += text(member)
    return SET, bytes(out)


def _integers(members: set[bytes]) -> list[int] | None:
    """The members as 64-bit numbers, or None if one of them is not the shortest text of such a number."""
    numbers: list[int] = []
    for member in members:
        number = parse_integer(member)
        if number is None:
            return None
        numbers.append(number)
    return numbers


def _start_plain() -> Decode:
    return _SetDecoder().decode


def _start_intset() -> Decode:
    return _decode_set_intset


def _start_listpack() -> Decode:
    return _decode_set_listpack


ROWS: Final[tuple[ValueType, ...]] = (
    ValueType(SET, "set-hashtable", both(1), _start_plain),
    ValueType(SET_INTSET, "set-intset", both(1), _start_intset),
    ValueType(SET_LISTPACK, "set-listpack", SET_LISTPACK_VERSIONS, _start_listpack),
)
