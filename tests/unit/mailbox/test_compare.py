"""What mail programs did, from what files hold and rows say."""

from __future__ import annotations

from pyrepl.mailbox.compare import Found, FoundBox, Text, difference
from pyrepl.mailbox.core import Core
from pyrepl.mailbox.rows import BoxRow
from pyrepl.mailbox.sayable import why_unsayable
from pyrepl.mailbox.verbs import Create, Expunge, Op, Save, Store
from pyrepl.mailbox.words import Box, Token
from tests.simulation.mailbox.memory_rows import MemoryRows

GUID = "1" * 32
TOKEN = Token(3, 1)
TEXT = Text(5, 1_700_000_000, (7,))


class Rig:
    """INBOX with messages G1 to Gn under the UIDs 1 to n."""

    def __init__(self, messages: int = 0) -> None:
        self.core = Core("a", MemoryRows(), ())
        self.do(Create(user="alice", box=Box("INBOX"), id=GUID, uidvalidity=7))
        for uid in range(1, messages + 1):
            self.do(self.save(f"G{uid}", uid))

    def do(self, *ops: Op) -> None:
        self.core.do(list(ops))

    def save(self, guid: str, uid: int, *flags: str) -> Save:
        return Save(user="alice", box=Box(GUID, True), uid=uid, guid=guid, size=1, received=1, flags=flags, token=TOKEN)

    @property
    def box(self) -> BoxRow:
        box = self.core.rows.box(GUID)
        assert box is not None
        return box

    def ops(self, *found: Found, keywords: frozenset[str] | None = frozenset(), guard: int = 100) -> list[Op]:
        differs = difference(self.core.rows, self.box, FoundBox(found, keywords), TOKEN, guard)
        return [*differs.expunges, *differs.saves, *differs.stores]


def as_found(uid: int, *flags: str, guid: str = "", text: Text | None = None) -> Found:
    return Found(uid, guid or f"G{uid}", frozenset(flags), text)


def test_nothing_differs() -> None:
    assert Rig(2).ops(as_found(1), as_found(2)) == []


def test_a_new_line_is_a_save() -> None:
    [save] = Rig(1).ops(as_found(1), as_found(2, "\\Seen", "kw", text=TEXT))
    assert isinstance(save, Save)
    assert (save.uid, save.guid, save.flags, save.size, save.sum) == (2, "G2", ("\\Seen", "kw"), 5, (7,))
    assert save.token == TOKEN and save.received == 1_700_000_000


def test_a_new_message_has_the_flags_for_which_there_is_room() -> None:
    keywords = [f"k{number:03d}{'y' * 200}" for number in range(300)]
    [save] = Rig().ops(as_found(1, "\\Seen", *keywords, text=TEXT))
    assert isinstance(save, Save) and "\\Seen" in save.flags and why_unsayable(save) is None


def test_of_a_new_message_more_has_to_be_told() -> None:
    rig = Rig()
    differs = difference(rig.core.rows, rig.box, FoundBox((as_found(1),)), TOKEN, 100)
    assert differs.late == {"G1"} and differs.saves == []


def test_new_messages_are_told_up_to_the_first_of_which_more_has_to_be_told() -> None:
    rig = Rig(3)
    # The first is shown under a higher UID by now, which is told with the new ones.
    found = FoundBox((as_found(3, "\\Seen"), as_found(4, text=TEXT), as_found(5), as_found(6, text=TEXT)))
    moved = found._replace(messages=(*found.messages, Found(7, "G1", frozenset(), TEXT)))
    differs = difference(rig.core.rows, rig.box, moved, TOKEN, 100)
    assert [save.guid for save in differs.saves] == ["G4"] and differs.late == {"G5", "G6", "G1"}
    assert [op.guids for op in differs.expunges] == [("G2",)] and [op.guids for op in differs.stores] == [("G3",)]


def test_of_messages_that_are_not_told_nothing_follows() -> None:
    rig = Rig(2)
    found = FoundBox((as_found(2, "\\Seen"),), untold=frozenset({"G1", "G9"}))
    differs = difference(rig.core.rows, rig.box, found, TOKEN, 100)
    assert differs.expunges == [] and [op.guids for op in differs.stores] == [("G2",)]


def test_a_missing_file_is_an_expunge_of_what_we_know() -> None:
    rig = Rig(2)
    [expunge] = rig.ops(as_found(2))
    assert isinstance(expunge, Expunge) and expunge.guids == ("G1",)
    row = rig.core.rows.message(GUID, "G1")
    assert row is not None and expunge.kills == row.dots


def test_flags_are_compared_with_the_row_and_told_as_changes() -> None:
    rig = Rig()
    rig.do(*(rig.save(f"G{uid}", uid, "\\Seen", "kw") for uid in (1, 2, 3)))
    stores = rig.ops(
        *(as_found(uid, "\\Flagged", "kw") for uid in (1, 2)), as_found(3, "\\Seen"), keywords=frozenset({"kw"})
    )
    assert [(op.guids, op.add, op.remove) for op in stores if isinstance(op, Store)] == [
        (("G3",), (), ("kw",)),
        (("G1", "G2"), ("\\Flagged",), ("\\Seen",)),
    ]


def test_flags_in_doubt_are_not_compared() -> None:
    rig = Rig()
    rig.do(*(rig.save(f"G{uid}", uid, "\\Seen") for uid in (1, 2)))
    found = FoundBox((as_found(1, "\\Flagged", "\\Draft"), as_found(2)))
    doubts = {"G1": (("\\Draft",), ("\\Seen",))}
    stores = difference(rig.core.rows, rig.box, found, TOKEN, 100, doubts=doubts).stores
    assert [(op.guids, op.add, op.remove) for op in stores] == [
        (("G2",), (), ("\\Seen",)),
        (("G1",), ("\\Flagged",), ()),
    ]


def test_a_keyword_that_no_file_can_show_was_not_removed() -> None:
    rig = Rig()
    rig.do(rig.save("G1", 1, "27th"))
    assert rig.ops(as_found(1)) == []
    [store] = rig.ops(as_found(1), keywords=None)
    assert isinstance(store, Store) and store.remove == ("27th",)


def test_a_message_under_a_higher_uid_went_and_came() -> None:
    rig = Rig(2)
    found = as_found(2), as_found(5, guid="G1", text=TEXT)
    assert difference(rig.core.rows, rig.box, FoundBox(found), TOKEN, 100).again == 1
    expunge, save = rig.ops(*found)
    assert isinstance(expunge, Expunge) and expunge.guids == ("G1",)
    assert isinstance(save, Save) and (save.uid, save.guid) == (5, "G1")


def test_what_was_expunged_elsewhere_does_not_come_back() -> None:
    rig = Rig(1)
    row = rig.core.rows.message(GUID, "G1")
    assert row is not None
    rig.do(Expunge(user="alice", box=Box(GUID, True), guids=("G1",), kills=row.dots))
    assert rig.ops(as_found(1, text=TEXT)) == []
    assert [type(op) for op in rig.ops(as_found(2, guid="G1", text=TEXT))] == [Save]


def test_too_many_missing_ones_are_believed_to_be_an_accident() -> None:
    rig = Rig(10)
    there = [as_found(uid) for uid in range(1, 5)]
    assert rig.ops(*there, guard=5) == []
    assert difference(rig.core.rows, rig.box, FoundBox(tuple(there)), TOKEN, 5).missing == 6
    assert len(rig.ops(*there, guard=6)) == 1
    assert len(rig.ops(*there, as_found(5), guard=2)) == 1, "half of the mailbox is there"


def test_a_message_whose_op_comes_again_is_nobodys_new_one() -> None:
    rig = Rig()
    found = FoundBox((as_found(1, text=TEXT),))
    assert difference(rig.core.rows, rig.box, found, TOKEN, 100, {"G1": 1}).saves == []


def test_of_a_part_only_what_is_named_is_compared() -> None:
    rig = Rig(4)
    found = FoundBox((as_found(2, "\\Seen"), as_found(9, text=TEXT)), is_whole=False, gone=frozenset({"G3", "G7"}))
    differs = difference(rig.core.rows, rig.box, found, TOKEN, 100)
    [expunge], [save], [store] = differs.expunges, differs.saves, differs.stores
    assert (expunge.guids, save.guid, store.guids, store.add) == (("G3",), "G9", ("G2",), ("\\Seen",))
    assert differs.missing == 0


def test_keywords_are_compared_whatever_their_case() -> None:
    rig = Rig()
    rig.do(rig.save("G1", 1, "NonJunk"))
    assert rig.ops(as_found(1, "nonjunk"), keywords=frozenset({"nonjunk"})) == []
    [store] = rig.ops(as_found(1), keywords=frozenset({"nonjunk"}))
    assert isinstance(store, Store) and (store.add, store.remove) == ((), ("NonJunk",))
    assert rig.ops(as_found(1), keywords=frozenset({"other"})) == [], "files cannot show it"


def test_nothing_is_told_of_a_message_that_cannot_be_read() -> None:
    rig = Rig(2)
    found = FoundBox((as_found(2), as_found(4, text=TEXT)), unread={"G1": "a folder", "G3": "a link"})
    differs = difference(rig.core.rows, rig.box, found, TOKEN, 100)
    assert (differs.expunges, [save.guid for save in differs.saves]) == ([], ["G4"])
