"""MAILBOX: what an operator asks about mailboxes that several nodes keep. Redis has none of these commands.

Not here: the answers, which the part of the daemon that keeps mailboxes gives (daemon/mailbox/deeds.py).
"""

from __future__ import annotations

from typing import Final

from pyrepl.commands.describe.help import help_reply
from pyrepl.commands.engine.arguments import ranged_integer_argument, syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.effects import AskMailboxes, MailboxQuestion
from pyrepl.commands.engine.table import ADMIN, LOADING, NO_MULTI, NOSCRIPT, STALE, command, container
from pyrepl.errors import CommandError
from pyrepl.resp.reply import Simple

_FLAGS: Final = ADMIN | NOSCRIPT | NO_MULTI | STALE
_SINCE: Final = "7.0.0"
MOST_MESSAGES: Final = 5000
"""That MAILBOX MESSAGES shows at once."""

mailbox_ = container(
    "MAILBOX", group="server", since=_SINCE, summary="A container for commands about mailboxes that several nodes keep"
)


@command("MAILBOX|STATUS", arity=2, flags=_FLAGS, group="server", since=_SINCE)
def mailbox_status(call: Call) -> AskMailboxes:
    """Show the members, who is the root, and how far each is"""
    return AskMailboxes(MailboxQuestion.STATUS)


@command("MAILBOX|INFO", arity=-3, flags=_FLAGS, group="server", since=_SINCE)
def mailbox_info(call: Call, user: bytes, *box: bytes) -> AskMailboxes:
    """Show the mailboxes of a user, or one of them"""
    if len(box) > 1:
        raise syntax_error()
    return AskMailboxes(MailboxQuestion.INFO, _text(user), _text(box[0]) if box else "")


@command("MAILBOX|MASTER", arity=4, flags=_FLAGS, group="server", since=_SINCE)
def mailbox_master(call: Call, user: bytes, box: bytes) -> AskMailboxes:
    """Name the node that gives out UIDs in a mailbox, as far as this node knows"""
    return AskMailboxes(MailboxQuestion.MASTER, _text(user), _text(box))


@command("MAILBOX|CHECK", arity=-2, flags=_FLAGS, group="server", since=_SINCE)
def mailbox_check(call: Call, *user: bytes) -> AskMailboxes:
    """Wait until all that was done on nodes that can be reached is here, and all that is here is on them"""
    if len(user) > 1:
        raise syntax_error()
    return AskMailboxes(MailboxQuestion.CHECK, _text(user[0]) if user else "")


@command("MAILBOX|ROOT", arity=3, flags=_FLAGS, group="server", since=_SINCE)
def mailbox_root(call: Call, force: bytes) -> AskMailboxes:
    """Make this node the root without a majority, as the operator states that the others are dead"""
    if force.upper() != b"FORCE":
        raise syntax_error()
    return AskMailboxes(MailboxQuestion.FORCE)


@command("MAILBOX|ALLOW", arity=4, flags=_FLAGS, group="server", since=_SINCE)
def mailbox_allow(call: Call, user: bytes, box: bytes) -> AskMailboxes:
    """Take it for done by a mail program that messages are missing, or have other flags, however many they are"""
    return AskMailboxes(MailboxQuestion.ALLOW, _text(user), _text(box))


@command("MAILBOX|DENY", arity=4, flags=_FLAGS, group="server", since=_SINCE)
def mailbox_deny(call: Call, user: bytes, box: bytes) -> AskMailboxes:
    """Give messages back the flags that this node knows, where very many had others at its start (flags_differ)"""
    return AskMailboxes(MailboxQuestion.DENY, _text(user), _text(box))


@command("MAILBOX|RENEW", arity=4, flags=_FLAGS, group="server", since=_SINCE)
def mailbox_renew(call: Call, user: bytes, box: bytes) -> AskMailboxes:
    """Give a mailbox a new UIDVALIDITY, and its messages UIDs from 1 on (uids_run_out in the log)"""
    return AskMailboxes(MailboxQuestion.RENEW, _text(user), _text(box))


@command("MAILBOX|JOIN", arity=3, flags=_FLAGS, group="server", since=_SINCE)
def mailbox_join(call: Call, user: bytes) -> AskMailboxes:
    """Keep the mailboxes of a user that are in the Maildir of this node already, and make one of two of one name"""
    return AskMailboxes(MailboxQuestion.JOIN, _text(user))


@command("MAILBOX|RESYNC", arity=-3, flags=_FLAGS, group="server", since=_SINCE)
def mailbox_resync(call: Call, user: bytes, *box: bytes) -> AskMailboxes:
    """Compare the mailboxes of a user, or one of them, with those of another node now, and take what is missing"""
    if len(box) > 1:
        raise syntax_error()
    return AskMailboxes(MailboxQuestion.RESYNC, _text(user), _text(box[0]) if box else "")


@command("MAILBOX|SCRUB", arity=2, flags=_FLAGS, group="server", since=_SINCE)
def mailbox_scrub(call: Call) -> AskMailboxes:
    """Read all stored messages again, compare them with their checksums, and fetch from another node what is damaged"""
    return AskMailboxes(MailboxQuestion.SCRUB)


@command("MAILBOX|LEAVE", arity=-2, flags=_FLAGS, group="server", since=_SINCE)
def mailbox_leave(call: Call, *force: bytes) -> AskMailboxes:
    """End all that this node does with mailboxes; ordinary Maildirs remain"""
    if [word.upper() for word in force] not in ([], [b"FORCE"]):
        raise syntax_error()
    return AskMailboxes(MailboxQuestion.LEAVE_FORCE if force else MailboxQuestion.LEAVE)


@command("MAILBOX|USERS", arity=2, flags=_FLAGS, group="server", since=_SINCE)
def mailbox_users(call: Call) -> AskMailboxes:
    """Name the users who have mailboxes"""
    return AskMailboxes(MailboxQuestion.USERS)


@command("MAILBOX|MESSAGES", arity=6, flags=_FLAGS, group="server", since=_SINCE)
def mailbox_messages(call: Call, user: bytes, box: bytes, after: bytes, count: bytes) -> AskMailboxes:
    """Show the messages of a mailbox behind a UID, so many at most"""
    first = ranged_integer_argument(after, 0, 2**32 - 1, "ERR the UID must be 0 to 4294967295")
    most = ranged_integer_argument(count, 1, MOST_MESSAGES, f"ERR the count must be 1 to {MOST_MESSAGES}")
    return AskMailboxes(MailboxQuestion.MESSAGES, _text(user), _text(box), first, most)


@command("MAILBOX|HELP", arity=2, flags=LOADING | STALE, group="server", since=_SINCE)
def mailbox_help(call: Call) -> list[Simple]:
    """Show what MAILBOX can do"""
    return help_reply(
        "MAILBOX",
        "STATUS",
        "    Show the members, who is the root, and how far each is.",
        "INFO <user> [<mailbox>]",
        "    Show the mailboxes of a user, or one of them.",
        "MASTER <user> <mailbox>",
        "    Name the node that gives out UIDs in a mailbox, as far as this node knows.",
        "CHECK [<user>]",
        "    Wait until all that was done on nodes that can be reached is here, and all that is here is on them.",
        "    OK without <members>: these are not linked, so they were not asked.",
        "ROOT FORCE",
        "    Make this node the root without a majority: only when the others are dead.",
        "ALLOW <user> <mailbox>",
        "    Messages that are missing from the Maildir were expunged, however many they are; and flags that very many",
        "    messages had otherwise at the start were changed.",
        "DENY <user> <mailbox>",
        "    Such flags were not changed: the Maildir gets those that this node knows.",
        "RENEW <user> <mailbox>",
        "    Give the mailbox a new UIDVALIDITY, and its messages UIDs from 1 on.",
        "JOIN <user> | *",
        "    Keep the mailboxes of a user from now on that are in the Maildir of this node already. Answered when its",
        "    folders were listed.",
        "    Of two mailboxes of one name it makes one. * alone: all users who have a Maildir here, as STATUS shows.",
        "RESYNC <user> [<mailbox>]",
        "    Compare them with another node's now, and take what is missing here; answered with what differed.",
        "SCRUB",
        "    Read all stored messages again, and mend those that are damaged; STATUS shows how far it is.",
        "LEAVE [FORCE]",
        "    End all that this node does with mailboxes; ordinary Maildirs remain. FORCE: though members lack changes.",
        "USERS",
        "    Name the users who have mailboxes.",
        "MESSAGES <user> <mailbox> <uid> <count>",
        "    Show the messages behind a UID, so many at most.",
    )


def _text(word: bytes) -> str:
    try:
        return word.decode()
    except UnicodeDecodeError:
        raise CommandError("ERR names of users and mailboxes are UTF-8") from None
