"""What may be set on a link, and which ways to sync on two connections follow from it.

Not here: what they do (conversation.py), and the words of the handshake (handshake.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from pyrepl.replication.dialects import DIALECTS, NO_DIALECTS, Dialect, Dialects
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
    dialects: Dialects = NO_DIALECTS
    """The ways to sync on two connections that are offered."""
    sync_buffer_limit_bytes: int = 256 * 1024 * 1024
    """With so much of the stream held, the main connection is not read; above 0. The shell puts in here what
    `syncbuffer.sync_buffer_limit` makes of the directives."""
    slice_bytes: int = SLICE_BYTES
    fsynced_cut: Callable[[], int] | None = None
    """How much of the stream our AOF holds safely, told as FACK with each ACK; None without an AOF (Redis 7.2)."""

    @property
    def offers(self) -> tuple[Dialect, ...]:
        """`dialects`, in the order in which they are announced."""
        return tuple(dialect for dialect in DIALECTS if dialect in self.dialects)
