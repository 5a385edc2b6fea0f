"""The store of a node's messages, as the node sees it: works that it is told to do, how each ended, and what it has.

Not here: the stores themselves (Maildirs are one), and who decides what is to be done (merging.py).

Works of one user are done in the order in which they are told. Each is idempotent: after a crash the same ones may be
told again, and what is already so, is done. A work on a message or a mailbox that is not there changes nothing, but
for those that make it.

What adds is done, fsync included, before its rows are committed, so no row is without its message. What takes away
(REMOVALS) is done after that commit, so no message is without its row that a crash lets come back. What a crash leaves
in between is found at the start by `works_at_start` (recovery.py).

A mailbox that is made or renamed may find its name taken by one that is going: the store puts that one aside, under a
name that nobody lists, until the work about it comes.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol, TypeAlias

from pyrepl.frozen import Frozen
from pyrepl.mailbox.words import Dot


class Outcome(enum.Enum):
    """How a work ended."""

    DONE = "done"
    NO_TEXT = "no text"
    """The message's text is neither in the drop folder nor in another mailbox of the user: it is FETCHed, and the work
    is told anew. Of MoveMessage: the message is not there, as when a mail program has expunged it."""
    TOO_LOW = "too low"
    """The UID is below the next one, as somebody else gave it out: the message is kept aside, as with UID 0."""
    HAS_MAIL = "has mail"
    """Beside a Dovecot a mailbox that was to go holds mail, of which nobody may know yet: it stays."""
    FAILED = "failed"
    """The disk refused; nothing was done, and it is told again. No later work of this user was begun."""
    NOT_THERE = "not there"
    """As FAILED, but for all users: the disk of the Maildirs is missing, or refuses whatever it is told."""


class Result(NamedTuple):
    """How, with what belongs to it: of FAILED and NOT_THERE the `reason` for people; of TOO_LOW the mailbox's next UID;
    of messages with flags the keywords that the store cannot keep; of a mailbox whose name the store cannot have, the
    name that it has there."""

    outcome: Outcome
    reason: str = ""
    next_uid: int = 0
    unkept_keywords: tuple[str, ...] = ()
    stored_as: str = ""


DONE: Final = Result(Outcome.DONE)


class _Work(Frozen):
    """The base: whose mailbox, by its GUID."""

    user: str
    box: str


class MakeBox(_Work):
    """A mailbox, empty; if it is there by its GUID, only what differs is changed."""

    name: str
    uidvalidity: int
    uidnext: int


class RenameBox(_Work):
    """The mailbox has another name."""

    name: str


class RemoveBox(_Work):
    """The mailbox goes with all that it holds, and with what is kept aside of it. Beside a Dovecot it stays while any
    message lies in it, be it one without a UID, which clients do not see yet: HAS_MAIL."""


class SubscribeBox(_Work):
    """A name is in the list of subscriptions, or is not."""

    name: str
    is_subscribed: bool


class RaiseNext(_Work):
    """The next UID is at least this; it is never lowered."""

    uidnext: int


class AddMessage(_Work):
    """A message under a UID that is at or above the next. `text`: its file's name in the drop folder, "" if the text is
    to be linked from where the user has the GUID. UID 0: the text is kept aside, and nobody sees the message yet. `at`
    is the op that brought it; the store remembers it until the message's row is committed (the drop file's name). One
    that a crash left there gets this UID and these flags; but UID 0 leaves it under the UID that it has until
    MoveMessage, as clients may have seen it. With `before`, what it came with then: what a mail program changed of that
    since stays changed."""

    guid: str
    uid: int
    flags: tuple[str, ...]
    received: int
    size: int
    text: str
    at: Dot | None = None
    before: tuple[str, ...] | None = None


class SetFlags(_Work):
    """A message has exactly these flags and keywords. With `before`, what its row said or its file had: what a mail
    program changed of that meanwhile stays changed."""

    guid: str
    flags: tuple[str, ...]
    before: tuple[str, ...] | None = None


class MoveMessage(_Work):
    """A message has another UID, at or above the next; flags, date and GUID stay. From UID 0 it becomes visible, with
    `flags`; to UID 0 it is taken out of sight, and its text is kept aside."""

    guid: str
    uid: int
    flags: tuple[str, ...] = ()


class MendMessage(_Work):
    """A message that is there gets its text anew, as the one that it has is damaged; all else of it stays. `text`: the
    name of the good one in the drop folder; NO_TEXT if it is not there any more."""

    guid: str
    size: int
    text: str


class RemoveMessage(_Work):
    """A message goes."""

    guid: str


Work: TypeAlias = (
    MakeBox
    | RenameBox
    | RemoveBox
    | SubscribeBox
    | RaiseNext
    | AddMessage
    | SetFlags
    | MoveMessage
    | MendMessage
    | RemoveMessage
)
BRINGING: Final = (AddMessage, MendMessage)
"""Works that may need a text of the drop folder."""
REMOVALS: Final = (RemoveBox, RemoveMessage)
NAMING: Final = (MakeBox, RenameBox)
"""Works by which clients see a mailbox under a name that it had not."""


class Ended(NamedTuple):
    """A work that is done, and how it ended."""

    work: Work
    result: Result


class Stored(NamedTuple):
    """A message as the store has it; one with UID 0 shows no flags. `at`: the op that brought it, if its row may not
    have been committed; `is_unsure`: works may have changed its flags since."""

    uid: int
    flags: tuple[str, ...]
    at: Dot | None = None
    is_unsure: bool = False


Unsure: TypeAlias = Mapping[str, frozenset[str] | None]
"""GUID -> flags, in lower case, that works were changing; None for all of the message's."""
SURE: Final[Unsure] = MappingProxyType({})


class StoredBox(NamedTuple):
    """A mailbox as the store has it: its name, and GUID -> message. `is_new`: a work made it, and its row may not have
    been committed. `unsure`: flags that works changed, and whose rows may not have been committed; None: all may be
    such. `carried`: the flags that a message could show here; None for all. `next_uid`: clients may have seen all UIDs
    below; 0 if the store does not know."""

    name: str
    is_subscribed: bool
    messages: dict[str, Stored]
    is_new: bool = False
    unsure: Unsure | None = SURE
    carried: frozenset[str] | None = None
    next_uid: int = 0


class MessageStore(Protocol):
    """What every store does. What cannot be read is never told as empty: it raises."""

    def perform(self, works: Sequence[Work]) -> list[Result]:
        """Do them; how each ended. What is told as done is on disk."""

    def stored(self, user: str) -> dict[str, StoredBox]:
        """All that the user has, by the GUIDs of mailboxes."""

    def has_text(self, user: str, guid: str) -> bool:
        """Does any mailbox of the user hold this message, be it aside?"""

    def settle(self, works: Sequence[Work]) -> None:
        """The rows that belong to these works are committed: what was kept to know that they were done may go."""
