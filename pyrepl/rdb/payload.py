"""The payload that DUMP answers and RESTORE takes: one value with its type byte, the RDB version and a CRC-64.

    type byte, the value's bytes, version (2 bytes), CRC-64 of all before (8 bytes), least significant byte first

Metadata that modules keep of the key (Redis 8.6) stands before the type byte, and is stepped over.
A payload has no magic: the number of the version alone names the vendor too; 80 is Valkey's.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from pyrepl.errors import CommandError
from pyrepl.rdb.checksum import CHECKSUM_BYTES, crc64
from pyrepl.rdb.cursor import Cursor, Malformed, ShortInput
from pyrepl.rdb.opcodes import KEY_META, opcodes_of
from pyrepl.rdb.reader import DEFAULT_LIMITS, RdbLimits
from pyrepl.rdb.types.module import ModuleValue, start_key_meta
from pyrepl.rdb.types.row import Form
from pyrepl.rdb.types.table import encode_value, types_of
from pyrepl.rdb.values import StreamValue
from pyrepl.rdb.versions import Version, is_readable, numbered

BAD_TRAILER: Final = "ERR DUMP payload version or checksum are wrong"
BAD_FORMAT: Final = "ERR Bad data format"

_VERSION: Final = Struct("<H")
_CHECKSUM: Final = Struct("<Q")
_TRAILER_BYTES: Final = _VERSION.size + CHECKSUM_BYTES


def encode_payload(value: object, form: Form) -> bytes:
    """A plain value (values.py) as DUMP answers it. Raises CannotHold, TypeError."""
    kind, body = encode_value(value, form)
    data = b"".join((bytes((kind,)), body, _VERSION.pack(form.version.number)))
    return data + _CHECKSUM.pack(crc64(data))


def version_of(payload: bytes) -> Version:
    """The version that a payload names. The payload must be long enough for a trailer."""
    return numbered(_VERSION.unpack_from(payload, len(payload) - _TRAILER_BYTES)[0])


def decode_payload(payload: bytes, limits: RdbLimits = DEFAULT_LIMITS) -> object:
    """The plain value of a payload. Raises CommandError with Redis's two texts, BAD_TRAILER and BAD_FORMAT."""
    if len(payload) < _TRAILER_BYTES:
        raise CommandError(BAD_TRAILER)
    version = version_of(payload)
    checksum: int = _CHECKSUM.unpack_from(payload, len(payload) - CHECKSUM_BYTES)[0]
    if not is_readable(version, limits.relaxed):
        raise CommandError(BAD_TRAILER)
    if limits.verify_checksum and crc64(memoryview(payload)[:-CHECKSUM_BYTES]) != checksum:
        raise CommandError(BAD_TRAILER)
    try:
        return _decode_body(payload[:-_TRAILER_BYTES], version, limits)
    except (Malformed, ShortInput):
        raise CommandError(BAD_FORMAT) from None


def _decode_body(body: bytes, version: Version, limits: RdbLimits) -> object:
    """The value that fills `body` exactly. Raises Malformed, ShortInput."""
    cursor = Cursor(limits.max_string_bytes, limits.max_count, len(body))
    cursor.load(body)
    kind = cursor.byte()
    if opcodes_of(version).get(kind) is KEY_META:
        start_key_meta()(cursor)
        kind = cursor.byte()
    row = types_of(version).get(kind)
    if row is None:
        raise Malformed("unknown type")
    value = row.start()(cursor)
    if isinstance(value, ModuleValue):
        raise Malformed(f"a value of module {value.module}")
    if not value and not isinstance(value, bytes | StreamValue):
        raise Malformed("an empty collection")
    if cursor.pos != len(body):
        raise Malformed(f"{len(body) - cursor.pos} bytes behind the value")
    return value
