"""Hashes: pair by pair, one zipmap, ziplist or listpack; with field expiries in the forms of each vendor.

| type | versions | the value's bytes |
|---|---|---|
| 4 | 1 on | count, then each field and value |
| 9 | 1 on | a string: zipmap |
| 13 | 1 on | a string: ziplist, field, value, ... |
| 16 | 10 on | a string: listpack, field, value, ... |
| 22 | 12 | count, then each expiry (a length: Unix ms, 0 none), field, value (7.4 pre-release) |
| 23 | 12 | a string: listpack, field, value, expiry, ... (7.4 pre-release) |
| 24 | 12 | the earliest expiry (8 bytes), then as 22 with each expiry less the earliest, plus 1 |
| 25 | 12 | the earliest expiry (8 bytes), then as 23 |
| 22 | 80 | count, then each field, value, expiry (8 bytes, signed Unix ms, -1 none) (Valkey 9) |

The listpacks of 23 and 25 are ordered by expiry, fields without one last.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, final

from pyrepl.rdb.cursor import Cursor, Malformed
from pyrepl.rdb.length import decode_count, decode_length, encode_length
from pyrepl.rdb.packed.listpack import decode_listpack, encode_entry, encode_integer_entry, join_entries
from pyrepl.rdb.packed.ziplist import decode_ziplist
from pyrepl.rdb.packed.zipmap import decode_zipmap
from pyrepl.rdb.strings import decode_string
from pyrepl.rdb.types.row import CannotHold, Decode, Encoded, Form, ValueType
from pyrepl.rdb.values import HashWithTtls
from pyrepl.rdb.versions import LISTPACKS, Vendor, both, redis_only, valkey_only

HASH: Final = 4
HASH_ZIPMAP: Final = 9
HASH_ZIPLIST: Final = 13
HASH_LISTPACK: Final = 16
HASH_TTLS_PRE_GA: Final = 22
HASH_TTL_LISTPACK_PRE_GA: Final = 23
HASH_TTLS: Final = 24
HASH_TTL_LISTPACK: Final = 25
VALKEY_HASH_TTLS: Final = 22

_REDIS_TTLS_SINCE: Final = 12
_VALKEY_TTLS_SINCE: Final = 80
_REDIS_TTL_VERSIONS: Final = redis_only(_REDIS_TTLS_SINCE)
_VALKEY_TTL_VERSIONS: Final = valkey_only(_VALKEY_TTLS_SINCE)
FIELD_TTL_VERSIONS: Final = both(_REDIS_TTLS_SINCE)
"""The versions that hold times to live of fields, in the form of one vendor or of the other."""

MAX_FIELD_TTL_MS: Final = (1 << 48) - 2
"""Inclusive; Redis refuses to load a later expiry (EB_EXPIRE_TIME_MAX)."""

NO_TTL: Final = -1
"""Valkey's mark of a field without expiry."""

_I64: Final = Struct("<q")


@final
class _HashDecoder:
    """Pair by pair."""

    __slots__ = ("count", "fields", "left")

    def __init__(self) -> None:
        self.count = -1
        self.left = 0
        self.fields: dict[bytes, bytes] = {}

    def decode(self, cursor: Cursor) -> object:
        if self.count < 0:
            self.left = self.count = decode_count(cursor)
            cursor.commit()
        fields = self.fields
        while self.left > 0:
            field = decode_string(cursor)
            fields[field] = decode_string(cursor)
            cursor.commit()
            self.left -= 1
        if len(fields) != self.count:
            raise _duplicate()
        return fields


@final
class _TtlHashDecoder:
    """Field by field with expiries: Redis's 24 (`earliest` at the start), its pre-release 22, Valkey's 22."""

    __slots__ = ("count", "earliest", "expires_ms", "fields", "has_earliest", "left", "vendor")

    def __init__(self, vendor: Vendor, has_earliest: bool = False) -> None:
        self.vendor = vendor
        self.has_earliest = has_earliest
        self.count = -1
        self.left = 0
        self.earliest = 1
        self.fields: dict[bytes, bytes] = {}
        self.expires_ms: dict[bytes, int] = {}

    def decode(self, cursor: Cursor) -> object:
        if self.count < 0:
            self._decode_head(cursor)
        while self.left > 0:
            if self.vendor is Vendor.VALKEY:
                self._decode_valkey_field(cursor)
            else:
                self._decode_redis_field(cursor)
            cursor.commit()
            self.left -= 1
        if len(self.fields) != self.count:
            raise _duplicate()
        return _with_ttls(self.fields, self.expires_ms)

    def _decode_head(self, cursor: Cursor) -> None:
        if self.has_earliest:
            self.earliest = _checked_ttl(cursor.i64_le())
        self.left = self.count = decode_count(cursor)
        cursor.commit()

    def _decode_redis_field(self, cursor: Cursor) -> None:
        relative = decode_length(cursor)
        field = decode_string(cursor)
        value = decode_string(cursor)
        if relative:
            self.expires_ms[field] = _checked_ttl(self.earliest + relative - 1)
        self.fields[field] = value

    def _decode_valkey_field(self, cursor: Cursor) -> None:
        field = decode_string(cursor)
        value = decode_string(cursor)
        at_ms = cursor.i64_le()
        if at_ms != NO_TTL:
            if at_ms < 0:
                raise Malformed(f"Hash field expiry {at_ms}, expected Unix ms or -1")
            self.expires_ms[field] = at_ms
        self.fields[field] = value


def _checked_ttl(at_ms: int) -> int:
    if at_ms < 0 or at_ms > MAX_FIELD_TTL_MS:
        raise Malformed(f"Hash field expiry {at_ms}, expected 0 to {MAX_FIELD_TTL_MS}")
    return at_ms


def _with_ttls(fields: dict[bytes, bytes], expires_ms: dict[bytes, int]) -> object:
    return HashWithTtls(fields, expires_ms) if expires_ms else fields


def _decode_hash_zipmap(cursor: Cursor) -> object:
    return _pair_up(decode_zipmap(decode_string(cursor)))


def _decode_hash_ziplist(cursor: Cursor) -> object:
    return _pair_up(decode_ziplist(decode_string(cursor)))


def _decode_hash_listpack(cursor: Cursor) -> object:
    return _pair_up(decode_listpack(decode_string(cursor)))


def _decode_ttl_listpack_pre_ga(cursor: Cursor) -> object:
    return _group_by_three(decode_listpack(decode_string(cursor)))


def _decode_ttl_listpack(cursor: Cursor) -> object:
    _checked_ttl(cursor.i64_le())
    return _group_by_three(decode_listpack(decode_string(cursor)))


def _pair_up(elements: list[bytes]) -> dict[bytes, bytes]:
    if len(elements) & 1:
        raise Malformed(f"Hash: a field without value, {len(elements)} elements")
    fields = dict(zip(elements[::2], elements[1::2]))
    if len(fields) * 2 != len(elements):
        raise _duplicate()
    return fields


def _group_by_three(elements: list[bytes]) -> object:
    if len(elements) % 3:
        raise Malformed(f"Hash with expiries: {len(elements)} elements, expected a multiple of 3")
    fields: dict[bytes, bytes] = {}
    expires_ms: dict[bytes, int] = {}
    for at in range(0, len(elements), 3):
        field = elements[at]
        text = elements[at + 2]
        if not text.isdigit() or len(text) > 16:
            raise Malformed(f"Hash field expiry {text[:40]!r}, expected Unix ms")
        fields[field] = elements[at + 1]
        if text != b"0":
            expires_ms[field] = _checked_ttl(int(text))
    if len(fields) * 3 != len(elements):
        raise _duplicate()
    return _with_ttls(fields, expires_ms)


def _duplicate() -> Malformed:
    return Malformed("Duplicate hash fields detected")


def encode_hash(fields: dict[bytes, bytes], form: Form) -> Encoded:
    """A listpack if the hash is small and the version has listpacks, else pair by pair."""
    if form.version in LISTPACKS and _is_small(fields, form):
        entries: list[bytes] = []
        for field, value in fields.items():
            entries.append(encode_entry(field))
            entries.append(encode_entry(value))
        return HASH_LISTPACK, form.text(join_entries(entries))
    out = bytearray(encode_length(len(fields)))
    text = form.text
    for field, value in fields.items():
        out += text(field)
        out += text(value)
    return HASH, bytes(out)


def encode_hash_with_ttls(value: HashWithTtls, form: Form) -> Encoded:
    """Encode a hash in the form of the version's vendor. Raises CannotHold where the version has no such form."""
    if not value.expires_ms:
        return encode_hash(value.fields, form)
    if form.version in _VALKEY_TTL_VERSIONS:
        return VALKEY_HASH_TTLS, _encode_valkey(value, form)
    if form.version not in _REDIS_TTL_VERSIONS:
        raise CannotHold(
            f"a hash with field expiries needs RDB version {_REDIS_TTLS_SINCE} or {_VALKEY_TTLS_SINCE}, "
            f"not {form.version.number}: {len(value.expires_ms)} of its {len(value.fields)} fields expire"
        )
    if _is_small(value.fields, form):
        return HASH_TTL_LISTPACK, _encode_ttl_listpack(value, form)
    return HASH_TTLS, _encode_ttls(value, form)


def _is_small(fields: dict[bytes, bytes], form: Form) -> bool:
    packing = form.packing
    return (
        len(fields) <= packing.hash_max_listpack_entries
        and max(map(len, fields), default=0) <= packing.hash_max_listpack_value
        and max(map(len, fields.values()), default=0) <= packing.hash_max_listpack_value
    )


def _encode_valkey(value: HashWithTtls, form: Form) -> bytes:
    out = bytearray(encode_length(len(value.fields)))
    for field, text in value.fields.items():
        out += form.text(field)
        out += form.text(text)
        out += _I64.pack(value.expires_ms.get(field, NO_TTL))
    return bytes(out)


def _encode_ttls(value: HashWithTtls, form: Form) -> bytes:
    earliest = min(value.expires_ms.values())
    out = bytearray(_I64.pack(earliest) + encode_length(len(value.fields)))
    for field, text in value.fields.items():
        at_ms = value.expires_ms.get(field)
        out += encode_length(0 if at_ms is None else at_ms - earliest + 1)
        out += form.text(field)
        out += form.text(text)
    return bytes(out)


def _encode_ttl_listpack(value: HashWithTtls, form: Form) -> bytes:
    # Redis keeps the listpack as it comes and removes expired fields from its start: the order is part of the data.
    expires_ms = value.expires_ms
    rows = [(expires_ms.get(field, MAX_FIELD_TTL_MS + 1), field) for field in value.fields]
    entries: list[bytes] = []
    for at_ms, field in sorted(rows):
        entries.append(encode_entry(field))
        entries.append(encode_entry(value.fields[field]))
        entries.append(encode_integer_entry(at_ms if at_ms <= MAX_FIELD_TTL_MS else 0))
    return _I64.pack(min(expires_ms.values())) + form.text(join_entries(entries))


def _start_plain() -> Decode:
    return _HashDecoder().decode


def _start_zipmap() -> Decode:
    return _decode_hash_zipmap


def _start_ziplist() -> Decode:
    return _decode_hash_ziplist


def _start_listpack() -> Decode:
    return _decode_hash_listpack


def _start_ttls_pre_ga() -> Decode:
    return _TtlHashDecoder(Vendor.REDIS).decode


def _start_ttl_listpack_pre_ga() -> Decode:
    return _decode_ttl_listpack_pre_ga


def _start_ttls() -> Decode:
    return _TtlHashDecoder(Vendor.REDIS, has_earliest=True).decode


def _start_ttl_listpack() -> Decode:
    return _decode_ttl_listpack


def _start_valkey_ttls() -> Decode:
    return _TtlHashDecoder(Vendor.VALKEY).decode


ROWS: Final[tuple[ValueType, ...]] = (
    ValueType(HASH, "hash-hashtable", both(1), _start_plain),
    ValueType(HASH_ZIPMAP, "hash-zipmap", both(1), _start_zipmap),
    ValueType(HASH_ZIPLIST, "hash-ziplist", both(1), _start_ziplist),
    ValueType(HASH_LISTPACK, "hash-listpack", LISTPACKS, _start_listpack),
    ValueType(HASH_TTLS_PRE_GA, "hash-hashtable-md-pre-release", _REDIS_TTL_VERSIONS, _start_ttls_pre_ga),
    ValueType(
        HASH_TTL_LISTPACK_PRE_GA, "hash-listpack-md-pre-release", _REDIS_TTL_VERSIONS, _start_ttl_listpack_pre_ga
    ),
    ValueType(HASH_TTLS, "hash-hashtable-md", _REDIS_TTL_VERSIONS, _start_ttls),
    ValueType(HASH_TTL_LISTPACK, "hash-listpack-md", _REDIS_TTL_VERSIONS, _start_ttl_listpack),
    ValueType(VALKEY_HASH_TTLS, "hash-volatile-items", _VALKEY_TTL_VERSIONS, _start_valkey_ttls),
)
