"""What a node keeps of mailboxes: its rows, and what the database that holds them must do.

Not here: the database itself (a file of the daemon), and message texts, which are only in the store (store.py).

Rows are values: a changed one is put again. What is put is seen at once, and is on disk after the next commit, which
the shell does between two calls of a machine; a crash before it forgets all puts since the last one together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol

from pyrepl.mailbox.verbs import Op
from pyrepl.mailbox.words import Dot, Registers, Stamp, Token

UNPLACED: Final = 0
"""The UID of a message that has none yet: what was meant for it would stand below one that clients have seen."""


class ClusterRow(NamedTuple):
    """What a node must not forget between two elections."""

    epoch: int = 0
    root: str = ""
    voted: str = ""
    origin: str = ""
    """The name in our own dots. A new database has one of its own, as others may know ops of the one before it."""
    is_fresh: bool = False
    """There is no data yet that others may have (freshness.py)."""
    is_put_back: bool = False
    """Its ops have numbers that others know for other ops (put_back.py)."""


def origin_of_new(name: str, unix_ms: int) -> str:
    """The name in dots of a node whose database is made at this time: the node's, and the last nine digits of the
    second."""
    return f"{name}~{unix_ms // 1000 % 10**9}"


class BoxRow(NamedTuple):
    """One mailbox. A deleted one stays as a row, so that late ops about it are understood."""

    guid: str
    user: str
    name: str
    name_stamp: Stamp
    uidvalidity: int
    uidnext: int = 1
    highest: int = 0
    """The highest modseq of the mailbox."""
    token: Token = Token(0, 0)
    """The newest mastership that this node knows of."""
    holder: str = ""
    """The node that had it then, as far as known; "" for the root."""
    unconfirmed: bool = False
    """We gave it to `holder`, and do not know yet that it came there."""
    subscribed: bool = False
    subscribed_stamp: Stamp = Stamp(0, "")
    deleted: bool = False
    created_stamp: Stamp = Stamp(0, "")


class MessageRow(NamedTuple):
    """One message in one mailbox; its GUID is its name there."""

    box: str
    guid: str
    uid: int
    """UNPLACED while it has none."""
    token: Token
    """The mastership under which it got this UID: of two UIDs for one message the one with the higher token stands."""
    dots: tuple[Dot, ...]
    """The SAVEs and COPYs that brought it, ascending; more than one if two nodes did at the same time."""
    size: int
    received: int
    """Unix seconds."""
    flags: Registers = ()
    """By flag; those that were never touched have none."""
    modseq: int = 0
    sums: tuple[int, ...] = ()
    """CRC32C of each 64 KiB of the text."""

    def set_flags(self) -> tuple[str, ...]:
        """The flags that it has, ascending."""
        return tuple(register.flag for register in self.flags if register.is_set)


class GoneRow(NamedTuple):
    """An expunged message. `dots`: of each origin the newest of the SAVEs and COPYs that are expunged, which tells of
    all before it."""

    box: str
    uid: int
    guid: str
    dots: tuple[Dot, ...]
    modseq: int
    flags: Registers = ()
    """What its flags were: its GUID may come to the mailbox again by an op that did not know."""


class Rows(Protocol):
    """The database. Everything is asked by exact key but what is listed, in ascending order of what is said."""

    def cluster(self) -> ClusterRow: ...

    def put_cluster(self, row: ClusterRow) -> None: ...

    def held(self) -> dict[str, int]:
        """The vector: origin -> seq up to which every op is applied. A copy."""

    def put_held(self, dot: Dot) -> None: ...

    def skip_to(self, dot: Dot) -> None:
        """The vector reaches `dot`, above where it was, without the ops: their effects are known otherwise. The journal
        lets go what it has of this origin up to there, as it would have a hole."""

    def ahead(self) -> dict[str, int]:
        """Origin -> seq up to which ops may have changed rows, though the vector does not cover them. A copy."""

    def put_ahead(self, dot: Dot) -> None: ...

    def users(self) -> list[str]: ...

    def box(self, guid: str) -> BoxRow | None: ...

    def boxes(self, user: str) -> list[BoxRow]:
        """All of a user, the deleted ones too, by GUID."""

    def boxes_after(self, guid: str, most: int) -> list[BoxRow]:
        """The first `most` of all users with a higher GUID, by GUID, the deleted ones too."""

    def put_box(self, row: BoxRow) -> None: ...

    def message(self, box: str, guid: str) -> MessageRow | None: ...

    def message_at(self, box: str, uid: int) -> MessageRow | None: ...

    def messages(self, box: str, after: int = -1) -> Iterator[MessageRow]:
        """Those with a UID above `after`, by UID; those without one first, by GUID."""

    def unplaced(self, box: str) -> list[MessageRow]:
        """Messages whose uid is UNPLACED, by GUID."""

    def messages_by_guid(self, box: str, after: str, upto: str, most: int) -> list[MessageRow]:
        """The first `most` with a GUID above `after`, and not above `upto` if that is not "", by GUID."""

    def home(self, user: str, guid: str) -> MessageRow | None:
        """Where the user has this GUID: of several mailboxes in that with the first GUID."""

    def put_message(self, row: MessageRow) -> None: ...

    def drop_message(self, box: str, guid: str) -> None: ...

    def gone(self, box: str, guid: str) -> GoneRow | None: ...

    def gone_since(self, box: str, modseq: int) -> list[GoneRow]:
        """Those with a higher modseq, by UID."""

    def gone_by_guid(self, box: str, after: str, upto: str, most: int) -> list[GoneRow]:
        """As messages_by_guid, of those that are gone."""

    def put_gone(self, row: GoneRow) -> None:
        """One row a (box, guid): the newer one stays."""

    def messages_since(self, box: str, modseq: int) -> list[MessageRow]:
        """Those with a higher modseq, by UID, then by GUID."""

    def aligned(self, box: str) -> int:
        """The modseq of the mailbox up to which what its Dovecot says of it is in line (aligning.py); 0 at first."""

    def put_aligned(self, box: str, modseq: int) -> None: ...

    def missing(self) -> list[tuple[str, str]]:
        """(mailbox, GUID) of messages whose text was nowhere to be found when it was to be put into the store."""

    def put_missing(self, box: str, guid: str) -> None: ...

    def drop_missing(self, box: str, guid: str) -> None: ...

    def put_op(self, op: Op) -> None:
        """Keep an op, its dot in `at`."""

    def ops(self, origin: str, after: int, most: int) -> list[Op]:
        """At most `most` ops of `origin` behind seq `after`, ascending."""

    def oldest(self, origin: str) -> int:
        """The lowest seq that is still kept of `origin`; 0 if there never was one."""
