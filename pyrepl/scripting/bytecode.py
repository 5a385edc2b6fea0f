"""Makes ordinary calls of the tail calls in compiled Lua 5.1.

In `return redis.call(...)` the call replaces the script's own frame, and with it the line that an error is to name.
Redis has no such loss, as its redis.call is a C function, which has no frame; ours is a Lua function. So the tail calls
of a script's outermost code, and of a library's outermost functions, become calls with a return behind them, which
differs in nothing else. Deeper functions keep theirs, and may recur by them without end.

Source of the format: Lua 5.1's ldump.c and lopcodes.h. Only what our own interpreter has just compiled is read here.
"""

from __future__ import annotations

import struct
from typing import Final, final

_HEADER_BYTES: Final = 12
_CALL: Final = 28
_TAIL_CALL: Final = 29
_OPCODE_MASK: Final = 0x3F
_NIL: Final = 0
_BOOLEAN: Final = 1
_NUMBER: Final = 3


def without_tail_calls(compiled: bytes, depth: int) -> bytes:
    """A chunk as string.dump gives it, changed in its functions down to `depth`; 0 is the chunk's own code alone."""
    code = bytearray(compiled)
    _Walk(code).function(depth)
    return bytes(code)


@final
class _Walk:
    """Goes through a chunk, function by function. Little endian, with 4 bytes for int, 8 for size_t and double."""

    def __init__(self, code: bytearray) -> None:
        self._code = code
        self._at = _HEADER_BYTES

    def function(self, depth: int) -> None:
        """Walk over one function, and change it if `depth` is not negative."""
        self._string()
        self._at += 12
        count = self._int()
        if depth >= 0:
            for place in range(self._at, self._at + 4 * count, 4):
                if self._code[place] & _OPCODE_MASK == _TAIL_CALL:
                    self._code[place] = self._code[place] & ~_OPCODE_MASK | _CALL
        self._at += 4 * count
        for _ in range(self._int()):
            self._constant()
        for _ in range(self._int()):
            self.function(depth - 1)
        self._debug()

    def _int(self) -> int:
        value: int = struct.unpack_from("<i", self._code, self._at)[0]
        self._at += 4
        return value

    def _string(self) -> None:
        size: int = struct.unpack_from("<Q", self._code, self._at)[0]
        self._at += 8 + size

    def _constant(self) -> None:
        kind = self._code[self._at]
        self._at += 1
        if kind == _BOOLEAN:
            self._at += 1
        elif kind == _NUMBER:
            self._at += 8
        elif kind != _NIL:
            self._string()

    def _debug(self) -> None:
        """Lines of the instructions, names of local variables and of upvalues."""
        count = self._int()
        self._at += 4 * count
        for _ in range(self._int()):
            self._string()
            self._at += 8
        for _ in range(self._int()):
            self._string()
