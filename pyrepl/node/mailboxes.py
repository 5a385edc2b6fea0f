"""How the mailboxes are that this node keeps with others, for INFO.

Not here: the figures themselves, which the daemon's mailbox server has.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class MailboxMember(NamedTuple):
    """One of `mailbox-members`. `link` is self, up or down. Of a witness, and of the node itself, nothing lags."""

    name: str
    address: str
    link: str
    lag_ops: int
    """Ops that this node has applied and the member has not, as far as it told."""
    lag_ms: int
    """For how long the oldest of those that were made here has waited for it."""


class MailboxFigures(Protocol):
    """What INFO shows. The counters are since the start."""

    @property
    def port(self) -> int: ...

    @property
    def name(self) -> str: ...

    @property
    def is_ready(self) -> bool:
        """Is all that is kept open and compared with the Maildirs?"""

    @property
    def root(self) -> str:
        """Who is the root; "" while nobody is."""

    @property
    def epoch(self) -> int: ...

    @property
    def is_apart(self) -> bool: ...

    @property
    def apart_s(self) -> float:
        """How long it was apart."""

    @property
    def boxes(self) -> int: ...

    @property
    def messages(self) -> int: ...

    @property
    def journal_bytes(self) -> int: ...

    @property
    def mail_processes(self) -> int: ...

    @property
    def users_stopped(self) -> int: ...

    @property
    def troubled(self) -> int: ...

    @property
    def ops_waiting(self) -> int: ...

    @property
    def ops_sent(self) -> int: ...

    @property
    def ops_applied(self) -> int:
        """Those of other nodes."""

    @property
    def moves(self) -> int:
        """Masterships that came to this node."""

    @property
    def renumbered(self) -> int: ...

    @property
    def burned(self) -> int: ...

    @property
    def single_copy(self) -> int: ...

    @property
    def gate_waits(self) -> int: ...

    @property
    def gate_wait_ms(self) -> int: ...

    @property
    def scrubbed_bytes(self) -> int:
        """Of stored messages, read again to compare them with their checksums."""

    @property
    def texts_damaged(self) -> int: ...

    @property
    def texts_mended(self) -> int: ...

    @property
    def members(self) -> list[MailboxMember]: ...
