"""Refuses the STREAMS.* commands on a node without a stream port, where no other module of this room is imported."""

from __future__ import annotations

from pyrepl.commands.engine import effects
from pyrepl.commands.engine.call import Call
from pyrepl.daemon.performer import Deeds
from pyrepl.errors import CommandError
from pyrepl.resp.reply import Reply


def deeds() -> Deeds:
    """The deeds of a node whose change streams are off."""
    return {effects.WriteFact: _refuse}


def _refuse(call: Call, effect: effects.WriteFact) -> Reply:
    raise CommandError("ERR change streams are off at this node: set stream-port and start it again")
