"""What is told of mailboxes that several nodes keep.

The shells (daemon/mailbox) call these methods when each thing happens. What the machine notices has a word of its own
there, which stands in its line and in its record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from pyrepl.observability import events
from pyrepl.observability.event import Event
from pyrepl.observability.eventlog.records import MailboxLinkDown, MailboxLinkUp, MailboxNoted
from pyrepl.observability.telling.voice import Voice


@final
class MailboxTeller:
    """Tells it of one node."""

    def __init__(self, say: Voice) -> None:
        self._say: Final = say

    def noted(self, kind: str, about: str) -> None:
        """What the machine noticed; `about` names the user and the mailbox, the node, or the op."""
        line = lines_about(about).get(kind)
        self._say(events.MailboxNoticed(kind, about) if line is None else line(), MailboxNoted(kind, about))

    def link_up(self, member: str, address: str) -> None:
        self._say(events.MailboxLinkUp(member, address), MailboxLinkUp(member))

    def link_lost(self, member: str, address: str, reason: str) -> None:
        self._say(events.MailboxLinkLost(member, address, reason), MailboxLinkDown(member, reason))

    def refused(self, reason: str) -> None:
        """The disk of all Maildirs refuses."""
        self._say(events.MailboxesRefused(reason), MailboxNoted("refused", reason))

    def stopped(self, user: str, reason: str) -> None:
        self._say(events.MailboxUserStopped(user, reason), MailboxNoted("user_stopped", f"{user}: {reason}"))

    def resumed(self, user: str) -> None:
        self._say(events.MailboxUserResumed(user), MailboxNoted("user_resumed", user))

    def begun_again(self, error: str) -> None:
        self._say(events.MailboxBegunAgain(error), MailboxNoted("begun_again", error))

    def left(self, node: str) -> None:
        self._say(events.MailboxesLeft(node), MailboxNoted("left", node))


def lines_about(about: str) -> dict[str, Callable[[], Event]]:
    """Each word of the machine -> its line."""
    return {
        "apart": lambda: events.MailboxApart(about),
        "together": lambda: events.MailboxTogether(about),
        "single_copy": lambda: events.MailboxSingleCopy(about),
        "uid_burned": lambda: events.MailboxUidBurned(about),
        "uids_run_out": lambda: events.MailboxUidsRunOut(about),
        "expunge_guard": lambda: events.MailboxExpungeGuard(about),
        "flags_differ": lambda: events.MailboxFlagsDiffer(about),
        "gate_failed": lambda: events.MailboxGateFailed(about),
        "faulty_mail_process": lambda: events.MailboxFaultyMailProcess(about),
        "text_missing": lambda: events.MailboxTextMissing(about),
        "text_damaged": lambda: events.MailboxTextDamaged(about),
        "text_mended": lambda: events.MailboxTextMended(about),
        "text_unmended": lambda: events.MailboxTextUnmended(about),
        "text_wrong": lambda: events.MailboxTextWrong(about),
        "scrub_done": lambda: events.MailboxScrubDone(about),
        "mailbox_missing": lambda: events.MailboxMissing(about),
        "mailbox_unknown": lambda: events.MailboxUnknown(about),
        "mail_missing": lambda: events.MailboxMailMissing(about),
        "mail_unknown": lambda: events.MailboxMailUnknown(about),
        "stale_give": lambda: events.MailboxStaleGive(about),
        "mastership_lost": lambda: events.MailboxMastershipLost(about),
        "folders_guard": lambda: events.MailboxFoldersGuard(about),
        "folders_failed": lambda: events.MailboxFoldersFailed(about),
        "resync_by_state": lambda: events.MailboxResyncByState(about),
        "resync_by_state_done": lambda: events.MailboxResyncByStateDone(about),
        "resync_done": lambda: events.MailboxResyncDone(about),
        "fresh": lambda: events.MailboxFresh(about),
        "fresh_over": lambda: events.MailboxFreshOver(about),
        "united": lambda: events.MailboxUnited(about),
        "joined": lambda: events.MailboxJoined(about),
        "resync_by_state_silent": lambda: events.MailboxResyncByStateSilent(about),
        "database_is_old": lambda: events.MailboxDatabaseIsOld(about),
    }
