"""Flags of very many messages that were others at the start are in doubt until an operator says whose they are."""

from __future__ import annotations

from pyrepl.mailbox.compare import Found, FoundBox
from pyrepl.mailbox.core import Core
from pyrepl.mailbox.doubts import Doubts
from pyrepl.mailbox.flag_changes import GUARD
from pyrepl.mailbox.rows import BoxRow
from pyrepl.mailbox.sending import Notice
from pyrepl.mailbox.store import SetFlags, Stored, StoredBox
from pyrepl.mailbox.verbs import Create, Expunge, Op, Save, Store
from pyrepl.mailbox.words import Box, Token
from tests.simulation.mailbox.memory_rows import MemoryRows
from tests.unit.mailbox.gate_rig import READS, RELEASED, TEXT, mail
from tests.unit.mailbox.gate_rig import Rig as GateRig

GUID = "1" * 32
COUNT = GUARD + 1


class Rig:
    """INBOX with messages that were seen, and a store that started without their letters."""

    def __init__(self) -> None:
        self.core = Core("a", MemoryRows(), ())
        self.do(Create(user="alice", box=Box("INBOX"), id=GUID, uidvalidity=7))
        for uid in range(1, COUNT + 1):
            self.do(self.save(uid))
        messages = {f"G{uid}": Stored(uid, ("\\Flagged",) if uid == 1 else ()) for uid in range(1, COUNT + 1)}
        self.core.works()
        self.core.recover({"alice": {GUID: StoredBox("INBOX", False, messages)}})

    def do(self, *ops: Op) -> None:
        self.core.do(list(ops))

    def save(self, uid: int) -> Save:
        token, flags = Token(1, 1), ("\\Seen",)
        return Save(
            user="alice", box=Box(GUID, True), uid=uid, guid=f"G{uid}", size=1, received=1, flags=flags, token=token
        )

    def expunge(self, guid: str) -> None:
        row = self.core.rows.message(GUID, guid)
        assert row is not None
        self.do(Expunge(user="alice", box=Box(GUID, True), guids=(guid,), kills=row.dots))

    @property
    def doubts(self) -> Doubts:
        return self.core.doubts

    @property
    def box(self) -> BoxRow:
        box = self.core.rows.box(GUID)
        assert box is not None
        return box

    def seen(self) -> int:
        return sum("\\Seen" in row.set_flags() for row in self.core.rows.messages(GUID))


def test_nothing_is_done_until_somebody_says_what_became_of_them() -> None:
    rig = Rig()
    assert rig.core.notices() == [Notice("flags_differ", f"alice INBOX {COUNT}")]
    assert rig.core.works() == [] and rig.seen() == COUNT and len(rig.doubts.of(GUID)) == COUNT
    assert rig.doubts.of(GUID)["G1"] == (("\\Flagged",), ("\\Seen",)) and not rig.doubts.of("2" * 32)


def test_what_a_mail_program_did_is_done_everywhere() -> None:
    rig = Rig()
    rig.expunge("G2")
    stores = rig.doubts.allowed(rig.box)
    assert [(store.add, store.remove, len(store.guids)) for store in stores] == [
        ((), ("\\Seen",), COUNT - 2),
        (("\\Flagged",), ("\\Seen",), 1),
    ]
    assert all(isinstance(store, Store) for store in stores) and rig.doubts.allowed(rig.box) == []
    rig.core.adopt_flags(stores)
    assert rig.seen() == 0 and not [work for work in rig.core.works() if isinstance(work, SetFlags)]


def test_what_nobody_did_is_put_back_and_other_changes_stay() -> None:
    rig = Rig()
    rig.do(Store(user="alice", box=Box(GUID, True), guids=("G3",), add=("\\Answered",)))
    rig.expunge("G2")
    works = {work.guid: work for work in rig.doubts.denied(rig.box)}
    assert len(works) == COUNT - 1 and "G2" not in works and not rig.doubts.of(GUID)
    assert (works["G1"].flags, works["G1"].before) == (("\\Seen",), ("\\Flagged",))
    assert (works["G3"].flags, works["G3"].before) == (("\\Answered", "\\Seen"), ("\\Answered",))


def test_a_flag_that_is_as_it_was_is_in_doubt_no_longer() -> None:
    rig = Rig()
    seen = frozenset({"\\Seen"})
    rig.doubts.review(GUID, [("G1", seen | {"\\Flagged"}), ("G2", seen), ("new", frozenset())])
    assert rig.doubts.of(GUID)["G1"] == (("\\Flagged",), ()) and "G2" not in rig.doubts.of(GUID)
    rig.doubts.review(GUID, [(f"G{uid}", seen) for uid in range(1, COUNT + 1)])
    assert not rig.doubts.of(GUID) and rig.doubts.denied(rig.box) == []
    rig.doubts.review(GUID, [("G1", frozenset())])


def test_flags_that_very_many_lost_before_the_start_are_lost_when_it_is_allowed() -> None:
    rig = GateRig()
    rig.see(READS)
    rig.found = FoundBox(tuple(Found(uid, f"G{uid}", frozenset({"\\Seen"}), TEXT) for uid in range(1, COUNT + 1)))
    rig.see(RELEASED)

    def seen() -> int:
        return sum("\\Seen" in row.set_flags() for row in rig.node.core.rows.messages(GUID))

    assert seen() == COUNT
    rig.restart()
    messages = {f"G{uid}": Stored(uid, ()) for uid in range(1, COUNT + 1)}
    rig.node.core.recover({"alice": {GUID: StoredBox("INBOX", False, messages, next_uid=COUNT + 1)}})
    rig.found = mail(*range(1, COUNT + 1))
    rig.settle()
    rig.see(READS)
    rig.see(RELEASED)
    assert seen() == COUNT and Notice("flags_differ", f"alice INBOX {COUNT}") in rig.notices
    rig.found = FoundBox((Found(1, "G1", frozenset({"\\Seen"}), TEXT), *rig.found.messages[1:]))
    rig.see(RELEASED)
    [box] = rig.rows.boxes("alice")
    rig.node.allow(box, rig.now)
    rig.settle()
    assert seen() == 1, "the letter that was put back by hand stays"
