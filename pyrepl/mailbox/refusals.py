"""What no member in its right mind says: it is refused before anything is changed by it.

The codec has checked words one by one. Here are rules between the words of a command, and bounds that leave room for
what this node makes itself: a number next to the end of its range would make it fail on and on. Who says such a thing
loses the connection; what is known stays as it was.

Not here: commands of mail processes, who are answered (mail_side.py), and what merely has no effect (merging.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Sized
from typing import Final

from pyrepl.mailbox.answers import No, Ok
from pyrepl.mailbox.modseqs import MOST_MODSEQ
from pyrepl.mailbox.verbs import Command, Copy, Create, Message, Messages, Op, Renumber, State, Take
from pyrepl.mailbox.words import Dot, Register, Stamp, Token, Vector, node_of
from pyrepl.mailbox.words import count as count_uids

MOST_EPOCHS_AHEAD: Final = 1_000_000
"""By which another's epoch may be ahead of ours: an election adds one, an operator's force a thousand."""
MOST_ORIGINS: Final = 100
"""Databases that one member ever had, and all of nodes that are none any more: no op of one more is taken, as a
vector with all of them has to fit into a line. Each member has its own share, which no other name can take up."""
MOST_IN_OP: Final = 1000
"""Messages that one op may name."""
MOST_TERM: Final = 2**62
"""Of a mastership, inclusive. Each one adds one, and this node has to be able to say and keep that."""
MOST_HOPS: Final = 1_000_000
"""By which a TAKE has come, inclusive. Each node that passes it on adds one."""
_NO_TOKEN: Final = Token(0, 0)
_ABOUT_ONE_BOX: Final = (State, Message, Messages)


def why_not(command: Command, epoch: int) -> str | None:
    """Why a command or an answer of a member is refused; None if it is not. `epoch`: ours."""
    words = command.__dict__
    token = words.get("token") or _NO_TOKEN
    ahead = max(words.get("epoch") or 0, token.epoch)
    if ahead > epoch + MOST_EPOCHS_AHEAD:
        return f"{command.VERB}: epoch {ahead} is far beyond {epoch}"
    if token.term > MOST_TERM:
        return f"{command.VERB}: term {token.term} leaves no room for the masterships after it"
    if isinstance(command, Take) and command.hops > MOST_HOPS:
        return f"{command.VERB}: expected {MOST_HOPS} hops at most, got {command.hops}"
    modseqs = [words.get("modseq") or 0, *_stamps(words)]
    if max(modseqs) > MOST_MODSEQ:
        return f"{command.VERB}: modseq {max(modseqs)} leaves no room for others"
    if max(_seqs(words), default=0) > MOST_MODSEQ:
        return f"{command.VERB}: an op with the number {max(_seqs(words))} leaves no room for others"
    if isinstance(command, _ABOUT_ONE_BOX):
        return _why_not_state(command)
    return _why_not_op(command) if isinstance(command, Op) else None


def why_new_origin(command: Command, known: Collection[str], members: Container[str]) -> str | None:
    """Why an op, or the vectors of an answer, are refused for origins that are not among those `known` here; None if
    they are not, or there is room for all of them."""
    new = {dot.origin for dot in _vector(command) if dot.origin not in known}
    counts = Counter(_share(origin, members) for origin in (*known, *new)) if new else Counter()
    for origin in sorted(new):
        name = _share(origin, members)
        if counts[name] > MOST_ORIGINS:
            whose = name or "nodes that are no members"
            return f"{command.VERB}: expected {MOST_ORIGINS} databases at most of {whose}, got {origin} besides"
    return None


def _vector(command: Command) -> Vector:
    """What may become a part of our vector: that of an answer is taken over with the state that it is about."""
    if isinstance(command, Op):
        return () if command.at is None else (command.at,)
    return (*command.held, *command.ahead) if isinstance(command, (Ok, No)) else ()


def _share(origin: str, members: Container[str]) -> str:
    """The member whose database it is; "" for a node that is none."""
    return node_of(origin) if node_of(origin) in members else ""


def _why_not_state(command: State | Message | Messages) -> str | None:
    if isinstance(command, State):
        return "STATE: expected the name of the mailbox, got its GUID" if command.box.is_guid else None
    if isinstance(command, Messages):
        return _why_too_many(command.VERB, command.guids)
    if not command.dots:
        return "MESSAGE: expected the dots of the SAVEs that brought it"
    return _why_too_many(command.VERB, command.dots)


def _why_too_many(verb: str, named: Sized) -> str | None:
    return f"{verb}: expected {MOST_IN_OP} at most, got {len(named)}" if len(named) > MOST_IN_OP else None


def _stamps(words: dict[str, object]) -> list[int]:
    """The modseqs of all stamps that a command has."""
    found = []
    for value in words.values():
        if isinstance(value, Stamp):
            found.append(value.modseq)
        elif isinstance(value, tuple):
            found += [each.stamp.modseq for each in value if isinstance(each, Register)]
    return found


def _seqs(words: dict[str, object]) -> list[int]:
    """The numbers of all ops that a command names."""
    dots = [value for value in words.values() if isinstance(value, Dot)]
    dots += [each for value in words.values() if type(value) is tuple for each in value if isinstance(each, Dot)]
    return [dot.seq for dot in dots]


def _why_not_op(op: Op) -> str | None:
    guids = len(op.__dict__.get("guids", ()))
    if guids > MOST_IN_OP:
        return f"{op.VERB}: expected {MOST_IN_OP} messages at most, got {guids}"
    if isinstance(op, Create) and not op.id:
        return "CREATE: expected the id of the mailbox"
    uids = op.touids if isinstance(op, Copy) else op.to if isinstance(op, Renumber) and op.guids else None
    if uids is not None and count_uids(uids) != guids:
        return f"{op.VERB}: expected a UID for each of {guids} messages, got {count_uids(uids)}"
    return None
