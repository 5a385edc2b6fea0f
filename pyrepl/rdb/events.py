"""The events that the reader reports: plain records, in the order of the file. The log words them for people."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from pyrepl.rdb.versions import Version


class Header(NamedTuple):
    """The file's version."""

    version: Version


class Aux(NamedTuple):
    """A field about the snapshot itself (`repl-id`, `redis-ver`, ...). Unknown names are to be ignored."""

    name: bytes
    value: bytes


class FunctionLibrary(NamedTuple):
    """A library as FUNCTION LOAD takes it, `#!lua name=...` line included."""

    text: bytes


class ResizeDb(NamedTuple):
    """A hint: how many keys follow in this database, and how many of them expire. Nobody verifies these numbers."""

    db: int
    keys: int
    expires: int


class SlotInfo(NamedTuple):
    """Hint of a cluster node: keys and expiring keys of a slot, written before its keys."""

    slot: int
    keys: int
    expires: int


class SlotImport(NamedTuple):
    """Valkey 9: these inclusive slot ranges were being imported when the snapshot was taken."""

    job: bytes
    ranges: tuple[tuple[int, int], ...]


class Noted(NamedTuple):
    """What a snapshot says of keys beside their values, by key."""

    expires: dict[bytes, int]
    """Unix ms."""
    idles: dict[bytes, int]
    """Seconds since the last access."""
    frequencies: dict[bytes, int]
    """Counters, 0 to 255."""


class LoadedKeys(NamedTuple):
    """Keys of one database, as many as the bytes at hand held.

    `strings` are ready to be merged by dict.update; `others` are (key, list | set | dict | HashWithTtls |
    StreamValue). `total` is how many keys there are, those included that went straight `into` a dictionary of the
    reader's caller and are not handed over. `expires` (Unix ms), `idle_s` and `freq` hold the keys that have one, past
    times included.

    No key occurs twice in one record. If a key comes in two records, only the keyspace can find out: it has then grown
    by less than the record's size, and duplicate_key_error makes the error.
    """

    db: int
    strings: dict[bytes, bytes]
    others: list[tuple[bytes, object]]
    expires: dict[bytes, int]
    idle_s: dict[bytes, int]
    freq: dict[bytes, int]
    total: int


class SkippedModule(NamedTuple):
    """A module's value was left out: `key` in `db`, or None for data outside the keys. `module` is its type's name."""

    db: int
    key: bytes | None
    module: str


class SkippedMetadata(NamedTuple):
    """Metadata that a module keeps of keys was left out; reported once for each class of metadata."""

    metadata_class: str


class SkippedEmpty(NamedTuple):
    """A collection without elements was left out, as Redis does."""

    db: int
    key: bytes


class End(NamedTuple):
    """The last byte was read. `checksum` is the verified CRC-64; 0 where the writer had turned it off or has none."""

    checksum: int


RdbEvent: TypeAlias = (
    Header
    | Aux
    | FunctionLibrary
    | ResizeDb
    | SlotInfo
    | SlotImport
    | LoadedKeys
    | SkippedModule
    | SkippedMetadata
    | SkippedEmpty
    | End
)
