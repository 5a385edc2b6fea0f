"""What the vendors' ways to sync on two connections differ in, and the capabilities a replica announces, as data.

Not here: the sync on one connection, which all speak alike, and the machines: pairs.py and session.py on the master,
rdb_channel.py and main_channel.py on the replica. A third dialect that is a mixture of these is one more row.

                            Redis 8, RDB channel                    Valkey 8, dual channel
    allowed by              repl-rdb-channel                        dual-channel-replication-enabled
    announced by            capa rdb-channel-repl                   capa dual-channel
    answer to PSYNC         +RDBCHANNELSYNC <id of c1>              +DUALCHANNELSYNC
    pairing                 c2: REPLCONF main-ch-client-id <c1>     c1: REPLCONF set-rdb-client-id <c2>
    the snapshot's order    c2: PSYNC ? -1                          c2: SYNC
    its cut is stated by    c2: +FULLRESYNC <replid> <cut>          c2: $ENDOFF:<cut> <replid> <db> <id of c2>
    the stream on c1        comes by itself, from the cut on        comes after PSYNC <replid> <cut + 1>

Sources: Redis 8.2.3 and Valkey 8.0.1, their conversations and their behaviour towards wrong words.
"""

from __future__ import annotations

import enum
import functools
import operator
from collections.abc import Iterable
from typing import Final, TypeAlias

from pyrepl.config.settings import Settings
from pyrepl.errors import PeerError
from pyrepl.frozen import Frozen
from pyrepl.replication.history import is_replid
from pyrepl.resp.encoder import encode_command
from pyrepl.resp.numbers import parse_integer
from pyrepl.units import Offset, ReplId


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
    READS_13 = enum.auto()
    """Reads RDB version 13 (Redis 8.6, pyrepl)."""
    READS_80 = enum.auto()
    """Reads RDB version 80 (Valkey 9), and then no Redis version above 11."""
    NO_COMPRESSION = enum.auto()
    """Loads the snapshot as it comes and wants strings that need no unpacking (Redis 8.6)."""


ABOUT_SNAPSHOTS: Final = Capability.READS_13 | Capability.READS_80 | Capability.NO_COMPRESSION

RDB_CAPABILITY: Final = b"rdb-version-"
"""`REPLCONF capa rdb-version-13`: what a pyrepl says it reads. Redis and Valkey take no notice of it."""


def decode_capability(word: bytes) -> Capability:
    """The capability meant by the word after `capa`; NONE for one we do not know, which Redis ignores too."""
    if word.startswith(RDB_CAPABILITY):
        version = parse_integer(word.removeprefix(RDB_CAPABILITY))
        return Capability.READS_13 if version is not None and version >= 13 else Capability.NONE
    return CAPABILITY_WORDS.get(word.lower(), Capability.NONE)


def capability_of_version(version: str) -> Capability:
    """What `REPLCONF version` tells, which Valkey alone says."""
    major = version.partition(".")[0]
    return Capability.READS_80 if major.isdigit() and int(major) >= 9 else Capability.NONE


def no_compression(wanted: bool) -> Capability:
    """What `REPLCONF rdb-no-compress` tells: the option is as old as RDB version 13, both came with Redis 8.6."""
    return Capability.READS_13 | Capability.NO_COMPRESSION if wanted else Capability.READS_13


def common_capabilities(capabilities: Iterable[Capability]) -> Capability:
    """What all of some replicas can do."""
    return functools.reduce(operator.and_, capabilities, ~Capability.NONE)


def common_versions(capabilities: Iterable[Capability]) -> Capability:
    """Which newer snapshots all of some replicas read."""
    return common_capabilities(capabilities) & (Capability.READS_13 | Capability.READS_80)


class Dialect(Frozen):
    """One vendor's sync on two connections: a column of the table in this module's docstring."""

    name: str
    capability: Capability
    capa_word: bytes
    verdict: bytes
    """First word of the master's answer to PSYNC on the main connection."""
    verdict_names_session: bool
    """Does the verdict state the id of the main connection, which the RDB connection then names?"""
    snapshot_request: bytes
    """What the replica sends on the second connection after its REPLCONF, as on the wire."""
    replica_asks_for_stream: bool
    """Does the replica send a second PSYNC on the main connection, or does the master stream there by itself?"""
    states_version: bool
    """Does the RDB connection state what RDB version the replica reads? Else the first one has said it for both."""
    mode: str
    """What the event log calls a sync of this kind."""
    setting: str
    """The directive that lets us speak it, with the dashes of its name as underscores."""


REDIS_RDB_CHANNEL: Final = Dialect(
    "redis",
    Capability.RDB_CHANNEL,
    b"rdb-channel-repl",
    b"+RDBCHANNELSYNC",
    True,
    encode_command([b"PSYNC", b"?", b"-1"]),
    False,
    False,
    "rdb_channel",
    "repl_rdb_channel",
)
VALKEY_DUAL_CHANNEL: Final = Dialect(
    "valkey",
    Capability.DUAL_CHANNEL,
    b"dual-channel",
    b"+DUALCHANNELSYNC",
    False,
    b"SYNC\r\n",
    True,
    True,
    "dual_channel",
    "dual_channel_replication_enabled",
)
DIALECTS: Final = (REDIS_RDB_CHANNEL, VALKEY_DUAL_CHANNEL)
"""In the order in which they are announced, and preferred by a master."""
CAPABILITY_WORDS: Final[dict[bytes, Capability]] = {
    b"eof": Capability.EOF,
    b"psync2": Capability.PSYNC2,
    **{dialect.capa_word: dialect.capability for dialect in DIALECTS},
}
Dialects: TypeAlias = frozenset[Dialect]
NO_DIALECTS: Final[Dialects] = frozenset()
"""Syncs take one connection."""


def dialects_of(settings: Settings) -> Dialects:
    """Those that the directives let us speak, as master and as replica."""
    return frozenset(dialect for dialect in DIALECTS if getattr(settings, dialect.setting))


class SnapshotStart(Frozen):
    """What the RDB connection states before its snapshot: the cut where it ends, and in Valkey's dialect more."""

    replid: ReplId
    cut: Offset
    stream_db: int | None = None
    """The database that the stream has selected at the cut. Valkey states 0 whatever it is: the snapshot's own field
    repl-stream-db is the better source where it is given."""
    rdb_session_id: int | None = None
    """The RDB connection's id on the master, which the main connection has to name."""


def encode_verdict(dialect: Dialect, session_id: int) -> bytes:
    """The line that sends a replica to a second connection; `session_id` is that of its first."""
    return dialect.verdict + (b" %d\r\n" % session_id if dialect.verdict_names_session else b"\r\n")


def encode_end_offset(cut: Offset, replid: ReplId, stream_db: int, rdb_session_id: int) -> bytes:
    """The line before the snapshot on Valkey's RDB connection."""
    return b"$ENDOFF:%d %b %d %d\r\n" % (cut, replid.encode(), stream_db, rdb_session_id)


def decode_end_offset(line: bytes) -> SnapshotStart:
    """The line before the snapshot on Valkey's RDB connection, without its end. Raises PeerError for another one."""
    words = line.split(b" ")
    numbers = [parse_integer(word) for word in (words[0].removeprefix(b"$ENDOFF:"), *words[2:])]
    if line.startswith(b"$ENDOFF:") and len(words) == 4 and is_replid(words[1].decode("ascii", "replace")):
        cut, stream_db, rdb_session_id = numbers
        if cut is not None and cut >= 0 and stream_db is not None and rdb_session_id is not None:
            return SnapshotStart(ReplId(words[1].decode()), Offset(cut), max(0, stream_db), rdb_session_id)
    shown = line[:200].decode("utf-8", "backslashreplace")
    raise PeerError(f"expected $ENDOFF:<offset> <replication id> <database> <client id>, got {shown!r}")
