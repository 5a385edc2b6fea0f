"""What may be set on a link: timeouts, limits, how we introduce ourselves, and the ways to sync that we offer.

The shell makes one LinkOptions from the directives and changes it when they change.

Not here: what the options do (conversation.py), and the words of the handshake (handshake.py).
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
    """With so much of the stream buffered, inclusive, the first connection is not read; above 0. The shell sets it to
    what `syncbuffer.sync_buffer_limit` makes of the directives."""
    slice_bytes: int = SLICE_BYTES
    """How much of the buffered stream is applied in one go; above 0."""
    fsynced_cut: Callable[[], int] | None = None
    """Returns the cut up to which our AOF holds the stream on disk, told as FACK with each ACK (Redis 7.2). None
    without an AOF."""

    @property
    def offers(self) -> tuple[Dialect, ...]:
        """`dialects`, in the order in which they are announced."""
        return tuple(dialect for dialect in DIALECTS if dialect in self.dialects)
