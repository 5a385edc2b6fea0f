r"""Where the nodes of a transcript begin: what they keep of mailboxes and mails, as rows and in their stores.

    mailbox INBOX token=4.17 uidnext=57 modseq=300      a mailbox; also `stamp=11` and `uidvalidity=`
    mail INBOX 57=G57 size=1204 modseq=290 \Seen        a mail in it; also `dot=a:5`, the op that brought it
    begins epoch=4 held=a:900,b:12                      all nodes have this, and a is the root of this epoch
    begins b held=a:100 later                           but b has only these ops, and is down
    guid 8f..                                           a GUID that is written so, for a mailbox that will be made

The ops that nodes have are in no journal any more, so the numbers of new ones follow those of the specification. An
epoch begins with an election, so the rows are of the epoch before it, and tell of the term that the root goes on with.

Not here: what is said about it (cluster.py) and the other lines of a transcript (replay.py).
"""

from __future__ import annotations

import hashlib
from typing import Final, final

from pyrepl.mailbox.flags import from_set
from pyrepl.mailbox.rows import BoxRow, ClusterRow, MessageRow
from pyrepl.mailbox.store import AddMessage, MakeBox, RaiseNext, Work
from pyrepl.mailbox.words import Stamp, Vector, parse_dot, parse_token, parse_vector
from tests.simulation.mailbox.memory_rows import MemoryRows
from tests.simulation.mailbox.model_store import ModelStore

USER: Final = "alice"
MADE_BY: Final = "a"
UIDVALIDITY: Final = 1_795_333_412
RECEIVED: Final = 1_795_333_408
_KEYS: Final = {
    "mailbox": {"token", "uidnext", "modseq", "stamp", "uidvalidity"},
    "mail": {"size", "modseq", "dot"},
    "begins": {"epoch", "held"},
    "guid": set[str](),
}


@final
class Beginning:
    """Rows of nodes before they start. Without an epoch: none, the nodes are new."""

    def __init__(self) -> None:
        self.epoch = 0
        self.later: Final[set[str]] = set()
        """Nodes that are down at first."""
        self._held: Vector = ()
        self._held_by: Final[dict[str, Vector]] = {}
        """Node -> the ops that it has, where these are not those of all."""
        self._boxes: Final[dict[str, BoxRow]] = {}
        self._mails: Final[list[MessageRow]] = []
        self.names: Final[dict[str, str]] = {}
        """Mailbox's GUID -> how it is written."""

    def read(self, line: str) -> None:
        """One of the lines above."""
        kind, *words = line.split()
        keys = dict(word.split("=", 1) for word in words if "=" in word)
        plain = [word for word in words if "=" not in word]
        unknown = {key for key in keys if not key.isdecimal()} - _KEYS[kind]
        assert not unknown, f"{' '.join(sorted(unknown))} is nothing that a {kind} has"
        if kind == "mailbox":
            self._read_mailbox(plain[0], keys)
        elif kind == "mail":
            self._read_mail(plain, keys)
        elif kind == "guid":
            self.names[plain[0].rstrip(".").ljust(32, "0")] = plain[0]
        else:
            self._read_begins(plain, keys)

    def _read_mailbox(self, name: str, keys: dict[str, str]) -> None:
        stamp = Stamp(int(keys.get("stamp", 1)), MADE_BY)
        self.names[guid_of(name)] = name
        self._boxes[name] = BoxRow(
            *(guid_of(name), USER, name, stamp, int(keys.get("uidvalidity", UIDVALIDITY))),
            uidnext=int(keys.get("uidnext", 1)),
            highest=int(keys.get("modseq", 1)),
            token=parse_token(keys.get("token", "0.0")),
            created_stamp=stamp,
        )

    def _read_mail(self, plain: list[str], keys: dict[str, str]) -> None:
        name, *flags = plain
        box = self._boxes[name]
        [(uid, guid)] = [(int(key), value) for key, value in keys.items() if key.isdecimal()]
        modseq = int(keys.get("modseq", 1))
        dots = (parse_dot(keys.get("dot", f"{MADE_BY}:1")),)
        row = MessageRow(box.guid, guid, uid, box.token, dots, int(keys.get("size", 4)), RECEIVED, modseq=modseq)
        self._mails.append(row._replace(flags=from_set(tuple(flags), Stamp(modseq, MADE_BY))))

    def _read_begins(self, plain: list[str], keys: dict[str, str]) -> None:
        self.epoch = int(keys.get("epoch", self.epoch))
        held = parse_vector(keys["held"])
        if not plain:
            self._held = held
            return
        self._held_by[plain[0]] = held
        if "later" in plain:
            self.later.add(plain[0])

    def put(self, node: str, rows: MemoryRows, store: ModelStore) -> None:
        """Into the rows and the store of a node that has not started."""
        if not self.epoch:
            return
        rows.put_cluster(ClusterRow(epoch=self.epoch - 1, origin=node))
        for dot in self._held_by.get(node, self._held):
            rows.skip_to(dot)
        for box in self._boxes.values():
            rows.put_box(box)
        for mail in self._mails:
            rows.put_message(mail)
        rows.commit()
        works = self._works()
        store.do(works)
        store.settle(works)

    def _works(self) -> list[Work]:
        """What the store was told in its time."""
        boxes = list(self._boxes.values())
        made: list[Work] = [MakeBox(USER, box.guid, box.name, box.uidvalidity, 1) for box in boxes]
        mails = [
            AddMessage(USER, mail.box, mail.guid, mail.uid, mail.set_flags(), mail.received, mail.size, "drop")
            for mail in self._mails
        ]
        return [*made, *mails, *(RaiseNext(USER, box.guid, box.uidnext) for box in boxes)]


def guid_of(name: str) -> str:
    """The GUID of the mailbox that has this name at first."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]
