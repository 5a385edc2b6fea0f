"""Runs of keys decoded in one loop, in plain Python: the form of `compiled.bulk` for a build that compiled nothing.

Strings, and collections that stay packed, are most of what a snapshot holds. Whatever is neither, and whatever is cut
or not in order, is left to the reader, which decodes any key and has the words for what is wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from struct import Struct
from struct import error as struct_error
from typing import Final, final

from pyrepl.rdb import opcodes
from pyrepl.rdb.cursor import Cursor, Malformed, ShortInput
from pyrepl.rdb.events import Noted
from pyrepl.rdb.soundness import is_sound
from pyrepl.rdb.strings import decode_string
from pyrepl.rdb.taker import Taker
from pyrepl.rdb.types.list import LIST_QUICKLIST2

_EXPIRETIME_MS: Final = opcodes.EXPIRETIME_MS.number
_FREQ: Final = opcodes.FREQ.number
_IDLE: Final = opcodes.IDLE.number

_I64: Final = Struct("<q")
_U32: Final = Struct(">I")
_LONG_LENGTH: Final = 128
"""The first byte of a length in four bytes more."""


@final
class PlainBulk:
    """Decodes runs of keys for one snapshot.

    `classes`: RDB type -> the class of bytes that collections of this type are kept in, as they stand in the file.
    `known`: the numbers of the opcodes that the snapshot's version has.
    """

    __slots__ = ("_classes", "_expiry_ms", "_freq", "_idle_s", "_known")

    def __init__(self, classes: Mapping[int, type[bytes]], known: Collection[int]) -> None:
        self._classes = classes
        self._known = known
        # What stands before the key at work; None where nothing does.
        self._expiry_ms: int | None = None
        self._idle_s: int | None = None
        self._freq: int | None = None

    def run(
        self,
        cursor: Cursor,
        taker: Taker,
        also: Collection[bytes],
        noted: Noted,
    ) -> int:
        """Give the keys that stand at the cursor to `taker`, as long as they are strings or packed; how many they were.

        The run ends before a key that the taker holds or that is in `also`, before one that is cut or broken, and
        before anything that is not of these kinds; the cursor's position and mark are set to that place. What stands
        before the keys goes to `noted`.
        """
        buf = cursor.buf
        end = cursor.end
        holds = taker.holds
        add = taker.add
        taken = 0
        mark = pos = cursor.pos
        try:
            while True:
                # 0, the type of strings, where no attribute stands before the key.
                first = buf[pos]
                if first:
                    pos = self._decode_attributes(buf, pos)
                    if buf[pos]:
                        cursor.pos = pos
                        found = decode_packed(cursor, self._classes)
                        if found is None or holds(found[0]) or found[0] in also:
                            break
                        add(found[0], found[1])
                        self._note(found[0], noted)
                        taken += 1
                        mark = pos = cursor.pos
                        continue
                size = buf[pos + 1]
                start = pos + 2
                if size > 63:
                    if size > 127:
                        break
                    size = (size & 63) << 8 | buf[start]
                    start += 1
                pos = start + size
                key = buf[start:pos]
                size = buf[pos]
                start = pos + 1
                if size < 64:
                    pos = start + size
                    value = buf[start:pos]
                elif size < 128:
                    start += 1
                    pos = start + ((size & 63) << 8 | buf[start - 1])
                    value = buf[start:pos]
                else:
                    cursor.pos = pos
                    value = decode_string(cursor)
                    pos = cursor.pos
                if pos > end or holds(key) or key in also:
                    break
                add(key, value)
                taken += 1
                if first:
                    self._note(key, noted)
                mark = pos
        except (IndexError, struct_error, ShortInput, Malformed):
            pass
        cursor.pos = cursor.mark = mark
        return taken

    def _note(self, key: bytes, noted: Noted) -> None:
        if self._expiry_ms is not None:
            noted.expires[key] = self._expiry_ms
        if self._idle_s is not None:
            noted.idles[key] = self._idle_s
        if self._freq is not None:
            noted.frequencies[key] = self._freq

    def _decode_attributes(self, buf: bytes, pos: int) -> int:
        """Note the expiry, idle time and frequency that stand at `pos`; the position of what follows them.

        Raises IndexError or struct.error where the bytes end.
        """
        known = self._known
        self._expiry_ms = self._idle_s = self._freq = None
        while True:
            kind = buf[pos]
            if kind not in known:
                return pos
            if kind == _EXPIRETIME_MS:
                self._expiry_ms = _I64.unpack_from(buf, pos + 1)[0]
                pos += 9
            elif kind == _FREQ:
                self._freq = buf[pos + 1]
                pos += 2
            elif kind == _IDLE and buf[pos + 1] <= _LONG_LENGTH:
                if buf[pos + 1] < 64:
                    self._idle_s = buf[pos + 1]
                    pos += 2
                elif buf[pos + 1] < _LONG_LENGTH:
                    self._idle_s = (buf[pos + 1] & 63) << 8 | buf[pos + 2]
                    pos += 3
                else:
                    self._idle_s = _U32.unpack_from(buf, pos + 2)[0]
                    pos += 6
            else:
                return pos


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
