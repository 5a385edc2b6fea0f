"""A few nodes on one clock, connections without delay, and everything that is said as lines of text.

    m1>a 1 LOCK alice INBOX      a mail process of node a says a line; `{text}` at its end stands for a literal
    a>m1 1 OK uid=57             the node answers
    a>b * TAKE ..                a node says a line to another
    = a INBOX next=58 ..         what clients of a node see in a mailbox: UID, GUID and flags of each mail

A mailbox's GUID is written as `#NAME`, after the name it was created under. Leases, acknowledgements and the exchange
when a connection begins are left out unless `shows` names their verbs. HELLO, which is said before nodes hear anything
of a connection, is written with what it tells of a node.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from pyrepl.mailbox.acks import AckOptions
from pyrepl.mailbox.answers import Bad, No, Ok
from pyrepl.mailbox.codec import Decoder, Line, encode
from pyrepl.mailbox.entries import Pages
from pyrepl.mailbox.mastering import MasteringOptions
from pyrepl.mailbox.members import Member, Members
from pyrepl.mailbox.node import Node, NodeOptions
from pyrepl.mailbox.rows import UNPLACED, ClusterRow
from pyrepl.mailbox.sending import Reply, Send
from pyrepl.mailbox.tracker import TrackerOptions
from pyrepl.mailbox.verbs import Command, Create, Hello, Side
from tests.scenario.mailbox.beginnings import Beginning
from tests.simulation.mailbox.memory_rows import MemoryRows
from tests.simulation.mailbox.model_store import ModelStore, Uids

PAGES = Pages()
QUIET = frozenset({"ROOT-PING", "ACK", "SYNC", "PING"})
_ANSWERS = (Ok, No, Bad)
_NAMED = re.compile(r"(#|\bid=)(\S+)")
"""A mailbox's GUID, or what is written instead of it."""
_TEXT = re.compile(r" \{(text|\d+)\}$")


class Cluster:
    """Nodes by name. A line that goes to a node arrives when `settle` runs, in the order in which it was said."""

    def __init__(
        self,
        names: str = "ab",
        witnesses: str = "",
        *,
        accept: bool = True,
        shows: str = "",
        acks: AckOptions | None = None,
        pages: Pages = PAGES,
        beginning: Beginning | None = None,
        counts: bool = False,
    ) -> None:
        """`counts`: texts are written with their sizes, as `{1204}`."""
        self.members = Members(tuple(Member(name, name in witnesses) for name in names))
        mastering = MasteringOptions(tracker=TrackerOptions(accept=accept))
        self.options = NodeOptions(mastering, unix_s=1_795_333_408.0, acks=acks or AckOptions(), pages=pages)
        self.now = 0.0
        self.shows = set(shows.split())
        self.lines: list[str] = []
        begins = beginning or Beginning()
        self.names = dict(begins.names)
        self.counts = counts
        self.uids = Uids()
        self.rows = {name: MemoryRows() for name in names}
        self.stores = {name: ModelStore(self.uids) for name in names}
        self.nodes: dict[str, Node] = {}
        self.up: set[frozenset[str]] = set()
        self.held: set[str] = set()
        """Directions like `c>b` on which nothing arrives for now."""
        self.dies: set[str] = set()
        """Nodes that die when they have done works the next time, before their rows are committed."""
        self.hears: dict[str, Callable[[str, str, Command, str, float], None]] = {}
        """Node -> what stands between it and what members say to it, as its `hear`; of others nothing does."""
        self._way: list[tuple[str, Send]] = []
        self._quiet_tags: set[tuple[str, str, str]] = set()
        for name in names:
            begins.put(name, self.rows[name], self.stores[name])
        for name in names:
            if name not in begins.later:
                self.start(name)

    # What happens

    def lose_disk(self, name: str) -> None:
        """A node that is down has an empty disk, and what was on it is gone."""
        self.rows[name], self.stores[name] = MemoryRows(), ModelStore(self.uids)
        self.rows[name].put_cluster(ClusterRow(origin=f"{name}~5", is_fresh=True))
        self.rows[name].commit()

    def start(self, name: str, peers: str | None = None) -> None:
        """A node starts, with links to all others that are up, or to these."""
        self.nodes[name] = Node(name, self.members, self.rows[name], self.now, self.options)
        store = self.stores[name]
        self.nodes[name].core.recover({"alice": store.stored("alice")} if store.boxes else {})
        self._after(name)
        for other in self.nodes:
            if other != name and (peers is None or other in peers):
                self.link(name, other)

    def crash(self, name: str) -> None:
        del self.nodes[name]
        self.rows[name].crash()
        for other in list(self.nodes):
            self.cut(name, other)

    def link(self, one: str, other: str) -> None:
        self.up.add(frozenset((one, other)))
        # Both say HELLO before either hears the other's.
        roots = {peer: self.nodes[peer].mastering.root for peer in (one, other)}
        said = {peer: (root.is_fresh, root.epoch) for peer, root in roots.items()}
        if "HELLO" in self.shows:
            for mine, peer in ((one, other), (other, one)):
                hello = Hello(node=mine, fresh=said[mine][0], epoch=said[mine][1])
                self.lines.append(f"{mine}>{peer} {self._text('*', hello, False)}")
        for mine, peer in ((one, other), (other, one)):
            is_fresh, epoch = said[peer]
            self.nodes[mine].link_up(peer, self.now, is_fresh=is_fresh, epoch=epoch)
            self._after(mine)
        self.settle()

    def cut(self, one: str, other: str) -> None:
        self.up.discard(frozenset((one, other)))
        self._way = [each for each in self._way if {each[0], each[1].peer} != {one, other}]
        for mine, peer in ((one, other), (other, one)):
            if mine in self.nodes:
                self.nodes[mine].link_down(peer, self.now)
                self._after(mine)

    def release(self, way: str) -> None:
        """What was held in this direction arrives, and is written once more."""
        self.held.discard(way)
        for sender, send in self._way:
            if f"{sender}>{send.peer}" == way:
                self._show(sender, send)
        self.settle()

    def say(self, line: str) -> None:
        """A line of a mail process."""
        way, _, rest = line.partition(" ")
        client, _, node = way.partition(">")
        text = _TEXT.search(rest)
        guids = {name: guid for guid, name in self.names.items()}
        rest = _NAMED.sub(lambda named: named[1] + guids.get(named[2], named[2]), rest)
        [heard] = Decoder(Side.MAIL).feed(_TEXT.sub("", rest).encode() + b"\n")
        assert isinstance(heard, Line), heard
        self.lines.append(line)
        self.nodes[node].hear_mail(client, heard.tag, heard.command, "drop" if text else "", self.now)
        self._after(node)
        self.settle()

    def run(self, seconds: float) -> None:
        until = self.now + seconds
        while True:
            due = min(node.next_deadline(self.now) for node in self.nodes.values())
            if due > until:
                break
            self.now = max(self.now + 1e-4, due)
            for name in list(self.nodes):
                self.nodes[name].tick(self.now)
                self._after(name)
            self.settle()
        self.now = until

    def settle(self) -> None:
        """Everything arrives, and what is said about it, but for directions that are held."""
        while True:
            free = (at for at, each in enumerate(self._way) if f"{each[0]}>{each[1].peer}" not in self.held)
            place = next(free, -1)
            if place < 0:
                return
            sender, send = self._way.pop(place)
            if frozenset((sender, send.peer)) in self.up and send.peer in self.nodes:
                text = "drop" if send.text_of is not None else ""
                hear = self.hears.get(send.peer, self.nodes[send.peer].hear)
                hear(sender, send.tag, send.command, text, self.now)
                self._after(send.peer)

    def _after(self, name: str) -> None:
        node = self.nodes[name]
        store, works = self.stores[name], node.core.works()
        store.do(works)
        if works and name in self.dies:
            self.dies.discard(name)
            self.crash(name)
            return
        self.rows[name].commit()
        store.do(node.core.removals())
        store.settle(works)
        for send in node.core.sends():
            self._show(name, send)
            self._way.append((name, send))
        for reply in node.core.replies():
            self._show_reply(name, reply)

    # What is said

    def _show(self, name: str, send: Send) -> None:
        if isinstance(send.command, Create):
            self.names.setdefault(send.command.id, send.command.box.text)
        is_quiet = isinstance(send.command, _ANSWERS) and (send.peer, name, send.tag) in self._quiet_tags
        if send.command.VERB in QUIET - self.shows:
            if send.tag != "*":
                self._quiet_tags.add((name, send.peer, send.tag))
        elif not is_quiet and frozenset((name, send.peer)) in self.up:
            self.lines.append(f"{name}>{send.peer} {self._text(send.tag, send.command, send.text_of is not None)}")

    def _show_reply(self, name: str, reply: Reply) -> None:
        self.lines.append(f"{name}>{reply.client} {self._text(reply.tag, reply.answer, reply.text_of is not None)}")

    def _text(self, tag: str, command: Command, has_text: bool) -> str:
        line = encode(command, tag).decode().rstrip("\n")
        line = _NAMED.sub(lambda named: named[1] + self.names.get(named[2], named[2]), line)
        size = command.__dict__["size"] if has_text and self.counts else "text"
        return line + (f" {{{size}}}" if has_text else "")

    def said(self, *verbs: str) -> list[str]:
        """The lines with these verbs so far; all without any. They are forgotten."""
        lines, self.lines = self.lines, []
        return [line for line in lines if not verbs or line.split(" ")[2] in verbs]

    def views(self) -> list[dict[str, tuple[int, tuple[str, ...]]]]:
        """For each keeper that is up: `mailbox/GUID` -> (UID, flags), as clients see it."""
        return [
            {
                f"{self.stores[name].names[box]}/{guid}": has
                for box, messages in sorted(self.stores[name].boxes.items())
                for guid, has in sorted(messages.items())
            }
            for name in self.members.keepers
            if name in self.nodes
        ]

    def states(self) -> list[str]:
        """What clients see, for each keeper that is up and each mailbox, by its name."""
        return [
            self._state(name, box)
            for name in self.members.keepers
            if name in self.nodes
            for box in sorted(self.stores[name].boxes, key=self.stores[name].names.__getitem__)
        ]

    def _state(self, name: str, box: str) -> str:
        store, row = self.stores[name], self.rows[name].box(box)
        assert row is not None
        shown = store.names[box]
        mails = sorted((uid, guid, flags) for guid, (uid, flags) in store.boxes[box].items() if uid != UNPLACED)
        words = [f"next={row.uidnext} modseq={row.highest}", *(["subscribed"] if shown in store.subscribed else [])]
        words += [" ".join([f"{uid}={guid}", *sorted(flags)]) for uid, guid, flags in mails]
        return " ".join(["=", name, shown, *words])


def ready(
    names: str = "ab",
    witnesses: str = "",
    *,
    accept: bool = True,
    box: str = "INBOX",
    pages: Pages = PAGES,
) -> Cluster:
    """A cluster with a root, a, and one mailbox, made by a."""
    cluster = Cluster(names, witnesses, accept=accept, pages=pages)
    cluster.run(3.0)
    cluster.say(f"m0>a 0 CREATE alice {box}")
    cluster.run(1.1)
    cluster.said()
    return cluster


def save(guid: str, uid: str = "*", flags: str = "()") -> str:
    """The words of a SAVE behind the mailbox."""
    return f"uid={uid} guid={guid} size=4 received=1795333408 flags={flags} {{text}}"
