"""Refuses the MAILBOX commands on a node that keeps no mailboxes, where no other module of this room is imported."""

from __future__ import annotations

from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.effects import AskMailboxes
from pyrepl.daemon.performer import Deeds
from pyrepl.errors import CommandError
from pyrepl.resp.reply import Reply


def deeds() -> Deeds:
    """The deeds of a node without mailboxes."""
    return {AskMailboxes: _refuse}


def _refuse(call: Call, effect: AskMailboxes) -> Reply:
    raise CommandError("ERR this node keeps no mailboxes: set mailbox-port and its like, and start it again")
