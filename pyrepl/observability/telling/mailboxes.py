"""What is told of mailboxes that several nodes keep.

The shells (daemon/mailbox) call these methods when each thing happens. What the machine notices has a word of its own
there, which stands in its line and in its record.
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
        self._say(events.MailboxLinkInClear(member, address), MailboxNoted("link_in_clear", f"{member} {address}"))

    def link_lost(self, member: str, address: str, reason: str) -> None:
        self._say(events.MailboxLinkLost(member, address, reason), MailboxLinkDown(member, reason))

    def refused(self, reason: str) -> None:
        """The disk of all Maildirs refuses."""
        self._say(events.MailboxesRefused(reason), MailboxNoted("refused", reason))

    def kept_again(self, reason: str, seconds: float) -> None:
        """What kept all mailboxes closed, is over."""
        self._say(events.MailboxesKeptAgain(seconds), MailboxNoted("kept_again", reason))

    def stopped(self, user: str, reason: str) -> None:
        self._say(events.MailboxUserStopped(user, reason), MailboxNoted("user_stopped", f"{user}: {reason}"))

    def resumed(self, user: str) -> None:
        self._say(events.MailboxUserResumed(user), MailboxNoted("user_resumed", user))

    def begun_again(self, error: str) -> None:
        self._say(events.MailboxBegunAgain(error), MailboxNoted("begun_again", error))

    def lmtp_opened(self, port: int, backend: str) -> None:
        self._say(events.MailboxLmtpOpened(port, backend))

    def lmtp_unreachable(self, backend: str, reason: str) -> None:
        self._say(events.MailboxLmtpUnreachable(backend, reason), MailboxNoted("lmtp_unreachable", reason))

    def left(self, node: str) -> None:
        self._say(events.MailboxesLeft(node), MailboxNoted("left", node))
