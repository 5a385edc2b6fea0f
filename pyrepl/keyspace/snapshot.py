"""A snapshot as blocks of bytes: the walk over all databases. Where the blocks go is the daemon's, the format is rdb's.

Hot: the whole data set passes here. Plain strings are handed over in batches, so that nothing is done per key twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from pyrepl.keyspace.database import Database, Keyspace
from pyrepl.keyspace.values import plain_value
from pyrepl.rdb.settings import PackingSettings
from pyrepl.rdb.versions import lowest_version
from pyrepl.rdb.writer import RdbWriter

_BATCH_KEYS: Final = 2048
_BLOCK_BYTES: Final = 256 * 1024
_SLOW_BATCH_US: Final = 50_000
"""With a delay per key, batches so small that the pauses stay about this long."""


@dataclass(frozen=True)
class SnapshotJob:
    """What to write and how. `aux` are the fields of the header, in order."""

    keyspace: Keyspace
    aux: tuple[tuple[bytes, bytes], ...]
    version: int
    packing: PackingSettings
    checksum: bool = True
    compress: bool = True
    functions: tuple[bytes, ...] = ()
    key_save_delay_us: int = 0
    """rdb-key-save-delay: the writer of the blocks sleeps so long for each key; to make a short snapshot long."""

    def blocks(self) -> Iterator[tuple[bytes, int]]:
        """Yields (bytes, keys written so far). Raises what the writer raises for data the version cannot hold."""
        writer = RdbWriter(self.version, checksum=self.checksum, compress=self.compress, packing=self.packing)
        parts = [writer.begin(list(self.aux)), writer.functions(list(self.functions))]
        size = 0
        done = 0
        for db in self.keyspace.databases:
            if not db.values:
                continue
            parts.append(writer.select_db(db.index, len(db.values), len(db.expires)))
            for encoded, count in _encode(db, writer, self._batch_keys()):
                parts.append(encoded)
                size += len(encoded)
                done += count
                if size >= _BLOCK_BYTES or self.key_save_delay_us:
                    yield b"".join(parts), done
                    parts.clear()
                    size = 0
        parts.append(writer.end())
        yield b"".join(parts), done

    def _batch_keys(self) -> int:
        if self.key_save_delay_us <= 0:
            return _BATCH_KEYS
        return max(1, min(_BATCH_KEYS, _SLOW_BATCH_US // self.key_save_delay_us))


def needs_version(keyspace: Keyspace, *, valkey: bool = False) -> int:
    """The lowest RDB version that can hold the data; `valkey` asks for the one Valkey 9 reads."""
    return lowest_version(field_ttls=any(_has_field_ttls(db) for db in keyspace.databases), valkey=valkey)


def _has_field_ttls(db: Database) -> bool:
    return any(getattr(db.values.get(key), "expires", None) for key in db.volatile_hashes)


def _encode(db: Database, writer: RdbWriter, batch_keys: int) -> Iterator[tuple[bytes, int]]:
    """Yields (bytes, keys finished with them); a batch of large values comes in several pieces."""
    pairs = iter(db.values.items())
    expires = db.expires
    while batch := list(islice(pairs, batch_keys)):
        strings = [(key, value) for key, value in batch if type(value) is bytes and not (expires and key in expires)]
        plain = iter(strings)
        while encoded := writer.encode_strings(plain, _BLOCK_BYTES):
            yield encoded, 0
        if len(strings) < len(batch):
            others = iter(
                [(key, plain_value(value)) for key, value in batch if type(value) is not bytes or key in expires]
            )
            while encoded := writer.encode_keys(others, expires, _BLOCK_BYTES):
                yield encoded, 0
        yield b"", len(batch)
