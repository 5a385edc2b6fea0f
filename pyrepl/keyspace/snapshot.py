"""A snapshot as blocks of bytes: goes through all databases, and adds the header and the end.

`walk` makes the bytes of one database, in the format of `pyrepl.rdb`; the daemon writes the blocks to a file or socket.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pyrepl.keyspace.access import AccessTracker
from pyrepl.keyspace.database import Database, Keyspace
from pyrepl.keyspace.walk import walk
from pyrepl.rdb.settings import PackingSettings
from pyrepl.rdb.types.hash import FIELD_TTL_VERSIONS
from pyrepl.rdb.types.stream import IDMP_VERSIONS
from pyrepl.rdb.values import StreamValue
from pyrepl.rdb.versions import Vendor, Version, VersionSet, lowest_version
from pyrepl.rdb.writer import RdbWriter

_BLOCK_BYTES: Final = 32 * 1024
"""The size of a block, which goes out in one write. A child holds up to four blocks in memory of its own; larger blocks
were not faster."""
_BLOCK_KEYS: Final = 1 << 20
_SLOW_BATCH_US: Final = 50_000
"""With a delay per key, a block has so few keys that one pause lasts about this long."""


@dataclass(frozen=True)
class SnapshotJob:
    """The data to write, and the form in which to write it. `aux` are the fields of the header, in order."""

    keyspace: Keyspace
    aux: tuple[tuple[bytes, bytes], ...]
    version: Version
    packing: PackingSettings
    checksum: bool = True
    compress: bool = True
    functions: tuple[bytes, ...] = ()
    has_keys: bool = True
    """False: the keys are left out."""
    access: AccessTracker | None = None
    """Idle times or frequencies are written too while it keeps them."""
    key_save_delay_us: int = 0
    """rdb-key-save-delay: the writer of the blocks sleeps so long for each key; to make a short snapshot long."""

    @property
    def key_count(self) -> int:
        """How many keys there are to write."""
        return self.keyspace.key_count if self.has_keys else 0

    def blocks(self) -> Iterator[tuple[bytes, int]]:
        """Yields (bytes, keys written so far). Raises CannotHold for data that the version cannot hold.

        The header is made at the call, not at the first block: a header made before a fork costs the child no memory of
        its own.
        """
        writer = RdbWriter(self.version, checksum=self.checksum, compress=self.compress, packing=self.packing)
        return self._behind(writer.begin(self.aux), writer)

    def _behind(self, ready: bytes, writer: RdbWriter) -> Iterator[tuple[bytes, int]]:
        """The blocks, beginning with the bytes of `ready`."""
        if self.functions:
            ready += writer.functions(self.functions)
        done = before = 0
        for db in self.keyspace.databases if self.has_keys else ():
            if not db.key_count:
                continue
            ready += writer.select_db(db.index, db.key_count, db.timed_count)
            clocks = None if self.access is None else self.access.clocks(db)
            walking = walk(db, writer, _BLOCK_BYTES, self._block_keys(), clocks)
            while block := walking.block():
                # A small database goes out together with the next one.
                ready += block
                del block
                done = before + walking.keys
                if len(ready) >= _BLOCK_BYTES or self.key_save_delay_us:
                    yield ready, done
                    ready = b""
            before = done
        yield ready + writer.end(), done

    def _block_keys(self) -> int:
        if self.key_save_delay_us <= 0:
            return _BLOCK_KEYS
        return max(1, min(_BLOCK_KEYS, _SLOW_BATCH_US // self.key_save_delay_us))


def needs_version(keyspace: Keyspace, *, reader: Vendor = Vendor.REDIS, idmp: bool = False) -> Version:
    """The lowest RDB version that can hold the data, in the line of versions that `reader` reads.

    `idmp`: the version must hold idempotency ids of streams too, because the reader knows a version that can.
    """
    needs: list[VersionSet] = []
    if any(_has_field_ttls(db) for db in keyspace.databases):
        needs.append(FIELD_TTL_VERSIONS)
    if idmp and any(_has_idmp(db) for db in keyspace.databases):
        needs.append(IDMP_VERSIONS)
    return lowest_version(needs, reader)


def _has_idmp(db: Database) -> bool:
    streams = (db.store.get(key) for key in db.idmp_streams)
    return any(type(value) is StreamValue and value.idmp and not value.idmp.tells_nothing for value in streams)


def _has_field_ttls(db: Database) -> bool:
    return any(getattr(db.store.get(key), "expires", None) for key in db.volatile_hashes)
