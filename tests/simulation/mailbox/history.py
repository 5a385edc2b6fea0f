"""One seeded history: a cluster, its clients, what breaks it; in the end all is mended, and all must be equal."""

from __future__ import annotations

import gc
import random
from collections import Counter

from pyrepl.mailbox.entries import Pages
from pyrepl.mailbox.node import Node
from tests.simulation.mailbox.clients import Books, Client
from tests.simulation.mailbox.dovecot import Dovecot
from tests.simulation.mailbox.ending import Ending
from tests.simulation.mailbox.gated_store import GatedStore
from tests.simulation.mailbox.roaming import Roamer
from tests.simulation.mailbox.world import SMALL, World

STEPS = 300
INTERRUPTS = 0.2
"""Of the steps at which a node is taking another's state, those at which the other is lost."""
SHORT = 0.35
"""Of all histories, those in which nodes keep few ops in their journals, so that they resync by state."""
ROTS = 0.3
"""Of those in which something breaks, the histories in which texts go bad."""
TWINS = 0.3
"""Of all histories, those in which messages are saved on several nodes, as an MTA or a copied Maildir brings them."""
CLASHES = 0.4
"""Where GUIDs clash, so many of the messages that are saved have the GUID of one that was saved before."""
DISKS = 0.15
"""Of those in which something breaks, the histories in which a node loses its disk."""
RENEWALS = 0.1
"""Of all histories, those in which an operator gives mailboxes another UIDVALIDITY."""
FAILING = 0.3
"""Of those beside Dovecots in which something breaks, the histories in which a keeper dies with its node."""
ECHOES = 0.05
"""Of those in which something breaks, the histories in which a root goes on hearing answers when nobody hears it."""
WIRE = 0.1
"""Of all histories, those in which members read what the others have written, and do not just get it."""
ROAMER = "r"
QUIET_S = 120.0
"""So long it may take, when all is mended, until nothing happens any more."""
STAYS_S = 5.0
"""So long it has to stay like that."""


class History:
    """A seed's history."""

    def __init__(self, seed: int, steps: int = STEPS, *, gates: bool = False, clashes: bool = False) -> None:
        """`gates`: beside each node is a Dovecot. `clashes`: different messages of one GUID are saved."""
        self.rng = random.Random(seed)
        self.steps = steps
        keepers = self.rng.choice((2, 2, 2, 3, 3, 4, 5))
        witness = keepers == 2 and self.rng.random() < 0.5
        self.calm = self.rng.random() < 0.15
        """Nothing breaks: then nothing may be renumbered (I16)."""
        journals = random.Random(f"journals {seed}")
        self.is_short = journals.random() < SHORT
        pages = SMALL if self.is_short and journals.random() < 0.7 else Pages()
        self.forgets = self.is_short and journals.random() < 0.4
        """Tombstones are forgotten, so no client can ask for what has vanished."""
        accept = self.rng.random() < 0.6
        self.rots = random.Random(f"rots {seed}")
        """What goes bad on one node's disk, in some histories."""
        self.rotten = ""
        acks = random.Random(f"acks {seed}").choice((1, 1, 2))
        self.world = World(self.rng, keepers, witness=witness, accept=accept, pages=pages, gates=gates, acks=acks)
        self.world.network.has_wire = random.Random(f"wire {seed}").random() < WIRE
        for machine in self.world.hosts.values() if self.is_short else ():
            machine.rows.most_ops = journals.choice((3, 10, 30))
        if not self.calm and self.rots.random() < ROTS:
            self.rotten = self.rots.choice(self.world.members.keepers)
            self.world.hosts[self.rotten].is_scrubbed = True
        self.interrupts = random.Random(f"interrupts {seed}")
        self.disks = random.Random(f"disks {seed}")
        self.loses_at = -1
        """The step at which a disk is lost; -1 for none."""
        self.gates = random.Random(f"gates {seed}")
        """What Dovecots do."""
        self.lists = random.Random(f"lists {seed}")
        self.damages = gates and not self.calm and self.lists.random() < FAILING
        self.keepers_die = gates and not self.calm and self.gates.random() < FAILING
        if not self.calm and self.disks.random() < DISKS and not self.keepers_die:
            # What named a UID on a disk that is lost, nobody knows when a gate fails.
            self.loses_at = self.disks.randrange(steps)
        echoes = random.Random(f"late {seed}")
        self.echoes_at = echoes.randrange(steps) if not self.calm and echoes.random() < ECHOES else -1
        """The step at which what others say to the root comes late; -1 for none."""
        self.books = Books()
        twins = random.Random(f"twins {seed}")
        if twins.random() < TWINS or clashes:
            self.books.twins = twins
        if clashes:
            self.books.do_clash, self.books.often = True, CLASHES
        self.renewals = random.Random(f"renewals {seed}")
        # A COPY does not say of which of two mails of one GUID it is.
        self.renews = not clashes and self.renewals.random() < RENEWALS
        self.clients: dict[str, Client] = {}
        for host in self.world.members.keepers:
            stores = None
            for number in range(self.rng.randint(1, 2)):
                client = Client(self.world, self.books, host, f"{host}{number}", self.rng)
                client.uids = stores = stores or client.uids
                self.clients[client.name] = client
        for host in self.world.members.keepers:
            self.clients[f"{ROAMER}{host}"] = Client(self.world, self.books, host, f"{ROAMER}{host}", self.rng)
        self.actors = [client for name, client in self.clients.items() if not name.startswith(ROAMER)]
        self.roamer = Roamer(self.world, self.rng, lambda host, *ask: self.clients[f"{ROAMER}{host}"].say(*ask))
        self.world.on_reply = lambda host, reply: self._reply(reply.client, reply)
        self.world.on_crash = self._crashed
        self.dovecots = {
            host: Dovecot(self.world, self.books, host, self.gates, calm=self.calm)
            for host in (self.world.members.keepers if gates else ())
        }
        if self.calm:
            # One on each member may have been on its way.
            self.world.watch.most_overtaking = keepers
        self.world.on_look = lambda host: self.dovecots[host].slip_in() if host in self.dovecots else None

    def _reply(self, client: str, reply: object) -> None:
        self.clients[client].hear(reply)  # type: ignore[arg-type]

    def _crashed(self, host: str) -> None:
        for client in self.clients.values():
            if client.host == host:
                client.reset()

    def run(self) -> Counter[str]:
        """Raises Violation."""
        self.world.run(4.0)
        for step in range(self.steps):
            if step == self.loses_at:
                self._lose_disk(self.disks.choice(self.world.members.keepers))
            if step == self.echoes_at:
                self._echo()
            self._happen()
            self.world.run(self.world.now + self.rng.expovariate(1 / 0.03))
            for client in self.clients.values():
                client.check_patience()
            if self.is_short and not self.calm:
                self._interrupt()
        self._mend()
        Ending(self.world, self.books, calm=self.calm, is_short=self.is_short).check()
        return self.world.seen

    def _happen(self) -> None:
        if self.rotten and self.rots.random() < 0.05:
            self._rot()
        if self.damages and self.lists.random() < 0.03:
            self._damage()
        if self.renews and self.renewals.random() < 0.02:
            self.renewals.choice(self.actors).renew(self.renewals)
        if not self.calm and self.rng.random() < 0.04:
            self._break()
        elif not self.calm and self.rng.random() < 0.04:
            self._mend_some()
        elif self.rng.random() < 0.01:
            self.world.run(self.world.now + self.rng.uniform(1.0, 12.0))
        elif self.rng.random() < 0.05:
            self._forget() if self.forgets else self.roamer.visit()
        elif self.rng.random() < 0.02:
            self._race()
        elif self.dovecots and self.gates.random() < 0.6:
            self.gates.choice(list(self.dovecots.values())).act()
        else:
            self.rng.choice(self.actors).act()

    def _break(self) -> None:
        name = self.rng.choice(list(self.world.hosts))
        what = self.rng.random()
        if what < 0.35:
            connection = self.rng.choice(list(self.world.network.connections.values()))
            self.world.seen["cut"] += 1
            self.world.network.cut(*connection.ends)
        elif what < 0.5:
            self.world.seen["isolated"] += 1
            for other in self.world.members.others(name):
                self.world.network.cut(name, other)
        elif what < 0.56:
            self.world.seen["slow"] += 1
            self.rng.choice(list(self.world.network.connections.values())).slow = 100.0
        elif what < 0.6:
            self._hinder(name, self.rng.choice(self.world.members.others(name)))
        elif what < 0.64:
            self._strand()
        elif what < 0.68:
            self.world.freeze(name, self.rng.uniform(0.5, 12.0))
        elif what < 0.85:
            self.world.crash_at_next_step(name)
        else:
            self.world.crash(name)
            keeper = self.world.hosts[name].keeper
            if keeper is not None and self.keepers_die and self.gates.random() < 0.5:
                self.world.seen["keeper killed"] += 1
                self.world.uids.may_burn = True
                self.world.watch.are_gates_kept = False
                keeper.kill()

    def _interrupt(self) -> None:
        """A node is in the middle of taking another's state, and that one is lost, for all: its clients go on with what
        has come, of which the others have heard nothing yet."""
        for host in self.world.hosts.values():
            node = host.node
            peer = "" if node is None else node.resync.pulling.peer
            if not peer or self.interrupts.random() > INTERRUPTS:
                continue
            for other in self.world.members.others(peer):
                self.world.network.cut(peer, other)
            for client in self.actors:
                if client.host == host.name and client.may_act() and client.store_ahead(self.interrupts):
                    self.world.seen["interrupted"] += 1
                    self._meet_others_first(peer, host.name)

    def _meet_others_first(self, lost: str, by: str) -> None:
        """The one that was lost comes back to those who know nothing of its state, and then to whom it was lost."""
        others = [other for other in self.world.members.others(lost) if other != by]

        def back() -> None:
            for other in others:
                self.world.network.heal(lost, other)
            self.world.network.connect()

        self.world.at(self.world.now + self.interrupts.uniform(0.5, 4.0), back)

    def _lose_disk(self, name: str) -> None:
        self.world.lose_disk(name)
        self.books.lose(self.world.lost)
        if name in self.dovecots:
            self.dovecots[name].lose_disk()
        self.roamer.forget()
        for client in self.clients.values():
            if client.host == name:
                client.uids.lose_disk()

    def _forget(self) -> None:
        """As after a month: whatever there is of tombstones goes, on all nodes, but for what one asks for in a moment:
        one that starts, or that takes another's state.

        If only some nodes forgot, a twin of a message that is gone would have its flags on the others alone; and so it
        would if one forgot before the others heard that it is gone: nobody saves a message again in such a month."""
        hosts = [self.world.hosts[name] for name in self.world.members.keepers]
        if any(host.node is None or host.rows.is_ahead for host in hosts):
            return
        have_all_heard = all(host.rows.held() == hosts[0].rows.held() for host in hosts)
        if not have_all_heard:
            self.books.forgotten = self.books.number
        but = () if have_all_heard else self.books.copied
        self.world.seen["forgotten"] += sum(host.rows.forget_gone(but) for host in hosts)

    def _rot(self) -> None:
        """A text goes bad that another node has too; or the node looks whether any has."""
        host = self.world.hosts[self.rotten]
        if self.rots.random() < 0.5:
            self.world.call(host.name, lambda node, now: node.scrubbing.begin())
            return
        others = [each for each in self.world.hosts.values() if each is not host]
        found = [
            (box, guid)
            for box, messages in sorted(host.store.boxes.items())
            for guid in sorted(messages)
            if any((row := each.rows.message(box, guid)) is not None and row.sums for each in others)
        ]
        if found:
            self.world.seen["rotten"] += 1
            host.store.damaged.add(self.rots.choice(found))

    def _damage(self) -> None:
        """A list cannot be read any more, or is mended."""
        store = self._gated(self.lists.choice(self.world.members.keepers))
        if store.unreadable:
            store.unreadable.clear()
        elif store.boxes:
            self.world.seen["unreadable"] += 1
            store.unreadable.add(self.lists.choice(sorted(store.boxes)))

    def _gated(self, host: str) -> GatedStore:
        store = self.world.hosts[host].store
        assert isinstance(store, GatedStore)
        return store

    def _race(self) -> None:
        """Two change one message under a condition at the same time."""
        client = self.rng.choice(self.actors)
        for other in self.actors:
            if other.host != client.host and client.may_act() and other.may_act():
                found = client.some_message()
                if found is not None:
                    self.world.seen["race"] += 1
                    for each in (client, other):
                        each.store_if_unchanged(*found)
                return

    def _hinder(self, one: str, other: str) -> None:
        """A connection that stays up, and of which one direction stands still or is late."""
        what = self.rng.choice(("stall", "lag"))
        self.world.seen[what] += 1
        if what == "stall":
            self.world.network.stall(one, other, self.rng.uniform(0.5, 10.0))
        else:
            self.world.network.of(one, other).lag_s[one] = self.rng.uniform(2.0, 10.0)

    def _strand(self) -> None:
        """A node, perhaps the root, with whose connections everything is wrong at once."""
        self.world.seen["stranded"] += 1
        roots = [h.name for h in self.world.hosts.values() if h.node is not None and h.node.mastering.root.is_root]
        name = self.rng.choice([*roots, self.rng.choice(list(self.world.hosts))])
        for other in self.world.members.others(name):
            if self.rng.random() < 0.4:
                self.world.network.cut(name, other)
                continue
            for ends in ((name, other), (other, name)):
                if self.rng.random() < 0.7:
                    self._hinder(*ends)

    def _echo(self) -> None:
        """What others say to the root is under way for long; then nothing passes any more, and answers to what it said
        before come one after the other, while the others elect another root."""
        roots = [h.name for h in self.world.hosts.values() if h.node is not None and h.node.mastering.root.is_root]
        for root in roots[:1]:
            self.world.seen["echo"] += 1
            others = self.world.members.others(root)
            for other in others:
                self.world.network.of(root, other).lag_s[other] = self.rng.uniform(3.0, 3.5)
            self.world.run(self.world.now + self.rng.uniform(1.5, 3.0))
            for other in others:
                self.world.network.stall(root, other, 20.0)
            self.world.run(self.world.now + 1.0)
            for other in others:
                self.world.network.stall(other, root, 20.0)
            self.world.run(self.world.now + self.rng.uniform(6.0, 14.0))

    def _mend_some(self) -> None:
        for host in self.world.hosts.values():
            if host.node is None and self.rng.random() < 0.7:
                self.world.start(host.name)
        for connection in self.world.network.connections.values():
            if self.rng.random() < 0.5:
                self.world.network.heal(*connection.ends)
        self.world.network.connect()

    def _mend(self) -> None:
        """All is up, nobody asks for anything any more, and there is time."""
        for connection in self.world.network.connections.values():
            self.world.network.heal(*connection.ends)
        self.world._crash_next = None
        for name in self.world.hosts:
            self.world.thaw(name)
        for host in self.world.hosts.values():
            if host.node is None:
                self.world.start(host.name)
        self.world.network.connect()
        for client in self.clients.values():
            client.reset()
            self._hang_up(client)
        for name, dovecot in self.dovecots.items():
            dovecot.stop()
            self._gated(name).unreadable.clear()
        if self.rotten:
            self.world.call(self.rotten, lambda node, now: node.scrubbing.begin())
        until = self.world.now + QUIET_S
        self.world.run(self.world.now + STAYS_S)
        was_quiet = False
        while self.world.now < until and not (was_quiet and self._is_quiet()):
            was_quiet = self._is_quiet()
            self._restore()
            self.world.run(self.world.now + STAYS_S)

    def _restore(self) -> None:
        """Of a text of which no good copy is left anywhere, an operator has one. What was linked from a bad one since
        it was read, the next pass finds."""
        stores = {name: host.store for name, host in self.world.hosts.items()}
        rotten = stores.pop(self.rotten, None)
        if rotten is not None:
            rows = self.world.hosts[self.rotten].rows
            sums = {where: row.sums for where in rotten.damaged if (row := rows.message(*where)) is not None}
            kept = {
                guid
                for store in stores.values()
                for box, guid in rotten.damaged
                if store.has_good_text(guid, sums.get((box, guid), ()))
            }
            rotten.damaged = {(box, guid) for box, guid in rotten.damaged if guid in kept}
            if rotten.damaged:
                self.world.call(self.rotten, lambda node, now: node.scrubbing.begin())

    def _is_quiet(self) -> bool:
        """Have all the same, and is nothing under way any more?"""
        nodes = [host.node for host in self.world.hosts.values() if host.node is not None]
        keepers = [node for node in nodes if not node.is_witness]
        return (
            all(node.mastering.tracker.has_lease for node in nodes)
            and any(node.mastering.tracker.is_ready for node in keepers)
            and all(node.core.causal.held == keepers[0].core.causal.held for node in keepers)
            and not any(node.core.unsettled or node.core.causal.count for node in keepers)
            and not any(_is_ahead(node) for node in keepers)
            and all(node.doubles.is_idle for node in keepers)
            and not any(node.core.missing or node.scrubbing.is_under_way for node in keepers)
            and not any(host.store.damaged for host in self.world.hosts.values())
            and all(map(_is_told, nodes))
            and all(dovecot.is_idle for dovecot in self.dovecots.values())
        )

    def _hang_up(self, client: Client) -> None:
        self.world.call(client.host, lambda node, now: node.client_gone(client.name, now))


def _is_ahead(node: Node) -> bool:
    """Do rows show what ops did that have not come? If nobody has these, the node says so after a while, and all
    follow."""
    held = node.core.causal.held
    return any(held.get(origin, 0) < seq for origin, seq in node.core.journal.ahead.items())


def _is_told(node: Node) -> bool:
    """Do the rows have all that a Dovecot did?"""
    gates = node.gates
    return gates is None or not gates.unlooked(0)


def run_either(seed: int, steps: int = STEPS) -> Counter[str]:
    """As `run`; in one of twenty histories there is a Dovecot beside each node, and in another one GUIDs clash."""
    return run(seed, steps, gates=seed % 20 == 19, clashes=seed % 20 == 9)


def run(seed: int, steps: int = STEPS, *, gates: bool = False, clashes: bool = False) -> Counter[str]:
    """The history of a seed: what happened in it. Raises Violation.

    Its parts refer to each other, so all of it is garbage at the end and little before: it is collected then, once.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return History(seed, steps, gates=gates, clashes=clashes).run()
    finally:
        if was_enabled:
            gc.enable()
