"""A key whose collection is kept packed, in plain Python: with the reader's loop of strings, it is `compiled.bulk`."""

from __future__ import annotations

from collections.abc import Mapping

from pyrepl.rdb.cursor import Cursor
from pyrepl.rdb.soundness import is_sound
from pyrepl.rdb.strings import decode_string
from pyrepl.rdb.types.list import LIST_QUICKLIST2


def decode_packed(cursor: Cursor, classes: Mapping[int, type[bytes]]) -> tuple[bytes, bytes] | None:
    """(key, value in its class of `classes`) of the key at whose type the cursor stands; None if the reader is to
    decode it, wherever the cursor is then: its type has no class, or its value is not sound.

    Raises ShortInput where the bytes end, Malformed.
    """
    kind = cursor.byte()
    cls = classes.get(kind)
    if cls is None:
        return None
    key = decode_string(cursor)
    # Of a list, one node, which is a listpack: most lists.
    if kind == LIST_QUICKLIST2 and (cursor.byte() != 1 or cursor.byte() != 2):
        return None
    packed = decode_string(cursor)
    return (key, cls(packed)) if is_sound(kind, packed) else None
