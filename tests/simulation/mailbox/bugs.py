"""Bugs that are planted to see whether the simulation finds them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import pytest

from pyrepl.mailbox import mastering, merging, root
from pyrepl.mailbox.causal import Causal
from pyrepl.mailbox.core import Core
from pyrepl.mailbox.freshness import Freshness
from pyrepl.mailbox.gates import Gates
from pyrepl.mailbox.joining import Joiner
from pyrepl.mailbox.journal_ops import Journal
from pyrepl.mailbox.mail_side import MailSide
from pyrepl.mailbox.modseqs import Landing
from pyrepl.mailbox.order import SaveOrder
from pyrepl.mailbox.pulling import Pulling
from pyrepl.mailbox.refusals import MOST_IN_OP
from pyrepl.mailbox.rows import UNPLACED, ClusterRow
from pyrepl.mailbox.saving import Saving
from pyrepl.mailbox.tracker import Tracker
from pyrepl.mailbox.uids import UidBlocks
from pyrepl.mailbox.verbs import Copy, Expunge, Op, RootPing, Store
from pyrepl.mailbox.words import Dot, Register, Stamp, Token, ranges, walk
from tests.simulation.mailbox.dovecot import Dovecot
from tests.simulation.mailbox.gated_store import GatedStore
from tests.simulation.mailbox.memory_rows import MemoryRows
from tests.simulation.mailbox.model_keeper import ModelKeeper
from tests.simulation.mailbox.world import World

MOMENT_S: Final = 0.02


class Bug(NamedTuple):
    """What plants it, the invariant that it breaks, and a seed that finds it so, with which a search begins."""

    plant: Callable[[pytest.MonkeyPatch], None]
    breaks: str
    seed: int


def _held_ignored(patch: pytest.MonkeyPatch) -> None:
    """GIVE's held= is ignored."""
    give = Tracker.give
    patch.setattr(Tracker, "give", lambda self, box, token, needs, now: give(self, box, token, (), now))


def _after_ignored(patch: pytest.MonkeyPatch) -> None:
    """An op does not wait for what its origin knew."""
    patch.setattr(Causal, "_covers", lambda self, op, origin: True)


def _vote_not_on_disk(patch: pytest.MonkeyPatch) -> None:
    """A vote is forgotten when its node is killed."""
    put, crash = MemoryRows.put_cluster, World.crash
    before: dict[int, ClusterRow] = {}

    def put_cluster(self: MemoryRows, row: ClusterRow) -> None:
        if (row.epoch, row.voted) != self.cluster()[:1] + self.cluster()[2:3]:
            before[id(self)] = self.cluster()
        put(self, row)

    def forgetful(self: World, name: str) -> None:
        crash(self, name)
        rows = self.hosts[name].rows
        rows._cluster["row"] = before.pop(id(rows), rows.cluster())

    patch.setattr(MemoryRows, "put_cluster", put_cluster)
    patch.setattr(World, "crash", forgetful)


def _last_writer_by_arrival(patch: pytest.MonkeyPatch) -> None:
    """Of two changes of a flag the one that arrives last stands."""

    def merged(one: Any, other: Any) -> tuple[Register, ...]:
        found = {register.flag: register for register in (*one, *other)}
        return tuple(found[flag] for flag in sorted(found))

    patch.setattr("pyrepl.mailbox.flags.merged", merged)


def _last_writer_by_time(patch: pytest.MonkeyPatch) -> None:
    """Of two changes of a flag that one stands which is later by the clock of who made it."""
    made, stamp, look = Journal.made, merging._stamp, World.call
    clocks: dict[str, float] = {}
    times: dict[Dot, int] = {}

    def call(self: World, name: str, what: Any) -> None:
        clocks[self.hosts[name].rows.cluster().origin or name] = self.clock(self.hosts[name])
        look(self, name, what)

    def timed(self: Any, op: Any, modseq: int = 0) -> Any:
        found = made(self, op, modseq)
        times[found.at] = int(clocks.get(self.origin, 0.0) * 1000)
        return found

    def by_time(op: Op) -> Stamp:
        return Stamp(times[op.at], op.at.origin) if isinstance(op, Store) and op.at is not None else stamp(op)

    patch.setattr(World, "call", call)
    patch.setattr(Journal, "made", timed)
    patch.setattr(merging, "_stamp", by_time)


def _gap_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Who is apart goes on at UIDNEXT."""
    patch.setattr(UidBlocks, "first", lambda self, uidnext, place: uidnext)


def _renumber_below(patch: pytest.MonkeyPatch) -> None:
    """A UID is given below what clients have seen."""

    def may_place(self: Any, guid: str, message: str, uid: int, token: Any, effects: Any) -> bool:
        box = self.rows.box(guid)
        self.rows.put_box(box._replace(uidnext=max(box.uidnext, uid + 1)))
        return uid != UNPLACED

    patch.setattr(merging.Merger, "_may_place", may_place)


def _takeover_without_gap(patch: pytest.MonkeyPatch) -> None:
    """A takeover from one who could not clear goes on at UIDNEXT."""
    arrived = mastering.Mastering._arrived

    def no_gap(self: Any, event: Any) -> None:
        self._has_gap = False
        arrived(self, event)

    patch.setattr(mastering.Mastering, "_arrived", no_gap)


def _seq_reused(patch: pytest.MonkeyPatch) -> None:
    """The last op that a node made is forgotten when it is killed, though others have heard of it: its number is given
    out again."""
    crash = World.crash

    def forgetful(self: World, name: str) -> None:
        crash(self, name)
        rows = self.hosts[name].rows
        origin = rows.cluster().origin or name
        last = rows.held().get(origin, 0)
        if rows.ops(origin, last - 1, 1):
            rows._held[origin] = last - 1

    patch.setattr(World, "crash", forgetful)


def _give_before_saves(patch: pytest.MonkeyPatch) -> None:
    """The mastership is given before the SAVEs of the last LOCK have gone out."""
    unlock = Saving._unlock

    def early(self: Any, lock: str, now: float) -> None:
        box = self._holders[lock].box
        if self.mastering.tracker.knows(box):
            self.mastering.unlock(box, lock, now)
        unlock(self, lock, now)

    patch.setattr(Saving, "_unlock", early)


def _stale_ping(patch: pytest.MonkeyPatch) -> None:
    """A member renews its lease when a ping of its root comes, however old it is."""
    hear = root.Root._hear_root

    def renewing(self: Any, peer: str, command: Any, now: float) -> None:
        hear(self, peer, command, now)
        if isinstance(command, RootPing) and command.epoch == self.epoch and self.root == peer:
            self._member_lease.answered(now, self.options.lease_s)

    patch.setattr(root.Root, "_hear_root", renewing)


def _lease_from_receipt(patch: pytest.MonkeyPatch) -> None:
    """The root's lease is counted from when an answer comes, and not from when it asked."""
    granted = root.Root._granted_by

    def granted_by(self: Any, peer: str, question: Any, answer: Any, now: float) -> None:
        granted(self, peer, question._replace(sent_at=now) if self.is_root else question, answer, now)

    patch.setattr(root.Root, "_granted_by", granted_by)


def _term_not_compared(patch: pytest.MonkeyPatch) -> None:
    """A GIVE that came before is taken again."""
    give = Tracker.give

    def again(self: Any, box: str, token: Token, needs: Any, now: float) -> bool:
        mine = self.boxes[box]
        if token.epoch == self.epoch and not mine.is_ours:
            mine.token = min(mine.token, Token(token.epoch, token.term - 1))
        return give(self, box, token, needs, now)

    patch.setattr(Tracker, "give", again)


def _without_own_lock(patch: pytest.MonkeyPatch) -> None:
    """A SAVE does not wait for the LOCK under which it came."""
    waits = SaveOrder._waits
    patch.setattr(SaveOrder, "_waits", lambda self, held: waits(self, (held[0], held[1], held[2] - {held[1]})))


def _expunge_by_uid(patch: pytest.MonkeyPatch) -> None:
    """Nodes tell each other which UIDs to expunge, and not which messages."""
    made, apply = MailSide._expunges, merging.Merger._expunge

    def by_uid(self: Any, box: Any, expunge: Expunge) -> list[Any]:
        uids = [row.uid for row in self._rows(box, expunge.uids, expunge.guids)]
        return [op.replaced(uids=ranges(sorted(uids))) for op in made(self, box, expunge)]

    def expunge(self: Any, box: Any, op: Expunge, effects: Any) -> None:
        found = (self.rows.message_at(box.guid, uid) for uid in walk(op.uids, MOST_IN_OP))
        apply(self, box, op.replaced(guids=tuple(row.guid for row in found if row is not None)), effects)

    patch.setattr(MailSide, "_expunges", by_uid)
    patch.setattr(merging.Merger, "_expunge", expunge)


def _crossing_not_told(patch: pytest.MonkeyPatch) -> None:
    """A change keeps its modseq where a higher one was seen before it."""

    def land(highest: int, modseq: int, *, is_own: bool, touches: bool) -> Landing:
        return Landing(modseq, max(highest, modseq), False)

    patch.setattr(merging, "land", land)


def _condition_anywhere(patch: pytest.MonkeyPatch) -> None:
    """UNCHANGEDSINCE is compared without the mastership."""
    run = MailSide._run

    def at_once(self: Any, client: str, tag: str, commands: list[Any], now: float) -> None:
        has_condition = any(isinstance(op, Store) and op.unchangedsince is not None for op in commands)
        (self._do(client, tag, commands, {}, now) if has_condition else run(self, client, tag, commands, now))

    patch.setattr(MailSide, "_run", at_once)


def _condition_of_one_flag(patch: pytest.MonkeyPatch) -> None:
    """UNCHANGEDSINCE does not see changes of other flags than its own."""
    stores = MailSide._stores

    def of_these(self: Any, box: Any, store: Store, modified: list[int]) -> Any:
        named, since = {*store.add, *store.remove}, store.unchangedsince
        flags = (register for row in self._rows(box, store.uids, store.guids) for register in row.flags)
        if since is not None and not any(each.flag in named and each.stamp.modseq > since for each in flags):
            store = store.replaced(unchangedsince=None)
        return stores(self, box, store, modified)

    patch.setattr(MailSide, "_stores", of_these)


def _copy_lost(patch: pytest.MonkeyPatch) -> None:
    """A COPY brings nothing, anywhere."""
    patch.setattr(merging.Merger, "_copy", lambda self, op, texts, effects: None)


def _copies_spared(patch: pytest.MonkeyPatch) -> None:
    """An EXPUNGE leaves a message that a COPY has brought."""
    expunge = merging.Merger._expunge

    def spare(self: Any, box: Any, op: Expunge, effects: Any) -> None:
        saved = (guid for guid in op.guids if not any(isinstance(each, Copy) for each in _touching(self, box, guid)))
        expunge(self, box, op.replaced(guids=tuple(saved)), effects)

    patch.setattr(merging.Merger, "_expunge", spare)


def _touching(merger: Any, box: Any, guid: str) -> tuple[Op, ...]:
    found: tuple[Op, ...] = merger.rows.touching(box.guid, guid)
    return found


def _torn(patch: pytest.MonkeyPatch) -> None:
    """An op is applied without the rest of its transaction."""

    def due(self: Any, passed: Any = ()) -> list[Any]:
        for origin, queue in self._waiting.items():
            first = queue.get(self.held.get(origin, 0) + 1)
            if first is not None and origin not in passed and self._covers(first.op, origin):
                return [first]
        return []

    patch.setattr(Causal, "due", due)


def _their_vector_ignored(patch: pytest.MonkeyPatch) -> None:
    """By state nobody learns what another one expunged, but by tombstones."""
    message = Joiner.message
    patch.setattr(
        Joiner,
        "message",
        lambda self, user, box, theirs, text, held, effects: message(self, user, box, theirs, text, {}, effects),
    )


def _jump_too_far(patch: pytest.MonkeyPatch) -> None:
    """After state the vector is the other's newest, and what it did during the exchange is not waited for."""
    answered = Pulling.answered

    def newest(self: Any, peer: str, tag: str, answer: Any) -> None:
        if self._now is not None and (peer, tag) == (self._now.peer, self._now.tag) and answer.held:
            self._now.begin = None
        answered(self, peer, tag, answer)

    patch.setattr(Pulling, "answered", newest)


def _ahead_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Who changes what came by state does not tell others to wait for the ops that brought it."""
    patch.setattr(Journal, "reaches", lambda self, dots: None)


def _never_mended(patch: pytest.MonkeyPatch) -> None:
    """A good text that comes in place of a damaged one is put nowhere."""
    patch.setattr(Core, "mend", lambda self, box, guid, text: self.missing.pop((box, guid), None))


def _twin_not_passed(patch: pytest.MonkeyPatch) -> None:
    """The UID of a message that is there already under another one is given out again."""
    patch.setattr(merging.Merger, "_pass", lambda self, guid, uid: None)


def _epochs_not_heard(patch: pytest.MonkeyPatch) -> None:
    """A node whose disk was lost votes as soon as it has another's data, whatever it voted before."""
    patch.setattr(Freshness, "_knows_epochs", lambda self: True)
    patch.setattr(root.Root, "pass_epochs", lambda self, epoch, now: None)


def _acks_of_a_part(patch: pytest.MonkeyPatch) -> None:
    """What clients have seen of an op that came by state in part counts as applied."""
    patch.setattr(Journal, "vector", Journal.seen)


def _no_keeper(patch: pytest.MonkeyPatch) -> None:
    """When the daemon is killed, nobody keeps its gates: whose owner is dead, a Dovecot overrides."""
    patch.setattr(ModelKeeper, "daemon_gone", ModelKeeper.kill)


def _gate_opened_for_store(patch: pytest.MonkeyPatch) -> None:
    """A gate is opened for a moment for who wants to change flags, without the mastership: a delivery slips in."""
    want = Dovecot._want

    def let_in(self: Any, box: str, what: str, work: Callable[[], None]) -> None:
        store, now = self._store, self._world.now
        if what == "flag" and store.is_shut(box):
            store.release(box)
            self._world.at(now + MOMENT_S, lambda: store.shut(box.encode()) if box in store.boxes else None)
        want(self, box, what, work)

    patch.setattr(Dovecot, "_want", let_in)


def _made_with_an_open_gate(patch: pytest.MonkeyPatch) -> None:
    """A Dovecot may give out the first UID of a mailbox that another node has made."""
    shut = GatedStore._shut_told
    patch.setattr(GatedStore, "_shut_told", lambda self, box: shut(self, box) if self.boxes[box] else None)


def _block_left(patch: pytest.MonkeyPatch) -> None:
    """A Dovecot behind an open gate goes on where a UID that came from elsewhere has brought it."""
    patch.setattr(GatedStore, "_next_place", lambda self, box: 0)
    patch.setattr(Gates, "_has_left_block", lambda self, gate: False)


BUGS: Final[dict[str, Bug]] = {
    "a change that crosses another keeps its modseq": Bug(_crossing_not_told, "I8", 35),
    "a stale ping renews a lease": Bug(_stale_ping, "I6", 163),
    "acknowledged in part": Bug(_acks_of_a_part, "I12", 177),
    "after= ignored": Bug(_after_ignored, "I5", 20),
    "ahead forgotten": Bug(_ahead_forgotten, "7.1", 187),
    "condition of one flag": Bug(_condition_of_one_flag, "I14", 0),
    "condition without the mastership": Bug(_condition_anywhere, "I14", 0),
    "copies spared": Bug(_copies_spared, "I4", 1),
    "copy lost": Bug(_copy_lost, "I3", 1),
    "deps without the own lock": Bug(_without_own_lock, "I10", 0),
    "damage found and not mended": Bug(_never_mended, "I3", 1),
    "epochs not heard": Bug(_epochs_not_heard, "I6", 1001797),
    "expunge by UID alone": Bug(_expunge_by_uid, "I5", 1),
    "gap forgotten": Bug(_gap_forgotten, "I1", 1),
    "give before saves": Bug(_give_before_saves, "I1", 0),
    "held= ignored": Bug(_held_ignored, "I1", 6),
    "jump too far": Bug(_jump_too_far, "I5", 14),
    "lease from receipt": Bug(_lease_from_receipt, "I6", 491),
    "last writer by arrival": Bug(_last_writer_by_arrival, "I5", 22),
    "last writer by time": Bug(_last_writer_by_time, "7.1", 6),
    "renumber below uidnext": Bug(_renumber_below, "I2", 1),
    "seq reused": Bug(_seq_reused, "I5", 17),
    "takeover without its gap": Bug(_takeover_without_gap, "I1", 54),
    "term not compared": Bug(_term_not_compared, "I6", 53),
    "their vector ignored": Bug(_their_vector_ignored, "I5", 14),
    "transaction torn": Bug(_torn, "I15", 0),
    "uid of a twin not passed": Bug(_twin_not_passed, "I10", 636),
    "vote not on disk": Bug(_vote_not_on_disk, "I6", 1),
}
"""By name."""
BESIDE_DOVECOTS: Final[dict[str, Bug]] = {
    "daemon killed without a keeper": Bug(_no_keeper, "I1", 0),
    "gate opened for a store": Bug(_gate_opened_for_store, "I1", 0),
    "left in the block of another": Bug(_block_left, "I1", 128),
    "made with an open gate": Bug(_made_with_an_open_gate, "I1", 79),
}
"""As BUGS; they need a Dovecot beside each node to be found."""
