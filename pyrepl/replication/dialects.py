"""What the vendors' ways to sync on two connections differ in, and the capabilities a replica announces, as data.

Not here: the sync on one connection, which all speak alike (session.py, link.py).

Both ways are recognised in `REPLCONF capa` and shown in events; neither is announced or answered yet, so every peer
falls back to one connection, as Redis 7.0 does. Sources: Redis 8.0's RDB channel, Valkey 8.0's dual channel.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final


class Capability(enum.Flag):
    """What a replica said it can do, by `REPLCONF capa WORD`."""

    NONE = 0
    EOF = enum.auto()
    """Reads a snapshot of unknown size, ended by a mark."""
    PSYNC2 = enum.auto()
    """Reads the new replication id in `+CONTINUE <id>`."""
    RDB_CHANNEL = enum.auto()
    """Redis 8: takes the snapshot on a second connection."""
    DUAL_CHANNEL = enum.auto()
    """Valkey 8: takes the snapshot on a second connection."""


CAPABILITY_WORDS: Final[dict[bytes, Capability]] = {
    b"eof": Capability.EOF,
    b"psync2": Capability.PSYNC2,
    b"rdb-channel-repl": Capability.RDB_CHANNEL,
    b"dual-channel": Capability.DUAL_CHANNEL,
}


def decode_capability(word: bytes) -> Capability:
    """The capability meant by the word after `capa`; NONE for one we do not know, which Redis ignores too."""
    return CAPABILITY_WORDS.get(word.lower(), Capability.NONE)


@dataclass(frozen=True, slots=True)
class Dialect:
    """One vendor's sync on two connections (wire.md, sections 2 and 3)."""

    capability: Capability
    verdict: bytes
    """First word of the master's answer to PSYNC on the main connection."""
    snapshot_request: bytes
    """What the replica sends on the second connection after its REPLCONF."""
    replica_asks_for_stream: bool
    """Does the replica send a second PSYNC on the main connection, or does the master stream there by itself?"""


REDIS_RDB_CHANNEL: Final = Dialect(Capability.RDB_CHANNEL, b"+RDBCHANNELSYNC", b"PSYNC ? -1", False)
VALKEY_DUAL_CHANNEL: Final = Dialect(Capability.DUAL_CHANNEL, b"+DUALCHANNELSYNC", b"SYNC", True)
DIALECTS: Final = (REDIS_RDB_CHANNEL, VALKEY_DUAL_CHANNEL)
