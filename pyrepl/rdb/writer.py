"""The writer: takes keys and returns the bytes of a snapshot, for a given RDB version. types/ encodes the values.

A snapshot is made by calling, in this order, `begin`, `functions`, then for each database `select_db` and
`encode_strings` or `encode_keys` as often as there are batches, and `end`. Each call returns bytes to be written
behind those of the one before; the checksum at the end covers them all.

The caller chooses the keys of a batch, and writes the bytes. A batch is encoded in one piece; where the sizes of the
values are not known before, `max_bytes` bounds its memory:

    keys = iter(database.items())
    while batch := writer.encode_keys(keys, expires, max_bytes=1 << 20):
        send(batch)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from struct import Struct
from types import MappingProxyType
from typing import Final, final

from pyrepl.rdb import opcodes
from pyrepl.rdb.checksum import crc64
from pyrepl.rdb.length import SHORT_LENGTHS, encode_length
from pyrepl.rdb.settings import DEFAULT_PACKING, PackingSettings
from pyrepl.rdb.strings import MAX_INTEGER_BYTES, MIN_COMPRESSED_BYTES, encode_string
from pyrepl.rdb.types.row import CannotHold, Form
from pyrepl.rdb.types.table import encode_value
from pyrepl.rdb.versions import (
    CHECKSUMS,
    DEFAULT_VERSION,
    WRITABLE_VERSIONS,
    Vendor,
    Version,
    encode_magic,
)

_AUX: Final = bytes((opcodes.AUX.number,))
_RESIZEDB: Final = bytes((opcodes.RESIZEDB.number,))
_SELECTDB: Final = bytes((opcodes.SELECTDB.number,))
_FUNCTION2: Final = bytes((opcodes.FUNCTION2.number,))
_EXPIRETIME_MS: Final = opcodes.EXPIRETIME_MS.number
_IDLE: Final = bytes((opcodes.IDLE.number,))
_FREQ: Final = opcodes.FREQ.number
_EOF: Final = bytes((opcodes.EOF.number,))

_MS_EXPIRY: Final = Struct("<Bq")
_S_EXPIRY: Final = Struct("<Bi")
_CHECKSUM: Final = Struct("<Q")

_MAX_S_EXPIRY: Final = (1 << 31) - 1

_STRING_KEYS: Final[tuple[bytes, ...]] = tuple(b"\x00" + length for length in SHORT_LENGTHS)
"""The type byte of a string with the length of its key."""

_NINE: Final = 0x39
"""A text that begins with a greater byte is no integer."""

_SHORT: Final = len(SHORT_LENGTHS)

UNBOUNDED: Final = 1 << 62
EMPTY: Final[Mapping[bytes, bytes]] = MappingProxyType({})


@final
class RdbWriter:
    """Encodes one snapshot in RDB version `version`.

    `checksum`: end with a CRC-64 (else zeros, as `rdbchecksum no`; before version 5 there is none). `compress`: LZF
    for strings where it pays, as `rdbcompression yes`; only done when the native module is there.
    """

    __slots__ = ("_checksum", "_crc", "_form", "_has_ms_expiry", "compresses", "packing", "version")

    def __init__(
        self,
        version: Version = DEFAULT_VERSION,
        checksum: bool = True,
        compress: bool = False,
        packing: PackingSettings = DEFAULT_PACKING,
    ) -> None:
        """Raises ValueError for a version that cannot be written."""
        if version not in WRITABLE_VERSIONS:
            known = tuple(each.number for each in WRITABLE_VERSIONS)
            raise ValueError(f"cannot write RDB version {version.number}, known are {known}")
        self.version = version
        self._checksum = checksum and version in CHECKSUMS
        self._has_ms_expiry = version in opcodes.EXPIRETIME_MS.versions
        self._crc = 0
        self._form = Form(version, compress, packing)
        self.packing = packing
        self.compresses = self._form.text is not encode_string
        """Whether strings are compressed where that pays."""

    def begin(self, aux: Iterable[tuple[bytes, bytes]] = ()) -> bytes:
        """The magic and the fields about the snapshot; versions before 7 have no such fields, and leave them out."""
        parts = [encode_magic(self.version)]
        if self.version in opcodes.AUX.versions:
            for name, value in aux:
                parts += (_AUX, encode_string(name), encode_string(value))
        return self.counted(b"".join(parts))

    def functions(self, libraries: Iterable[bytes]) -> bytes:
        """Function libraries, each the text that FUNCTION LOAD takes. Raises CannotHold before version 10."""
        parts: list[bytes] = []
        for text in libraries:
            if self.version not in opcodes.FUNCTION2.versions:
                since = opcodes.FUNCTION2.versions.since(Vendor.REDIS)
                assert since is not None
                raise CannotHold(
                    f"function libraries need RDB version {since.number}, not {self.version.number}: {text[:64]!r}"
                )
            parts += (_FUNCTION2, self._form.text(text))
        return self.counted(b"".join(parts))

    def select_db(self, db: int, size: int, expires_size: int) -> bytes:
        """The keys that follow are of database `db`, which has `size` keys, `expires_size` of them expiring."""
        parts = [_SELECTDB, encode_length(db)]
        if self.version in opcodes.RESIZEDB.versions:
            parts += (_RESIZEDB, encode_length(size), encode_length(expires_size))
        return self.counted(b"".join(parts))

    def encode_strings(self, items: Iterable[tuple[bytes, bytes]], max_bytes: int = UNBOUNDED) -> bytes:
        """Encode strings without a time to live, the fastest batch: (key, value) as `dict.items()` gives them.

        Once `max_bytes` of values are encoded, nothing more is taken from `items`. Empty bytes: `items` was at its end.
        """
        parts: list[bytes] = []
        text = self._form.text
        # Values of more bytes than this go through `text`, which may compress them.
        plain_limit = _SHORT if text is encode_string else MIN_COMPRESSED_BYTES
        for key, value in items:
            size = len(key)
            if size < plain_limit and (size > MAX_INTEGER_BYTES or not size or key[0] > _NINE):
                head = _STRING_KEYS[size]
            else:
                head = b"\x00"
                key = text(key)
            size = len(value)
            if size < plain_limit and (size > MAX_INTEGER_BYTES or not size or value[0] > _NINE):
                parts += (head, key, SHORT_LENGTHS[size], value)
            else:
                parts += (head, key, text(value))
            max_bytes -= size
            if max_bytes <= 0:
                break
        return self.counted(b"".join(parts))

    def encode_keys(
        self,
        items: Iterable[tuple[bytes, object]],
        expires: Mapping[bytes, int],
        max_bytes: int = UNBOUNDED,
        clocks: Mapping[bytes, bytes] = EMPTY,
    ) -> bytes:
        """Encode keys with plain values of any type (values.py). `expires` (key -> Unix ms) may hold other keys too, as
        may `clocks` (key -> bytes of `idle` or `frequency`).

        Once `max_bytes` of values are encoded, nothing more is taken from `items`. Empty bytes: `items` was at its end.
        Raises CannotHold, naming the key, for a value that the version cannot hold; TypeError for no plain value.
        """
        parts: list[bytes] = []
        for key, value in items:
            at_ms = expires.get(key)
            if at_ms is not None:
                parts.append(self._expiry(key, at_ms))
            clock = clocks.get(key)
            if clock is not None:
                parts.append(clock)
            encoded = self.encode_key(key, value)
            parts.append(encoded)
            max_bytes -= len(encoded)
            if max_bytes <= 0:
                break
        return self.counted(b"".join(parts))

    def encode_key(self, key: bytes, value: object) -> bytes:
        """Encode one key of any type without its time to live. The caller must pass the bytes to `counted`. Raises as
        encode_keys."""
        if type(value) is bytes:
            return b"".join((b"\x00", self._form.text(key), self._form.text(value)))
        try:
            kind, body = encode_value(value, self._form)
        except CannotHold as error:
            raise CannotHold(f"key {key[:128]!r}: {error}") from None
        return b"".join((bytes((kind,)), self._form.text(key), body))

    def end(self) -> bytes:
        """The end mark and the checksum."""
        tail = self.counted(_EOF)
        if self.version not in CHECKSUMS:
            return tail
        return tail + _CHECKSUM.pack(self._crc)

    @property
    def has_clocks(self) -> bool:
        """Does the version have places for idle times and frequencies?"""
        return self.version in opcodes.IDLE.versions

    def idle(self, seconds: int) -> bytes:
        """The mark before a key that nobody accessed for so long; for `encode_keys`."""
        return _IDLE + encode_length(seconds)

    def frequency(self, counter: int) -> bytes:
        """The mark before a key that says how often it was accessed (0..255, LFU); for `encode_keys`."""
        return bytes((_FREQ, counter))

    def _expiry(self, key: bytes, at_ms: int) -> bytes:
        if self._has_ms_expiry:
            return _MS_EXPIRY.pack(_EXPIRETIME_MS, at_ms)
        # Rounded up: a key must not go before its time.
        at_s = -(-at_ms // 1000)
        if not 0 <= at_s <= _MAX_S_EXPIRY:
            raise CannotHold(f"key {key[:128]!r}: RDB version {self.version.number} has no expiry at {at_ms} ms")
        return _S_EXPIRY.pack(opcodes.EXPIRETIME.number, at_s)

    def counted(self, data: bytes) -> bytes:
        """Take `data`, which goes out next, into the checksum, and return it. Code that encodes keys by itself calls
        this (`keyspace.borrowed_walk`)."""
        if self._checksum:
            self._crc = crc64(data, self._crc)
        return data
