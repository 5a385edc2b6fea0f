"""What the parts of a node say to other members: a command, an answer, and to whom.

Not here: connections. A part's tags begin with a letter of its own, so an answer finds its way back by its tag.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

from pyrepl.mailbox.codec import UNTAGGED
from pyrepl.mailbox.verbs import Command


class Send(NamedTuple):
    """A command for a member; UNTAGGED if no answer is wanted. `text_of`: (user, GUID) whose text goes along."""

    peer: str
    command: Command
    tag: str = UNTAGGED
    text_of: tuple[str, str] | None = None


class Reply(NamedTuple):
    """An answer for a mail process."""

    client: str
    tag: str
    answer: Command
    text_of: tuple[str, str] | None = None


class Counted(enum.Enum):
    """What the shell keeps count of."""

    OP_APPLIED = "op applied"
    """One of another node."""
    MOVE = "move"
    """A mastership came here by GIVE."""
    RENUMBERED = "renumbered"
    """A message got another UID."""
    GATE_WAIT = "gate wait"
    """A Dovecot that waited at a gate was let in."""
    GATE_WAIT_MS = "gate wait ms"
    SCRUBBED_BYTES = "scrubbed bytes"
    """Of texts that were read again."""
    TEXT_DAMAGED = "text damaged"
    """A text was read again, and was not what its checksums say."""
    TEXT_MENDED = "text mended"
    """A damaged text was replaced by another node's."""


class Notice(NamedTuple):
    """For the log: an event by its name, and what it is about."""

    name: str
    about: str
