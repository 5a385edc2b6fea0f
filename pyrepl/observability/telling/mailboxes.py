"""What is told of mailboxes that several nodes keep.

The shells (daemon/mailbox) call these methods when each thing happens. All but links that come and go has a word of its
own, which stands in its line and in its record; the page of them all is made in mailbox_words.py.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.observability import events
from pyrepl.observability.eventlog.records import MailboxLinkDown, MailboxLinkUp, MailboxNoted
from pyrepl.observability.telling.voice import Voice

NOTICES: Final = {kind.word(): kind for kind in events.EVENTS if issubclass(kind, events.MailboxNotice)}
"""Each word of the machine -> its line."""


@final
class MailboxTeller:
    """Tells it of one node."""

    def __init__(self, say: Voice) -> None:
        self._say: Final = say

    def noted(self, kind: str, about: str) -> None:
        """What the machine noticed; `about` names the user and the mailbox, the node, or the op."""
        notice = NOTICES.get(kind)
        line = events.MailboxNoticed(kind, about) if notice is None else notice(about)
        self._say(line, MailboxNoted(kind, about))

    def link_up(self, member: str, address: str) -> None:
        self._say(events.MailboxLinkUp(member, address), MailboxLinkUp(member))

    def link_in_clear(self, member: str, address: str) -> None:
        """Anybody may read on the link."""
        self._told(events.MailboxLinkInClear(member, address), f"{member} {address}")

    def tls_unwanted(self, client: str) -> None:
        """Somebody speaks TLS to a port that does not."""
        self._told(events.MailboxTlsUnwanted(client), client)

    def link_lost(self, member: str, address: str, reason: str) -> None:
        self._say(events.MailboxLinkLost(member, address, reason), MailboxLinkDown(member, reason))

    def refused(self, reason: str) -> None:
        """The disk of all Maildirs refuses."""
        self._told(events.MailboxesRefused(reason), reason)

    def kept_again(self, reason: str, seconds: float) -> None:
        """What kept all mailboxes closed, is over."""
        self._say(events.MailboxesKeptAgain(seconds), MailboxNoted("kept_again", reason))

    def store_stuck(self, seconds: float) -> None:
        """What the store was asked for takes long, and is waited for."""
        self._told(events.MailboxStoreStuck(seconds), f"{seconds:.0f} s")

    def gates_open(self, seconds: float, why: str) -> None:
        """A Dovecot may start, though not all gates were shut."""
        self._told(events.MailboxGatesOpen(seconds, why), why)

    def stopped(self, user: str, reason: str) -> None:
        self._told(events.MailboxUserStopped(user, reason), f"{user}: {reason}")

    def resumed(self, user: str) -> None:
        self._told(events.MailboxUserResumed(user), user)

    def begun_again(self, error: str) -> None:
        self._told(events.MailboxBegunAgain(error), error)

    def lmtp_opened(self, port: int, backend: str) -> None:
        self._say(events.MailboxLmtpOpened(port, backend))

    def lmtp_unreachable(self, backend: str, reason: str) -> None:
        self._told(events.MailboxLmtpUnreachable(backend, reason), reason)

    def left(self, node: str) -> None:
        self._told(events.MailboxesLeft(node), node)

    def _told(self, line: events.MailboxWord, detail: str) -> None:
        """The line, and the record by its word."""
        self._say(line, MailboxNoted(line.word(), detail))
