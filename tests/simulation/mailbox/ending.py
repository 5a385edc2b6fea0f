"""What must hold at the end of a history, when all is mended and quiet."""

from __future__ import annotations

from typing import final

from pyrepl.mailbox.boxes import view
from pyrepl.mailbox.clashes import guid_of_other
from pyrepl.mailbox.node import Node
from pyrepl.mailbox.tracker_states import Phase
from pyrepl.mailbox.verbs import Copy, Expunge, Op, Renumber, Save
from pyrepl.mailbox.words import Dot
from tests.simulation.mailbox.clients import Books
from tests.simulation.mailbox.memory_rows import MemoryRows, touched
from tests.simulation.mailbox.model_store import UNNAMED
from tests.simulation.mailbox.violation import Violation
from tests.simulation.mailbox.world import USER, Host, World


@final
class Ending:
    """Compares all nodes with each other and with what clients were told. `calm`: nothing broke; `is_short`: journals
    had few ops."""

    def __init__(self, world: World, books: Books, *, calm: bool, is_short: bool) -> None:
        self.world = world
        self.books = books
        self.calm = calm
        self.is_short = is_short

    def check(self) -> None:
        """Raises Violation."""
        keepers = [self.world.hosts[name] for name in self.world.members.keepers]
        views = {host.name: self._shown(host.name) for host in keepers}
        first = next(iter(views))
        for name, shown in views.items():
            if shown != views[first]:
                raise Violation("I5", f"{first} and {name} differ: {_difference(views[first], shown)}")
        self._check_masters()
        self._check_names(self.world.hosts[first])
        self._check_messages()
        self._check_burned()
        ops = self._ops()
        renumbered = [op for op in ops if isinstance(op, Renumber) and (op.guids or not self.world.gates)]
        if self.calm and any(not self._is_of_twins(op) for op in renumbered):
            raise Violation("I16", "something was renumbered, and nothing broke")
        # Of what is gone nobody keeps the text, and a COPY that did not know of it wants it again.
        deleted = {op.box.text for op in self.world.watch.deletes}
        gone = {guid for op in ops for box, guid in touched(op) if isinstance(op, Expunge) or box in deleted}
        again = {guid for (*_, guid), count in self.world.texts_sent.items() if count > 1} - self.books.again - gone
        if self.calm and again and not self.books.do_clash:
            raise Violation("I16", f"texts were sent twice to the same node, and nothing broke: {again}")
        # Of what was on a lost disk, members may show parts, which are gathered by state.
        must_catch_up = not self.is_short and not self.world.seen["disk lost"]
        if self.world.seen["resync_by_state"] and (self.calm or must_catch_up):
            raise Violation("I16", "a resync by state, though the journals had all ops")

    def _is_of_twins(self, op: Renumber) -> bool:
        """Messages of which an EXPUNGE left a twin get new UIDs."""
        guids = {(op.box.text, guid) for guid in op.guids if guid.startswith("G")}
        return bool(op.guids) and guids <= self.books.copied

    def _shown(self, name: str) -> dict[object, object]:
        """All that must be equal, from the rows and from the store, which must be equal too."""
        host = self.world.hosts[name]
        rows = host.rows
        found: dict[object, object] = {"held": rows.held()}
        for guid, (shown, subscribed) in view(rows, USER).items():
            box = rows.box(guid)
            assert box is not None
            found[guid] = (shown, subscribed, box.uidvalidity, box.uidnext, box.highest)
            stored = host.store.boxes.get(guid, {})
            if host.store.names.get(guid) != shown:
                raise Violation("I5", f"{name} shows {host.store.names.get(guid)} for {shown}")
            for row in rows.messages(guid):
                # Where a mail's text is damaged, and another one has its GUID, each node shows the one that it has.
                sums = () if self.books.do_clash else row.sums
                if not self.books.do_clash:
                    self.world.watch.check_flags(row)
                found[guid, row.guid] = (row.uid, row.flags, row.modseq, row.dots, sums)
                is_there = stored.get(row.guid) == (row.uid, row.set_flags()) and row.uid
                if not is_there and not self._has_nobody(guid, row.guid):
                    raise Violation("I5", f"{name} has {row}, its store {stored.get(row.guid)}")
                text = host.store.texts.get((guid, row.guid))
                # A COPY by which two mailboxes were made one does not say of which of two mails it is.
                is_told = not (self.books.do_clash and self.world.seen["united"])
                if is_told and row.sums and text not in (None, UNNAMED, f"text{row.sums[0]}"):
                    raise Violation("I3", f"{name} has {text} for {row}")
            if any((guid, row.guid) in host.store.damaged for row in rows.messages(guid)):
                raise Violation("I3", f"{name} has damaged texts in {shown}: {sorted(host.store.damaged)}")
            gate = host.node.gates.state(guid) if host.node is not None and host.node.gates is not None else None
            if self.world.gates and gate is None:
                raise Violation("I5", f"{shown} of {name} has no gate")
            if len(stored) != sum(not self._has_nobody(guid, row.guid) for row in rows.messages(guid)):
                more = {guid for guid in stored if rows.message(box.guid, guid) is None}
                raise Violation("I4", f"{name}'s store has more in {shown} than its rows: {sorted(more)}")
        if more := host.store.boxes.keys() - view(rows, USER).keys():
            raise Violation("I5", f"the store of {name} has mailboxes that its rows do not show: {sorted(more)}")
        return found

    def _has_nobody(self, box: str, guid: str) -> bool:
        """A Dovecot expunged it, nobody else had its text, and that it was expunged was lost with the disk."""
        stores = [host.store.boxes for host in self.world.hosts.values()]
        is_gone = not any(guid in boxes.get(box, ()) for boxes in stores)
        return is_gone and (box, guid) in self.books.expunged and self.world.seen["disk lost"] > 0

    def _ops(self) -> list[Op]:
        """All that were ever applied anywhere."""
        found = {op.at: op for host in self.world.hosts.values() for op in host.rows.all_ops()}
        return list(found.values())

    def _check_names(self, host: Host) -> None:
        """What several nodes made under one name is one mailbox by now."""
        assert host.node is not None
        doubles = host.node.uniting.doubles(USER, made_so=True)
        if doubles:
            raise Violation("I5", f"{host.name} has mailboxes that were made under one name: {doubles}")

    def _check_masters(self) -> None:
        nodes = [host.node for host in self.world.hosts.values() if host.node is not None]
        if not all(node.mastering.tracker.has_lease for node in nodes):
            raise Violation("I5", "somebody has no lease")
        guids = {box.guid for host in self.world.hosts.values() for box in host.rows.boxes(USER)}
        for guid in guids:
            masters = [node.name for node in nodes if _is_master(node, guid)]
            # Where a node died with a GIVE, nobody has the mailbox until somebody wants it: then there is a new epoch.
            if len(masters) > 1 or (self.calm and not masters):
                raise Violation("I5", f"the masters of {guid} are {masters}")

    def _check_messages(self) -> None:
        rows = next(iter(self.world.hosts.values())).rows
        for (box, guid), dot in [*self.books.saved.items(), *self._appended()]:
            if self.books.do_clash and (box, guid) in self.books.copied:
                continue
            if rows.message(box, guid) is None and not self._may_go(box, guid, dot):
                raise Violation("I3", f"{guid}, saved by {_shown_dot(dot)}, is not in {box[:6]}")
        deleted = {op.box.text for op in self.world.watch.deletes}
        for dot, (box, guid, text) in self.books.texts.items() if self.books.do_clash else ():
            shown = {row.sums[0] for host in self.world.hosts.values() for row in host.rows.messages(box) if row.sums}
            may_go = {(box, guid), (box, guid_of_other(guid, (text,)))} & self.books.expunged
            if text not in shown and box not in deleted and not may_go:
                raise Violation("I3", f"{text} of {guid}, saved by {_shown_dot(dot)}, is not in {box[:6]}")
        self._check_modseqs(rows)
        self.world.watch.check_expunged(rows, do_clash=self.books.do_clash)

    def _check_modseqs(self, rows: MemoryRows) -> None:
        """A change has at least its origin's modseq (I8)."""
        for op in self._ops():
            for box, guid in touched(op):
                # Of what is gone nothing is left in a history in which tombstones are forgotten.
                gone = None if self.world.seen["forgotten"] else rows.gone(box, guid)
                found = rows.message(box, guid) or gone
                if found is not None and found.modseq < (op.modseq or 0):
                    raise Violation("I8", f"{found} has a lower one than {op}")

    def _may_go(self, box: str, guid: str, dot: Dot) -> bool:
        """Was it expunged, or its mailbox deleted by who knew of it?"""
        deletes = (op for op in self.world.watch.deletes if op.box.text == box)
        is_deleted = any(dict(op.known).get(dot.origin, 0) >= dot.seq for op in deletes)
        return is_deleted or (box, guid) in self.books.expunged

    def _appended(self) -> list[tuple[tuple[str, str], Dot]]:
        """What Dovecots have stored, each with the op that it became; but for what was lost with a disk."""
        made: dict[tuple[str, str], Dot] = {}
        for dot, each in self.world.watch.made.items():
            if isinstance(each.op, Save):
                made.setdefault((each.op.box.text, each.op.guid), dot)
            elif isinstance(each.op, Copy):
                made |= {(each.op.to.text, guid): dot for guid in each.op.guids}
        for where, host in self.books.appended.items():
            is_lost = self.world.hosts[host].disks > 1 or where in self.books.expunged
            if where not in made and not is_lost:
                raise Violation("I3", f"nobody was told of {where}, which the Dovecot of {host} has stored")
        return [(where, made[where]) for where in self.books.appended if where in made]

    def _check_burned(self) -> None:
        """A UID that named two messages names none in the end (I1)."""
        for host in self.world.hosts.values():
            for box, messages in host.store.boxes.items():
                for guid, (uid, _) in messages.items():
                    if (box, uid) in self.world.uids.burned:
                        raise Violation("I1", f"{guid} has UID {uid} of {box[:6]}, which is burned, on {host.name}")


def _is_master(node: Node, guid: str) -> bool:
    """Has a node the mastership? The root has it where it has given it to nobody yet."""
    mine = node.mastering.tracker.boxes.get(guid)
    if mine is None or (mine.phase is Phase.ELSEWHERE and not mine.hint):
        return node.mastering.root.is_root
    return mine.phase is Phase.HELD


def _shown_dot(dot: Dot) -> str:
    return f"{dot.origin}:{dot.seq}"


def _difference(one: dict[object, object], other: dict[object, object]) -> str:
    keys = [key for key in one.keys() | other.keys() if one.get(key) != other.get(key)]
    return "; ".join(f"{key}: {one.get(key)} | {other.get(key)}" for key in keys[:4])
