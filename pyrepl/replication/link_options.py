"""What may be set on a link, and which ways to sync on two connections follow from it.

Not here: what they do (conversation.py), and the words of the handshake (handshake.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from pyrepl.replication.dialects import REDIS_RDB_CHANNEL, VALKEY_DUAL_CHANNEL, Dialect
from pyrepl.replication.handshake import Introduction

TIMEOUT_S: Final = 60.0
"""Redis's default repl-timeout."""
SLICE_BYTES: Final = 256 * 1024
"""How much of the buffered stream is applied in one go: some milliseconds of work."""


@dataclass(slots=True)
class LinkOptions:
    """Settings of a link. The shell changes them in place; they count from the next use on."""

    introduction: Introduction = field(default_factory=Introduction)
    timeout_s: float = TIMEOUT_S
    """repl-timeout: the longest silence in any phase but LOADING."""
    rdb_channel: bool = False
    """Offer Redis's sync on two connections (repl-rdb-channel)."""
    dual_channel: bool = False
    """Offer Valkey's sync on two connections (dual-channel-replication-enabled)."""
    sync_buffer_limit_bytes: int = 256 * 1024 * 1024
    """With so much of the stream held, the main connection is not read; above 0. The shell puts in here what
    `syncbuffer.sync_buffer_limit` makes of the directives."""
    slice_bytes: int = SLICE_BYTES
    fsynced_cut: Callable[[], int] | None = None
    """How much of the stream our AOF holds safely, told as FACK with each ACK; None without an AOF (Redis 7.2)."""

    @property
    def offers(self) -> tuple[Dialect, ...]:
        """The ways to sync on two connections that are announced, in the order of the words."""
        ways = ((self.rdb_channel, REDIS_RDB_CHANNEL), (self.dual_channel, VALKEY_DUAL_CHANNEL))
        return tuple(dialect for wanted, dialect in ways if wanted)
