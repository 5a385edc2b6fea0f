"""The reader of snapshots: bytes in, in pieces cut anywhere, events out (events.py).

Not here: what a value's bytes mean (types/), where the bytes come from, and who keeps the keys. A snapshot is

    magic, then opcodes and keys in any order, then EOF and 8 bytes of checksum (since version 5)

where a key is [expiry] [idle time] [frequency] type key value. The reader keeps the bytes of one unfinished item, at
most: large collections are decoded element by element.

Strings, and collections that stay packed, are most of what a snapshot holds, so runs of them are decoded in one loop:
by `compiled.bulk`, or in the pure form by `plain_bulk`. All else, and anything that is not in order, is left to
`_decode_item`, which decodes one key or opcode of any kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct
from typing import Final, NamedTuple, final

from pyrepl.errors import CorruptData
from pyrepl.rdb import opcodes
from pyrepl.rdb.checksum import CHECKSUM_BYTES, crc64
from pyrepl.rdb.compiled import bulk
from pyrepl.rdb.cursor import UNLIMITED, Cursor, Malformed, ShortInput
from pyrepl.rdb.events import (
    Aux,
    End,
    FunctionLibrary,
    Header,
    LoadedKeys,
    Noted,
    RdbEvent,
    ResizeDb,
    SkippedEmpty,
    SkippedMetadata,
    SkippedModule,
    SlotInfo,
)
from pyrepl.rdb.length import decode_length
from pyrepl.rdb.plain_bulk import PlainBulk
from pyrepl.rdb.slots import decode_slot_import
from pyrepl.rdb.strings import decode_string
from pyrepl.rdb.taker import DictTaker, Into, PresizeFor, Taker
from pyrepl.rdb.types import module as modules
from pyrepl.rdb.types.row import Decode, ValueType
from pyrepl.rdb.types.string import STRING
from pyrepl.rdb.types.table import types_of
from pyrepl.rdb.values import StreamValue
from pyrepl.rdb.versions import CHECKSUMS, MAGIC_BYTES, Version, decode_magic, version_name

_NO_EXPIRY: Final = -(1 << 64)
"""Stands for "no expiry". It lies outside 64 bits, as the format takes every time of 64 bits."""

_NONE: Final = -1
"""Stands for "no idle time" and "no frequency", which are 0 or more."""

_TOLD_CLASSES: Final = 16
"""So many classes of modules' metadata are reported, each once; a file may name millions."""

_U64_LE: Final = Struct("<Q")
_I32: Final = Struct("<i")


class RdbLimits(NamedTuple):
    """What a snapshot may contain. Whatever exceeds a limit is an error before memory is spent. All are inclusive.

    `max_string_bytes` bounds each string of the file, packed collections included, before and after decompression.
    `max_count` bounds the declared elements of one collection. `max_databases`: databases 0 to this number less one.
    `relaxed`: versions above those known are read as well, up to the first type or opcode that is unknown (Valkey's
    rdb-version-check). `input_bytes` is the length of the whole input if it is known: a declared length that runs past
    it is then an error at once. `verify_checksum`: compare the checksum at the end, unless that is 0 (none was
    written).
    """

    max_string_bytes: int = 512 * 1024 * 1024
    max_count: int = (1 << 32) - 1
    max_databases: int = 1 << 31
    relaxed: bool = False
    input_bytes: int = UNLIMITED
    verify_checksum: bool = True


DEFAULT_LIMITS: Final = RdbLimits()

NOTHING_PACKED: Final[Mapping[int, type[bytes]]] = {}


def duplicate_key_error(db: int, key: bytes, offset: int) -> CorruptData:
    """The error for a key that a database has twice, for whoever keeps the keys of more than one LoadedKeys."""
    return CorruptData(f"RDB has duplicated key {key!r} in DB {db}", offset)


@final
class RdbReader:
    """Decodes one snapshot.

    `feed` takes the next bytes, however cut, and returns what they completed. Wherever the input is cut, the events are
    the same but for how keys are grouped into LoadedKeys. `feed` raises CorruptData for anything that cannot be right;
    the reader is of no use then, and keys reported before must not be served. Bytes past the end are kept for `unused`.

    `packed`: RDB type -> the class of bytes that a collection of this type is kept in, as it stands in the file; this
    room treats such a collection as a string. `into`: the taker of each database's strings, which gets them as they are
    decoded; LoadedKeys then counts them and does not hold them. A key that the taker holds already is a duplicate.
    `presize_for` is asked when the snapshot says how many keys a database has; in the compiled form the taker then
    makes room for as many as it answers.

    Invariants: bytes left of the cursor's mark are decoded and forgotten; between two calls of `feed`, `_crc` covers
    exactly these, and `_chunks` hold those right of the mark, `_held` bytes.
    """

    __slots__ = (
        "_bulk",
        "_chunks",
        "_count",
        "_crc",
        "_cursor",
        "_db",
        "_decode",
        "_events",
        "_expiry_ms",
        "_failure",
        "_freq",
        "_held",
        "_idle_s",
        "_into",
        "_is_aux",
        "_key",
        "_limits",
        "_metadata_classes",
        "_noted",
        "_opcodes",
        "_others",
        "_packed",
        "_plain",
        "_presize_for",
        "_row",
        "_strings",
        "_taken",
        "_taker",
        "_types",
        "finished",
        "version",
    )

    def __init__(
        self,
        limits: RdbLimits = DEFAULT_LIMITS,
        packed: Mapping[int, type[bytes]] = NOTHING_PACKED,
        into: Into | None = None,
        presize_for: PresizeFor | None = None,
    ) -> None:
        self._limits = limits
        self._packed = packed
        self._into = into
        self._presize_for = presize_for
        # One of the two takes runs of keys, from the header on: the compiled form where there is one.
        self._bulk: bulk.Bulk | None = None
        self._plain: PlainBulk | None = None
        self._cursor = Cursor(limits.max_string_bytes, limits.max_count, limits.input_bytes)
        self._chunks: list[bytes] = []
        self._held = 0
        self._crc = 0
        self._failure = ""
        """Why nothing can be read any more. Not the error, which would hold us and all that was read."""
        self.finished = False
        """Whether the last byte of the snapshot was read."""
        self.version: Version | None = None
        """The file's version, None until it is known."""
        self._types: dict[int, ValueType] = {}
        self._opcodes: dict[int, opcodes.Opcode] = {}
        self._db = 0
        # The item at work: attributes of the next key, then its type, key and half-decoded value.
        self._expiry_ms = _NO_EXPIRY
        self._idle_s = _NONE
        self._freq = _NONE
        self._row: ValueType | None = None
        self._key: bytes | None = None
        self._decode: Decode | None = None
        self._is_aux = False
        self._metadata_classes: set[str] = set()
        # Keys not reported yet, all of self._db.
        self._strings: dict[bytes, bytes] = {}
        """Those that nobody else takes in."""
        self._taker: Taker = DictTaker(self._strings) if into is None else into(0)
        self._taken = 0
        self._others: dict[bytes, object] = {}
        self._noted = Noted({}, {}, {})
        self._events: list[RdbEvent] = []

    @property
    def consumed(self) -> int:
        """How many bytes are decoded; when finished, the snapshot's length in bytes."""
        return self._cursor.base + self._cursor.mark

    @property
    def left_bytes(self) -> int | None:
        """Bytes of the input (the snapshot and what may follow it) that are not decoded yet; None if its length is not
        known."""
        return None if self._limits.input_bytes == UNLIMITED else self._limits.input_bytes - self.consumed

    def feed(self, data: bytes) -> list[RdbEvent]:
        """Decode the next bytes and return what they completed, in the order of the file. Raises CorruptData."""
        if self._failure:
            raise CorruptData(self._failure, self.consumed)
        self._chunks.append(data)
        self._held += len(data)
        cursor = self._cursor
        if self.finished or self._held < cursor.need - cursor.mark:
            return []
        buf = self._join()
        cursor.load(buf)
        if self._decode is None:
            # The cut fell before the value of this key: the key is decoded anew, and perhaps not by `_decode_item`.
            self._row = None
            self._key = None
        try:
            self._decode_all(cursor)
        except ShortInput:
            pass
        except Malformed as error:
            self._failure = self._explain(str(error))
            self._chunks = []
            raise CorruptData(self._failure, self.consumed) from None
        if self._limits.verify_checksum and not self.finished:
            self._crc = crc64(memoryview(buf)[: cursor.mark], self._crc)
        self._chunks = [buf[cursor.mark :]] if cursor.mark < cursor.end else []
        self._held = cursor.end - cursor.mark
        self._flush()
        events = self._events
        self._events = []
        return events

    def unused(self) -> bytes:
        """The bytes fed that lie past the snapshot's end (what is not decoded yet, as long as it is unfinished)."""
        return self._join()

    def check_complete(self) -> None:
        """The input has ended: raises CorruptData unless the snapshot is complete."""
        if self._failure:
            raise CorruptData(self._failure, self.consumed)
        if not self.finished:
            self._failure = self._explain(
                f"Unexpected end of the input: the snapshot goes on, {self._held} bytes of an unfinished item are here"
            )
            raise CorruptData(self._failure, self.consumed)

    def _join(self) -> bytes:
        chunks = self._chunks
        if len(chunks) == 1:
            return chunks[0]
        joined = b"".join(chunks)
        self._chunks = [joined]
        return joined

    def _decode_all(self, cursor: Cursor) -> None:
        """Decode until the snapshot ends. Raises ShortInput where the bytes at hand end before, and Malformed."""
        if self.version is None:
            self._decode_header(cursor)
        while not self.finished:
            if self._decode is not None:
                self._decode_value(cursor, self._decode)
            else:
                self._decode_strings(cursor)
                self._decode_item(cursor)

    def _decode_header(self, cursor: Cursor) -> None:
        magic = cursor.take(MAGIC_BYTES)
        version = decode_magic(magic, self._limits.relaxed)
        self._types = types_of(version)
        self._opcodes = opcodes.opcodes_of(version)
        self._packed = {number: kind for number, kind in self._packed.items() if number in self._types}
        if bulk.COMPILED:
            reads_ms = opcodes.EXPIRETIME_MS.number in self._opcodes
            reads_clocks = opcodes.IDLE.number in self._opcodes
            self._bulk = bulk.Bulk(self._packed, self._limits.max_string_bytes, reads_ms, reads_clocks)
        else:
            self._plain = PlainBulk(self._packed, self._opcodes)
        self.version = version
        cursor.commit()
        self._events.append(Header(version))

    def _decode_strings(self, cursor: Cursor) -> None:
        """Decode keys of strings and packed collections until anything else comes, which is left to _decode_item.

        When a cut fell between a key and what stands before it (its expiry, for instance), that is decoded already, and
        the key is left to _decode_item as well.
        """
        if self._expiry_ms != _NO_EXPIRY or self._idle_s != _NONE or self._freq != _NONE:
            return
        if self._bulk is not None:
            self._taker.run(self._bulk, cursor.buf, cursor.pos, self._others, self._noted)
            cursor.pos = cursor.mark = self._bulk.position
            self._taken += self._bulk.keys
            return
        assert self._plain is not None
        self._taken += self._plain.run(cursor, self._taker, self._others, self._noted)

    def _decode_item(self, cursor: Cursor) -> None:
        """Decode one opcode with its data, a key with a string, or any other key up to its value."""
        kind = cursor.byte()
        opcode = self._opcodes.get(kind)
        if opcode is not None:
            self._decode_opcode(cursor, opcode)
            cursor.commit()
            return
        row = self._types.get(kind)
        if row is None:
            assert self.version is not None
            raise Malformed(f"Unknown value type or opcode {kind} ({kind:#04x}) for {version_name(self.version)}")
        # The key is remembered before it is checked, so that an error names it.
        self._row = row
        key = decode_string(cursor)
        if self._taker.holds(key) or key in self._others:
            self._key = key
            raise Malformed(f"RDB has duplicated key {key!r} in DB {self._db}")
        if row.number == STRING:
            self._key = key
            value = decode_string(cursor)
            cursor.commit()
            self._taker.add(key, value)
            self._taken += 1
            self._finish_key(key)
            return
        self._key = key
        self._decode = row.start()
        cursor.commit()

    def _decode_value(self, cursor: Cursor, decode: Decode) -> None:
        """Go on decoding the value of the key at work, or a module's data that belongs to no key."""
        value = decode(cursor)
        cursor.commit()
        key = self._key
        self._decode = None
        if isinstance(value, modules.KeyMetadata):
            self._report_metadata(value)
            return
        if self._is_aux or key is None:
            self._is_aux = False
            if isinstance(value, modules.ModuleValue):
                self._report(SkippedModule(self._db, None, value.module))
            return
        if isinstance(value, modules.ModuleValue):
            self._drop_key()
            self._report(SkippedModule(self._db, key, value.module))
        elif not value and not isinstance(value, StreamValue):
            self._drop_key()
            self._report(SkippedEmpty(self._db, key))
        else:
            self._others[key] = value
            self._finish_key(key)

    def _report_metadata(self, metadata: modules.KeyMetadata) -> None:
        """Report each class of metadata once, as every key may have some. The key itself follows, with what stands
        before it."""
        for name in metadata.classes:
            if name not in self._metadata_classes and len(self._metadata_classes) < _TOLD_CLASSES:
                self._metadata_classes.add(name)
                self._report(SkippedMetadata(name))

    def _finish_key(self, key: bytes) -> None:
        """Note the attributes of the key just decoded."""
        if self._expiry_ms != _NO_EXPIRY:
            self._noted.expires[key] = self._expiry_ms
        if self._idle_s != _NONE:
            self._noted.idles[key] = self._idle_s
        if self._freq != _NONE:
            self._noted.frequencies[key] = self._freq
        self._drop_key()

    def _drop_key(self) -> None:
        self._expiry_ms = _NO_EXPIRY
        self._idle_s = _NONE
        self._freq = _NONE
        self._row = None
        self._key = None

    def _decode_opcode(self, cursor: Cursor, opcode: opcodes.Opcode) -> None:
        """Decode an opcode's data. Nothing is kept before all of it is there: after a cut it is decoded anew."""
        if opcode is opcodes.EXPIRETIME_MS:
            self._expiry_ms = cursor.i64_le()
        elif opcode is opcodes.EXPIRETIME:
            self._expiry_ms = _I32.unpack_from(cursor.buf, cursor.advance(4))[0] * 1000
        elif opcode is opcodes.IDLE:
            self._idle_s = decode_length(cursor)
        elif opcode is opcodes.FREQ:
            self._freq = cursor.byte()
        elif opcode is opcodes.SELECTDB:
            self._select(decode_length(cursor))
        elif opcode is opcodes.EOF:
            self._decode_end(cursor)
        elif opcode is opcodes.KEY_META:
            self._decode = modules.start_key_meta()
        elif opcode is opcodes.MODULE_AUX:
            self._decode = modules.start_aux()
            self._is_aux = True
        else:
            self._decode_hint(cursor, opcode)

    def _decode_hint(self, cursor: Cursor, opcode: opcodes.Opcode) -> None:
        """Decode the opcodes that are reported and change nothing in the reader."""
        if opcode is opcodes.AUX:
            name = decode_string(cursor)
            self._report(Aux(name, decode_string(cursor)))
        elif opcode is opcodes.RESIZEDB:
            keys = decode_length(cursor)
            self._report(ResizeDb(self._db, keys, decode_length(cursor)))
            if self._bulk is not None and self._into is not None and self._presize_for is not None:
                self._taker.foresee(self._bulk, self._presize_for(self._db, keys, self.left_bytes))
        elif opcode is opcodes.FUNCTION2:
            self._report(FunctionLibrary(decode_string(cursor)))
        elif opcode is opcodes.SLOT_INFO:
            self._report(SlotInfo(decode_length(cursor), decode_length(cursor), decode_length(cursor)))
        elif opcode is opcodes.SLOT_IMPORT:
            self._report(decode_slot_import(cursor))
        else:
            raise Malformed("Pre-release function format not supported")

    def _select(self, db: int) -> None:
        if db >= self._limits.max_databases:
            raise Malformed(
                f"Data file was created with a server configured to handle more than {self._limits.max_databases} "
                f"databases: it selects DB {db}"
            )
        self._flush()
        self._db = db
        if self._into is not None:
            self._taker = self._into(db)

    def _decode_end(self, cursor: Cursor) -> None:
        stop = cursor.pos
        checksum = 0
        if self.version in CHECKSUMS:
            checksum = _U64_LE.unpack_from(cursor.buf, cursor.advance(CHECKSUM_BYTES))[0]
            if checksum and self._limits.verify_checksum:
                actual = crc64(memoryview(cursor.buf)[:stop], self._crc)
                if actual != checksum:
                    raise Malformed(f"Wrong RDB checksum expected: ({actual:x}) but got ({checksum:x})")
        self.finished = True
        self._report(End(checksum))

    def _report(self, event: RdbEvent) -> None:
        self._flush()
        self._events.append(event)

    def _flush(self) -> None:
        """Turn the keys gathered so far into an event."""
        if not self._taken and not self._others:
            return
        others = list(self._others.items())
        self._events.append(LoadedKeys(self._db, self._strings, others, *self._noted, self._taken + len(others)))
        self._strings = {}
        if self._into is None:
            self._taker = DictTaker(self._strings)
        self._taken = 0
        self._others = {}
        self._noted = Noted({}, {}, {})

    def _explain(self, message: str) -> str:
        """An error's text with the type and the key that were being decoded; the broken item begins at `consumed`."""
        where = ""
        if self._is_aux:
            where = " in module data outside the keys"
        elif self._row is not None:
            where = f" in a value of type {self._row.name}"
            if self._key is not None:
                where += f", key {self._key[:128]!r} of DB {self._db}"
        return message + where
