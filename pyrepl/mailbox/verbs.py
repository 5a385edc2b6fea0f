"""The commands between mail processes and nodes, and between nodes: one class per verb, its words, who may send it.

Not here: how words look (words.py, kinds.py), and lines, tags, texts (codec.py).

A field without a default must be there; of the others, only those that differ from it are written. The fields named in
POSITIONS stand first and without a key, all others as `key=word`, in any order; unknown keys are ignored.

A command with the field `at` may be an *op*: what a node does to mailboxes, told to all nodes. `at` is then its dot,
and `after` what its origin had applied of other nodes since the op before it: nobody applies an op before these.
"""

from __future__ import annotations

import enum
import inspect
from typing import ClassVar, Final, Self, dataclass_transform

from pyrepl.errors import PeerError
from pyrepl.frozen import Frozen
from pyrepl.mailbox.kinds import (
    ANY_UID,
    KINDS,
    BoxGuid,
    Count,
    Dots,
    Epoch,
    Flags,
    Guid,
    Guids,
    Kind,
    Milliseconds,
    Modseq,
    Node,
    Seconds,
    Sums,
    Text,
    UidNext,
    UidOrNone,
    UidValidity,
    User,
    Yes,
)
from pyrepl.mailbox.words import Box, Dot, Registers, Stamp, Token, Uids, Vector


class Side(enum.Enum):
    """Who sends: a mail process to its node, or a node to a node."""

    MAIL = "mail process"
    NODE = "node"


_MAIL: Final = frozenset({Side.MAIL})
_NODE: Final = frozenset({Side.NODE})
_BOTH: Final = frozenset(Side)
_WIRE: Final = {"wanted_by": "for"}
"""Field -> its key, where that is a word of Python."""


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Command(Frozen):
    """The base: SHAPE is derived from the fields of each class, KEYS is the way back from the wire."""

    VERB: ClassVar[str] = ""
    SENDERS: ClassVar[frozenset[Side]] = _BOTH
    POSITIONS: ClassVar[tuple[str, ...]] = ()
    HAS_TEXT: ClassVar[bool] = False
    SHAPE: ClassVar[dict[str, Kind]] = {}
    KEYS: ClassVar[dict[str, str]] = {}
    NEEDED: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        notes = {
            name: note for base in reversed(cls.__mro__[:-2]) for name, note in inspect.get_annotations(base).items()
        }
        cls.SHAPE = {name: KINDS[notes[name].removesuffix(" | None")] for name in cls.FIELDS}
        cls.KEYS = {_WIRE.get(name, name): name for name in cls.FIELDS if name not in cls.POSITIONS}
        cls.NEEDED = frozenset(cls.FIELDS) - cls.DEFAULTS.keys()

    @classmethod
    def parse(cls, args: list[str]) -> Command:
        """The command of the words behind the verb. Raises PeerError that names the word."""
        given: dict[str, object] = {}
        places = iter(cls.POSITIONS)
        for arg in args:
            key, equals, word = arg.partition("=")
            name = cls.KEYS.get(key) if equals else next(places, None)
            if name in given:
                raise PeerError(f"{cls.VERB} has the word {key[:64]!r} twice")
            if name is not None:
                given[name] = cls._read(name, word if equals else arg)
            elif not equals:
                raise PeerError(f"{cls.VERB} has no place for the word {arg[:64]!r}")
        missing = cls.NEEDED - given.keys()
        if missing:
            raise PeerError(f"{cls.VERB} needs {', '.join(_WIRE.get(name, name) for name in sorted(missing))}")
        return cls(**given)

    @classmethod
    def _read(cls, name: str, word: str) -> object:
        try:
            return cls.SHAPE[name].parse(word)
        except PeerError as error:
            raise PeerError(f"{cls.VERB} {_WIRE.get(name, name)}: {error}") from None

    def replaced(self, **changes: object) -> Self:
        """The same with other values of some fields."""
        assert changes.keys() <= self.SHAPE.keys(), f"{self.VERB} has no {changes.keys() - self.SHAPE.keys()}"
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, **changes)
        return other

    def words(self) -> list[str]:
        """The words behind the verb, parse's inverse."""
        held = self.__dict__
        found = [kind.render(held[name]) for name, kind in self.SHAPE.items() if name in self.POSITIONS and held[name]]
        for name, kind in self.SHAPE.items():
            if name not in self.POSITIONS and (name in self.NEEDED or held[name] != self.DEFAULTS[name]):
                found.append(f"{_WIRE.get(name, name)}={kind.render(held[name])}")
        return found


class Hello(Command):
    """First line of both ends. `name` and `user` are a mail process's; the rest a node's."""

    VERB: ClassVar = "HELLO"
    node: Node = ""
    name: Text = ""
    user: User = ""
    proto: Count = 1
    cluster: Text = ""
    members: Text = ""
    nonce: Text = ""
    epoch: Epoch = 0
    held: Vector = ()
    fresh: Yes = False


class Auth(Command):
    """Second line on TCP: that the sender knows the secret, which itself is never sent."""

    VERB: ClassVar = "AUTH"
    mac: Text


class _OnBox(Command):
    """What is said of one mailbox."""

    POSITIONS: ClassVar = ("user", "box")
    user: User
    box: Box


class Lock(_OnBox):
    """UIDs are to be given out. `wait`: for how long it may take. `ascending`: its SAVEs will come in that order."""

    VERB: ClassVar = "LOCK"
    SENDERS: ClassVar = _MAIL
    wait: Milliseconds | None = None
    ascending: Yes = False


class Unlock(_OnBox):
    """All SAVEs of this lock have been sent."""

    VERB: ClassVar = "UNLOCK"
    SENDERS: ClassVar = _MAIL


class Op(_OnBox):
    """The base of ops. `modseq` None: the one after the command before it on this connection, for this mailbox.

    `tx` is a mail process's. Between nodes the ops of a transaction have numbers in a row, and `left` says how many of
    it follow: nobody applies one without all.
    """

    modseq: Modseq | None = None
    at: Dot | None = None
    after: Vector = ()
    tx: Text = ""
    left: Count = 0

    @property
    def counted_in(self) -> Box:
        """The mailbox whose modseqs this one is one of."""
        return self.box


class Save(Op):
    """A message with its text behind the line; without a text, who lacks the GUID FETCHes it."""

    VERB: ClassVar = "SAVE"
    HAS_TEXT: ClassVar = True
    uid: UidOrNone = ANY_UID
    guid: Guid
    size: Count
    received: Seconds
    flags: Flags = ()
    token: Token | None = None
    sum: Sums = ()


class Store(Op):
    """Flags added and removed, never the whole set. Nodes name messages by `guids`, mail processes by `uids`."""

    VERB: ClassVar = "STORE"
    uids: Uids = ()
    guids: Guids = ()
    add: Flags = ()
    remove: Flags = ()
    unchangedsince: Modseq | None = None


class Expunge(Op):
    """Messages go. `kills` are the dots of the SAVEs and COPYs that its origin knew of them."""

    VERB: ClassVar = "EXPUNGE"
    uids: Uids = ()
    guids: Guids = ()
    kills: Dots = ()


class Copy(Op):
    """Messages of `box` are in `to` as well, with the flags that are stated. Between nodes the GUIDs decide."""

    VERB: ClassVar = "COPY"
    to: Box
    uids: Uids = ()
    touids: Uids = ()
    guids: Guids = ()
    flags: Flags = ()
    token: Token | None = None

    @property
    def counted_in(self) -> Box:
        return self.to


class Modseqs(Op):
    """Messages have at least this modseq; without `guids` the mailbox has."""

    VERB: ClassVar = "MODSEQ"
    SENDERS: ClassVar = _NODE
    guids: Guids = ()


class FlagsOf(_OnBox):
    """The present flags of a message, from the master to the origin of a STORE that came late: those after all ops of
    `held`. Who has not applied these takes the flags from the ops, when they come."""

    VERB: ClassVar = "FLAGS"
    SENDERS: ClassVar = _NODE
    guid: Guid
    stamps: Registers
    modseq: Modseq
    held: Vector = ()


class Renumber(Op):
    """Messages get the UIDs `to`, one each. Without `guids`: the UIDs up to the last of `to` are passed over."""

    VERB: ClassVar = "RENUMBER"
    SENDERS: ClassVar = _NODE
    to: Uids
    guids: Guids = ()
    token: Token | None = None


class _BoxOp(Op):
    """What changes the list of mailboxes. A mail process states no stamp."""

    stamp: Stamp | None = None


class Create(_BoxOp):
    """A mailbox of this name; `id` is its GUID."""

    VERB: ClassVar = "CREATE"
    id: BoxGuid = ""
    uidvalidity: UidValidity | None = None


class Delete(_BoxOp):
    """The mailbox goes with the messages that `known` covers."""

    VERB: ClassVar = "DELETE"
    known: Vector = ()


class Rename(_BoxOp):
    """The mailbox has the name `to`."""

    VERB: ClassVar = "RENAME"
    to: Box


class Subscribe(_BoxOp):
    """The user wants to see the mailbox."""

    VERB: ClassVar = "SUBSCRIBE"


class Unsubscribe(_BoxOp):
    """The user does not."""

    VERB: ClassVar = "UNSUBSCRIBE"


class TxBegin(Command):
    """The ops with this `tx` that follow take effect together, at TX-END."""

    VERB: ClassVar = "TX-BEGIN"
    POSITIONS: ClassVar = ("user",)
    user: User
    tx: Text


class TxEnd(Command):
    """The end of a transaction. `abort`: nothing of it was."""

    VERB: ClassVar = "TX-END"
    POSITIONS: ClassVar = ("user",)
    user: User
    tx: Text
    abort: Yes = False


class Fetch(Command):
    """The text of a message is wanted. `sum`: of the mail with these checksums, where two have this GUID."""

    VERB: ClassVar = "FETCH"
    POSITIONS: ClassVar = ("user",)
    user: User
    guid: Guid
    sum: Sums = ()


class Check(Command):
    """OK when all that was sent before, and between nodes all that `held` covers, is applied."""

    VERB: ClassVar = "CHECK"
    POSITIONS: ClassVar = ("user",)
    user: User = ""
    held: Vector = ()
    login: Yes = False
    """This user is about to log in to a Dovecot, whose modseqs are to be brought in line; members answer with their
    clocks as `modseq`."""


class Take(_OnBox):
    """The mastership is wanted by a node: the tracker's REQUEST on the wire."""

    VERB: ClassVar = "TAKE"
    SENDERS: ClassVar = _NODE
    wanted_by: Node
    hops: Count
    token: Token


class InUse(_OnBox):
    """The mastership was asked for and is here, but LOCKs are open: whoever waits for it need not look for it."""

    VERB: ClassVar = "IN-USE"
    SENDERS: ClassVar = _NODE
    token: Token


class Give(_OnBox):
    """The mastership is the receiver's, once it has applied what `held` covers; `uid` is the first to give out."""

    VERB: ClassVar = "GIVE"
    SENDERS: ClassVar = _NODE
    token: Token
    uid: UidNext
    modseq: Modseq
    held: Vector


class _OfRoot(Command):
    """The base of what is said about the root."""

    SENDERS: ClassVar = _NODE
    epoch: Epoch
    node: Node = ""
    root: Node = ""


class RootPing(_OfRoot):
    """The question by which leases are counted."""

    VERB: ClassVar = "ROOT-PING"


class RootClaim(_OfRoot):
    """`node` wants to be the root of `epoch`. `probe`: would I get the vote? Nothing is recorded."""

    VERB: ClassVar = "ROOT-CLAIM"
    probe: Yes = False


class RootSet(_OfRoot):
    """`root` is the root of `epoch`: all masterships end."""

    VERB: ClassVar = "ROOT-SET"


class RootClear(_OfRoot):
    """`node` holds no mastership of an older epoch; `held` covers all that it saved under one."""

    VERB: ClassVar = "ROOT-CLEAR"
    held: Vector = ()


class Ack(Command):
    """What is applied and on disk, cumulative."""

    VERB: ClassVar = "ACK"
    SENDERS: ClassVar = _NODE
    held: Vector


class Sync(Command):
    """All ops beyond `held` are wanted, but for those up to `waits`, which came and cannot be applied yet."""

    VERB: ClassVar = "SYNC"
    SENDERS: ClassVar = _NODE
    held: Vector = ()
    waits: Vector = ()


class Boxes(Command):
    """All mailboxes with a GUID above `after` are wanted, as STATE, in the order of their GUIDs."""

    VERB: ClassVar = "BOXES"
    SENDERS: ClassVar = _NODE
    after: BoxGuid = ""


class State(_OnBox):
    """One mailbox, by its name; `id` is its GUID."""

    VERB: ClassVar = "STATE"
    SENDERS: ClassVar = _NODE
    id: BoxGuid
    uidvalidity: UidValidity
    uidnext: UidNext
    modseq: Modseq
    stamp: Stamp
    created: Stamp
    subscribed: Stamp | None = None
    is_subscribed: Yes = False
    deleted: Yes = False


class Entries(_OnBox):
    """Do both have the same of the messages above `after`, up to `upto`, by GUID? The sender's have this digest; with
    another one, what the receiver has is wanted, as ENTRY. `upto` "": all that follow."""

    VERB: ClassVar = "ENTRIES"
    SENDERS: ClassVar = _NODE
    digest: Text
    after: Text = ""
    upto: Text = ""


class Entry(_OnBox):
    """A message, there or gone, and the digest of what is known of it. `uid` 0: it has none, or is gone."""

    VERB: ClassVar = "ENTRY"
    SENDERS: ClassVar = _NODE
    guid: Guid
    digest: Text
    uid: UidOrNone = ANY_UID


class Messages(_OnBox):
    """All that is known of messages is wanted, as MESSAGE."""

    VERB: ClassVar = "MESSAGES"
    SENDERS: ClassVar = _NODE
    guids: Guids


class Message(_OnBox):
    """All that is known of a message; with `gone`, of one that was there."""

    VERB: ClassVar = "MESSAGE"
    SENDERS: ClassVar = _NODE
    guid: Guid
    uid: UidOrNone = ANY_UID
    token: Token | None = None
    dots: Dots = ()
    stamps: Registers = ()
    modseq: Modseq
    size: Count = 0
    received: Seconds = 0
    sum: Sums = ()
    gone: Yes = False


class Ping(Command):
    """The sender is alive."""

    VERB: ClassVar = "PING"
    at: Milliseconds | None = None


class Quit(Command):
    """The sender goes in good order."""

    VERB: ClassVar = "QUIT"


COMMANDS: Final[tuple[type[Command], ...]] = (
    *(Hello, Auth, Lock, Unlock, Save, Store, Expunge, Copy, Modseqs, FlagsOf, Renumber),
    *(Create, Delete, Rename, Subscribe, Unsubscribe, TxBegin, TxEnd, Fetch, Check),
    *(Take, InUse, Give, RootPing, RootClaim, RootSet, RootClear, Ack, Ping, Quit),
    *(Sync, Boxes, State, Entries, Entry, Messages, Message),
)
BY_VERB: Final[dict[str, type[Command]]] = {command.VERB: command for command in COMMANDS}
