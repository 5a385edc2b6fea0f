"""The items that the value of a module consists of: each has a tag before it, and a last tag ends them.

| tag | item |
|---|---|
| 0 | end |
| 1, 2 | a length (signed, unsigned) |
| 3, 4 | 4 bytes, 8 bytes (float, double) |
| 5 | a string |
"""

from __future__ import annotations

from typing import Final

from pyrepl.rdb.cursor import Cursor, Malformed
from pyrepl.rdb.length import decode_length, encode_length
from pyrepl.rdb.strings import decode_string

END: Final = 0
SIGNED: Final = 1
UNSIGNED: Final = 2
FLOAT: Final = 3
DOUBLE: Final = 4
STRING: Final = 5

END_BYTE: Final = bytes((END,))
_UNSIGNED_BYTE: Final = bytes((UNSIGNED,))
_STRING_BYTE: Final = bytes((STRING,))


def decode_unsigned(cursor: Cursor) -> int:
    """An unsigned number, where one is wanted. Raises ShortInput, Malformed."""
    _expect(cursor, UNSIGNED)
    return decode_length(cursor)


def decode_text(cursor: Cursor) -> bytes:
    """A string, where one is wanted. Raises ShortInput, Malformed."""
    _expect(cursor, STRING)
    return decode_string(cursor)


def decode_end(cursor: Cursor) -> None:
    """The end, where it is wanted. Raises ShortInput, Malformed."""
    _expect(cursor, END)


def _expect(cursor: Cursor, wanted: int) -> None:
    tag = decode_length(cursor)
    if tag != wanted:
        raise Malformed(f"Module data: an item with tag {tag}, expected {wanted}")


def encode_unsigned(number: int) -> bytes:
    """An unsigned number below 2**64, as an item."""
    return _UNSIGNED_BYTE + encode_length(number)


def encode_text(encoded: bytes) -> bytes:
    """A string that is encoded already, as an item."""
    return _STRING_BYTE + encoded
