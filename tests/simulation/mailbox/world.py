"""A cluster on a virtual clock: nodes with clocks of their own rates, disks, connections, and what breaks them."""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial

from pyrepl.mailbox.acks import AckOptions
from pyrepl.mailbox.answers import No, Ok, Reason
from pyrepl.mailbox.entries import Pages
from pyrepl.mailbox.folders import FolderResult
from pyrepl.mailbox.mastering import MasteringOptions
from pyrepl.mailbox.members import Member, Members
from pyrepl.mailbox.node import Node, NodeOptions
from pyrepl.mailbox.root import RootOptions
from pyrepl.mailbox.root_states import RootState
from pyrepl.mailbox.rows import ClusterRow, origin_of_new
from pyrepl.mailbox.sending import Reply, Send
from pyrepl.mailbox.store import Work
from pyrepl.mailbox.tracker import TrackerOptions
from pyrepl.mailbox.uids import UidBlocks
from pyrepl.mailbox.verbs import Command, Create, RootClaim
from pyrepl.mailbox.words import Dot
from tests.simulation.mailbox.gated_store import GatedStore
from tests.simulation.mailbox.memory_rows import MemoryRows
from tests.simulation.mailbox.model_keeper import ModelKeeper
from tests.simulation.mailbox.model_store import ModelStore, Uids
from tests.simulation.mailbox.network import Network
from tests.simulation.mailbox.violation import Violation
from tests.simulation.mailbox.watch import Watch

USER = "alice"
SMALL = Pages(boxes=1, entries=4, compared=3, messages=2, wanted=4)


GAP = 100_000
GUARD = 10_000
"""So many messages no history has."""
ORPHAN_MS = 20_000
MOST_TICKS = 2000
"""In a second no node has so much to do just because time passes."""


class Host:
    """One member's machine: its disk and store outlive its node."""

    def __init__(self, name: str, rate: float, store: ModelStore) -> None:
        self.name = name
        self.rate = rate
        self.rows = MemoryRows()
        self.store = store
        self.keeper: ModelKeeper | None = None
        """With gates."""
        self.is_scrubbed = False
        self.node: Node | None = None
        self.wakes_at = float("inf")
        self.lease_end = float("-inf")
        self.disks = 1
        """How many it has had."""
        self.came: list[tuple[str, str, Command, str]] = []
        """What members said that has arrived at this moment: sender, tag, command, text."""
        self.frozen: list[Callable[[Node, float], None]] | None = None
        """What came while the node stood still; None while it does not."""
        self.thawed_at = 0.0
        self.ticks: Counter[int] = Counter()
        """Second -> how often time passed for the node."""


class World:
    """Everything. `seen` counts what happened; a history that breaks an invariant raises Violation."""

    def __init__(
        self, rng: random.Random, keepers: int, *, witness: bool, accept: bool, pages: Pages, gates: bool, acks: int
    ) -> None:
        """`gates`: beside each node is a Dovecot. `acks`: so many other nodes are to have what is saved."""
        self.rng = rng
        self.now = 0.0
        self.seen: Counter[str] = Counter()
        self.gates = gates
        self._acks = AckOptions(wanted=acks)
        self.watch = Watch(has_dovecots=gates)
        self.uids = Uids()
        names = [chr(ord("a") + place) for place in range(keepers)] + (["w"] if witness else [])
        self.members = Members(tuple(Member(name, name == "w") for name in names))
        self.accept = accept
        self.pages = pages
        self.hosts = {name: Host(name, rng.uniform(0.9, 1.1), self._new_store()) for name in names}
        for host in self.hosts.values():
            self._new_keeper(host)
        self.network = Network(rng, names, self.at, lambda: self.now)
        self.network.deliver = self._deliver
        self.network.meet, self.network.part = self._meet, self._part
        self.network.is_alive = lambda name: self.hosts[name].node is not None
        self.on_reply: Callable[[str, Reply], None] = lambda host, reply: None
        self.on_crash: Callable[[str], None] = lambda host: None
        self.on_look: Callable[[str], None] = lambda host: None
        """Hears that a node has looked at mailboxes, or done something in them, and knows of neither yet."""
        self.lost: set[Dot] = set()
        """Ops that were on no other disk than one that is gone."""
        self._made: dict[Dot, str] = {}
        """The mailboxes that CREATEs of lost disks made."""
        self.lost_disks: list[tuple[str, dict[str, int]]] = []
        """Whose they were, and what was on them."""
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self._crash_next: str | None = None
        self._roots: dict[int, str] = {}
        self._claims: dict[tuple[str, str, str], int] = {}
        """Who is asked for a vote, by whom, tag -> epoch."""
        self.single: set[str] = set()
        """Ops of which it was told that they are on one node alone."""
        self.texts_sent: Counter[tuple[str, str, str]] = Counter()
        """Sender, receiver, GUID -> how often."""
        for name in names:
            self.start(name)

    # Time

    def at(self, time: float, what: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._queue, (time, self._count, what))

    def run(self, until: float) -> None:
        """Let happen what is due until then."""
        while self._queue and self._queue[0][0] <= until:
            self.now, _, what = heapq.heappop(self._queue)
            what()
        self.now = until

    def step(self) -> None:
        """The next thing that happens."""
        self.now, _, what = heapq.heappop(self._queue)
        what()

    def clock(self, host: Host) -> float:
        return self.now * host.rate

    # Nodes

    def options(self) -> NodeOptions:
        mastering = MasteringOptions(
            RootOptions(jitter_s=self.rng.uniform(0, 0.2)), TrackerOptions(accept=self.accept), gap=GAP
        )
        guard = GUARD if self.gates else None
        return NodeOptions(mastering, unix_s=1_795_000_000.0, acks=self._acks, pages=self.pages, expunge_guard=guard)

    def _new_store(self) -> ModelStore:
        return GatedStore(self.uids, UidBlocks(GAP, len(self.members.names))) if self.gates else ModelStore(self.uids)

    def _new_keeper(self, host: Host) -> None:
        if isinstance(host.store, GatedStore):
            place = self.members.place(host.name)
            numbers = ORPHAN_MS, GAP, len(self.members.names), place
            orphaned = b"apart %d %d %d %d" % numbers if self.accept else b"wait"
            later = lambda seconds, what: self.at(self.now + seconds, what)  # noqa: E731
            host.keeper = ModelKeeper(host.store, orphaned, lambda: self.clock(host), later)

    def start(self, name: str) -> None:
        host = self.hosts[name]
        self._forget(host, self._nobodys())
        if host.keeper is not None:
            host.keeper.daemon_came()
        host.node = Node(name, self.members, host.rows, self.clock(host), self.options())
        host.node.core.recover({USER: host.store.stored(USER)} if host.store.boxes else {})
        self._after(host)
        self.network.connect()

    def _forget(self, host: Host, lost: set[Dot]) -> None:
        host.store.forget(lost, {box for at, box in self._made.items() if at in lost})

    def _nobodys(self) -> set[Dot]:
        """Ops that came when their origin's disk was gone already, and that a crash left half done. Nobody has them; to
        one who stands still they may be on their way."""
        if any(host.frozen is not None for host in self.hosts.values()):
            return set()
        held = [host.rows.held() for host in self.hosts.values()]
        return {at for at in self.lost if all(each.get(at.origin, 0) < at.seq for each in held)}

    def crash(self, name: str) -> None:
        """kill -9, or a power cut: what was not committed is gone."""
        host = self.hosts[name]
        if host.node is None:
            return
        self.seen["crash"] += 1
        host.node = host.frozen = None
        host.came = []
        host.wakes_at = float("inf")
        host.rows.crash()
        for connection in self.network.connections.values():
            if name in connection.ends and connection.is_up:
                self.network.drop(connection)
        self.on_crash(name)
        if host.keeper is not None:
            host.keeper.daemon_gone()

    def lose_disk(self, name: str) -> None:
        """The machine is gone with its disk, and another one has its place: what no other node has is lost."""
        host = self.hosts[name]
        self.crash(name)
        self.seen["disk lost"] += 1
        self.lost_disks.append((name, host.rows.held()))
        kept = [other.rows.held() for other in self.hosts.values() if other is not host]
        gone = {op.at: op for op in host.rows.all_ops() if op.at is not None}
        self.lost |= {at for at in gone if all(held.get(at.origin, 0) < at.seq for held in kept)}
        self._made |= {at: op.id for at, op in gone.items() if isinstance(op, Create)}
        self.watch.forget(self.lost)
        self.watch.votes_lost(name)
        for other in self.hosts.values():
            self._forget(other, self.lost)
        most_ops = host.rows.most_ops
        host.disks += 1
        host.rows, host.store = MemoryRows(), self._new_store()
        self._new_keeper(host)
        host.rows.most_ops = most_ops
        host.rows.put_cluster(ClusterRow(origin=origin_of_new(name, 1000 * host.disks), is_fresh=True))
        host.rows.commit()

    def crash_at_next_step(self, name: str) -> None:
        """The next time the node does something, it dies in the middle of it."""
        self._crash_next = name

    def alive(self) -> list[str]:
        return [name for name, host in self.hosts.items() if host.node is not None]

    def call(self, name: str, what: Callable[[Node, float], None]) -> None:
        """Something comes to a node, if it is alive; then what follows from it is done."""
        host = self.hosts[name]
        if host.frozen is not None:
            host.frozen.append(what)
        elif host.node is not None:
            self._do_gates(host, host.node)
            what(host.node, self.clock(host))
            self._after(host)

    def _do_gates(self, host: Host, node: Node) -> None:
        """What gates need is done before anything else, as in the driver."""
        gates, folders, store = node.gates, node.folders, host.store
        if gates is None or folders is None or not isinstance(store, GatedStore):
            return
        now = self.clock(host)
        looked = [(order, store.gate(order)) for order in gates.orders((), now)]
        listed = [(order, store.listing(order)) for order in folders.orders((), now)]
        self.on_look(host.name)
        for order, result in looked:
            gates.done(order, result, now)
        for listing, found in listed:
            folders.done(listing, FolderResult(found), now)

    def freeze(self, name: str, seconds: float) -> None:
        """The node stands still, as by SIGSTOP; what comes meanwhile, it finds before it looks at the clock."""
        host = self.hosts[name]
        node = host.node
        if node is not None and host.frozen is None:
            self.seen["freeze"] += 1
            host.frozen = []
            self.at(self.now + seconds, lambda: self.thaw(name) if host.node is node else None)

    def thaw(self, name: str) -> None:
        host = self.hosts[name]
        came, host.frozen = host.frozen, None
        if came is not None:
            host.thawed_at = self.now
            for what in [*came, lambda node, now: node.tick(now)]:
                self.call(name, what)

    def _after(self, host: Host) -> None:
        node = host.node
        assert node is not None
        core, now = node.core, self.clock(host)
        works, was_changed = core.works(), host.rows.is_dirty
        if self._crash_next == host.name and (works or was_changed):
            self._crash_within(host, works)
            return
        ended = host.store.do(works) if works else []
        core.ended(ended)
        was_changed |= host.rows.is_dirty
        if works:
            self.on_look(host.name)
        if was_changed:
            host.rows.commit()
        if removals := core.removals():
            ended += host.store.do(removals)
        if works:
            host.store.settle(works)
        if ended and node.gates is not None and node.folders is not None:
            node.gates.worked(ended, now)
            node.folders.worked(ended, now)
            if host.rows.is_dirty:
                was_changed = True
                host.rows.commit()
        core.unneeded()
        for send in core.sends():
            self._send(host, send)
        for notice in core.notices():
            self.seen[notice.name] += 1
            if notice.name == "single_copy":
                self.single.add(notice.about)
            if notice.name == "faulty_mail_process":
                raise Violation("I10", f"{host.name} refused a SAVE that was in order: {notice.about}")
        for reply in core.replies():
            self.on_reply(host.name, reply)
        lease_end = host.lease_end
        if was_changed or node.mastering.root.lease_end(now) != lease_end:
            self._check(host, node, now)
        if was_changed:
            self.watch.look(node, host.rows, now, self.now, lease_end)
        if host.is_scrubbed:
            self._scrub(host, node)
        self._wake(host, node, now)

    def _send(self, host: Host, send: Send) -> None:
        """With its text. Who gets one that is not what its line says, hears it without; so it is when the text went in
        the same round, and an answer says that then."""
        peer, command, tag, text_of = send
        text = ""
        if text_of is not None and host.store.has_good_text(text_of[1], command.__dict__["sum"]):
            text = host.store.text(text_of[1])
        elif text_of is not None and isinstance(command, Ok):
            is_there = host.store.has_text(*text_of)
            self.seen["text_wrong" if is_there else "text_gone"] += 1
            command = No(reason=Reason.FAILED if is_there else Reason.NOUID)
        self._note_vote(host.name, send)
        if text and text_of is not None:
            self.texts_sent[host.name, peer, text_of[1]] += 1
        self.network.send(host.name, peer, tag, command, text)

    def _note_vote(self, name: str, send: Send) -> None:
        """A vote is given by its answer, and for itself by who asks for votes."""
        command = send.command
        if isinstance(command, Ok | No):
            epoch = self._claims.pop((name, send.peer, send.tag), None)
            if isinstance(command, Ok) and epoch is not None:
                self.watch.voted(name, epoch, send.peer)
            return
        # A node that has started again uses its tags again.
        self._claims.pop((send.peer, name, send.tag), None)
        if isinstance(command, RootClaim) and not command.probe:
            self._claims[send.peer, name, send.tag] = command.epoch
            self.watch.voted(name, command.epoch, name)

    def _scrub(self, host: Host, node: Node) -> None:
        order = node.scrubbing.order(0, (), self.clock(host))
        if order is not None:
            reads = host.store.scrub(order)
            done = lambda node, now: node.scrubbing.done(order, reads, 0.001, now)  # noqa: E731
            self.at(self.now + 0.001, lambda: self.call(host.name, done) if host.node is node else None)

    def _crash_within(self, host: Host, works: Iterable[Work]) -> None:
        """Some of the works were done; the rows were committed, or were not; nobody was told."""
        self._crash_next = None
        self.seen["crash within"] += 1
        works = list(works)
        done = self.rng.randint(0, len(works))
        host.store.do(works[:done])
        if done == len(works) and self.rng.random() < 0.5:
            host.rows.commit()
            assert host.node is not None
            self.watch.look(host.node, host.rows, self.clock(host), self.now, host.lease_end)
            removals = host.node.core.removals()
            host.store.do(removals[: self.rng.randint(0, len(removals))])
        self.crash(host.name)

    def _wake(self, host: Host, node: Node, now: float) -> None:
        at = max(self.now, node.next_deadline(now) / host.rate)
        if at < host.wakes_at - 1e-6 or host.wakes_at <= self.now:
            host.wakes_at = at
            self.at(at + 1e-6, lambda: self._tick(host, node, at))

    def _tick(self, host: Host, node: Node, at: float) -> None:
        if host.node is node and host.wakes_at == at:
            host.wakes_at = float("inf")
            host.ticks[int(self.now)] += 1
            if host.ticks[int(self.now)] > MOST_TICKS:
                raise Violation("I16", f"{host.name} has time pass again and again at {self.now:.3f}, and does nothing")
            self.call(host.name, lambda node, now: node.tick(now)) if host.frozen is None else None

    # What comes

    def _deliver(self, sender: str, to: str, tag: str, command: Command, text: str) -> None:
        """What arrives at the same time is told in one round, and committed together, as the driver does."""
        host = self.hosts[to]
        is_first = not host.came
        host.came.append((sender, tag, command, text))
        if not self._queue or self._queue[0][0] > self.now:
            self._round(host)
        elif is_first:
            self.at(self.now, lambda: self._round(host))

    def _round(self, host: Host) -> None:
        came, host.came = host.came, []

        def hear(node: Node, now: float) -> None:
            for sender, tag, command, text in came:
                why = node.why_not(sender, command)
                if why is not None:
                    raise Violation("I5", f"{host.name} hears nothing more of {sender}: {why}")
                node.hear(sender, tag, command, text, now)

        if came:
            self.call(host.name, hear)

    def _meet(self, one: str, other: str) -> None:
        """Both say HELLO before either hears the other's."""
        nodes = {name: self.hosts[name].node for name in (one, other)}
        roots = {name: node.mastering.root for name, node in nodes.items() if node is not None}
        said = {name: (root.is_fresh, root.epoch) for name, root in roots.items()}
        for mine, peer in ((one, other), (other, one)):
            if not self.network.of(one, other).is_up:
                # The first one died of it.
                return
            self.call(mine, partial(_link_up, peer, *said.get(peer, (False, 0))))

    def _part(self, one: str, other: str) -> None:
        self.call(one, lambda node, now: node.link_down(other, now))

    # What must hold at any time

    def _check(self, host: Host, node: Node, now: float) -> None:
        """A row or the lease changed: without either, what held before holds still. What others hold was compared when
        they came to hold it."""
        root = node.mastering.root
        host.lease_end = root.lease_end(now)
        if root.is_root and self._roots.setdefault(root.epoch, host.name) != host.name:
            raise Violation("I6", f"{host.name} and {self._roots[root.epoch]} are both the root of {root.epoch}")
        if now >= host.lease_end:
            return
        if root.state is RootState.ROOT:
            self._check_alone(host)
        ours = [mine for mine in node.mastering.tracker.boxes.values() if mine.is_ours]
        for mine in ours:
            self.watch.holds(mine.box, mine.token, host.name)
        self._check_masters(host, [mine.box for mine in ours])

    def _check_alone(self, host: Host) -> None:
        for other in self.hosts.values():
            if other is not host and other.node is not None:
                root = other.node.mastering.root
                if root.state is RootState.ROOT and root.has_lease(self.clock(other)):
                    raise Violation("I6", f"{host.name} and {other.name} are roots with a lease")

    def _check_masters(self, host: Host, ours: list[str]) -> None:
        """No mailbox has two masters with a lease."""
        for other in self.hosts.values() if ours else ():
            node = other.node
            if node is None or other is host or not node.mastering.root.has_lease(self.clock(other)):
                continue
            for guid in ours:
                theirs = node.mastering.tracker.boxes.get(guid)
                if theirs is not None and theirs.is_ours:
                    raise Violation("I6", f"{guid[:6]} is held by {host.name} and {other.name}")


def _link_up(peer: str, is_fresh: bool, epoch: int, node: Node, now: float) -> None:
    node.link_up(peer, now, is_fresh=is_fresh, epoch=epoch)
