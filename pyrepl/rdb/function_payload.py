"""The payload that FUNCTION DUMP answers and FUNCTION RESTORE takes: libraries as a snapshot holds them.

for each library its opcode and its text; then version (2 bytes), CRC-64 of all before (8 bytes)
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import Final

from pyrepl.errors import CommandError
from pyrepl.rdb import opcodes
from pyrepl.rdb.checksum import CHECKSUM_BYTES, crc64
from pyrepl.rdb.cursor import Cursor, Malformed, ShortInput
from pyrepl.rdb.payload import BAD_TRAILER, version_of
from pyrepl.rdb.reader import DEFAULT_LIMITS
from pyrepl.rdb.strings import decode_string
from pyrepl.rdb.types.row import Form
from pyrepl.rdb.versions import is_readable

_FUNCTION2: Final = opcodes.FUNCTION2.number
_VERSION: Final = Struct("<H")
_CHECKSUM: Final = Struct("<Q")
_TRAILER_BYTES: Final = _VERSION.size + CHECKSUM_BYTES


def encode_functions(texts: Iterable[bytes]) -> bytes:
    """Libraries, each the text that FUNCTION LOAD takes, as a payload."""
    form = Form()
    parts = [part for text in texts for part in (bytes((_FUNCTION2,)), form.text(text))]
    data = b"".join((*parts, _VERSION.pack(form.version.number)))
    return data + _CHECKSUM.pack(crc64(data))


def decode_functions(payload: bytes) -> list[bytes]:
    """The texts of a payload. Raises CommandError, with Redis's texts."""
    if len(payload) < _TRAILER_BYTES or not is_readable(version_of(payload), DEFAULT_LIMITS.relaxed):
        raise CommandError(BAD_TRAILER)
    checksum: int = _CHECKSUM.unpack_from(payload, len(payload) - CHECKSUM_BYTES)[0]
    if crc64(memoryview(payload)[:-CHECKSUM_BYTES]) != checksum:
        raise CommandError(BAD_TRAILER)
    body = payload[:-_TRAILER_BYTES]
    cursor = Cursor(DEFAULT_LIMITS.max_string_bytes, DEFAULT_LIMITS.max_count, len(body))
    cursor.load(body)
    texts: list[bytes] = []
    try:
        while cursor.pos < cursor.end:
            if cursor.byte() != _FUNCTION2:
                raise CommandError("ERR given type is not a function")
            texts.append(decode_string(cursor))
    except (Malformed, ShortInput):
        raise CommandError("ERR failed loading the given functions payload") from None
    return texts
