"""The Maildir store: works are done, again and again the same, and nothing that is missing counts as gone."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import product
from random import Random

import pytest

from pyrepl.daemon.mailbox.drop_folder import shown_guid
from pyrepl.daemon.mailbox.maildir_store import MOST_OPEN, MaildirStore
from pyrepl.daemon.mailbox.maildirs_place import MARKER, NotThere
from pyrepl.daemon.mailbox.open_box import OpenBox
from pyrepl.daemon.mailbox.user_boxes import UserBoxes
from pyrepl.daemon.mailbox.user_folders import Place
from pyrepl.errors import CorruptData
from pyrepl.mailbox.aligning import DRAFT, Aligned, AlignOrder
from pyrepl.mailbox.core import Core
from pyrepl.mailbox.maildir.letters import SYSTEM
from pyrepl.mailbox.maildir.text_sums import sums_of
from pyrepl.mailbox.maildir.uidlist import LAST_UID
from pyrepl.mailbox.rows import UNPLACED, BoxRow, MessageRow
from pyrepl.mailbox.scrubbing import NOT_THERE, SAME, Piece, ScrubOrder, Verdict
from pyrepl.mailbox.sending import Notice
from pyrepl.mailbox.store import (
    AddMessage,
    MoveMessage,
    Outcome,
    RaiseNext,
    RemoveBox,
    RemoveMessage,
    RenameBox,
    Result,
    SetFlags,
    Stored,
    StoredBox,
    SubscribeBox,
    Work,
)
from pyrepl.mailbox.words import Dot, Stamp, Token
from pyrepl.words import from_text
from tests.simulation.mailbox.memory_rows import MemoryRows
from tests.unit.daemon.mailbox.model_disk import Died, ModelDisk, die_at, full_from
from tests.unit.daemon.mailbox.store_rig import (
    HOME,
    INBOX_ID,
    USER,
    WORK_ID,
    add,
    content,
    dropped,
    make_box,
    mend,
    new_disk,
    new_store,
    outcomes,
    tell,
)

NONE: frozenset[str] = frozenset()


def shown_name(guid: str) -> str:
    return f"b.1.{shown_guid(guid)}"


@pytest.fixture
def disk() -> ModelDisk:
    return new_disk()


@pytest.fixture
def store(disk: ModelDisk) -> MaildirStore:
    made = new_store(disk, is_new=True)
    tell(made, make_box())
    return made


def test_messages_come_with_uid_flags_date_and_text(disk: ModelDisk, store: MaildirStore) -> None:
    tell(store, add(store, "G1", 3, b"one", ["\\Seen", "kw"]), add(store, "G2", 9, b"two"))
    assert content(disk, store) == {3: ("G1", {"\\Seen", "kw"}, b"one"), 9: ("G2", NONE, b"two")}
    assert disk.stat(HOME + b"/cur/G1:2,Sa").mtime_ns == 1_700_000_000 * 10**9  # type: ignore[union-attr]
    assert store.listing(USER, INBOX_ID).next_uid == 10


def test_a_text_may_be_dropped_after_its_row_is_committed(disk: ModelDisk, store: MaildirStore) -> None:
    work = add(store, "G1", 3, b"one")
    tell(store, work)
    store.drop.remove([work.text])
    store.drop.remove([work.text])
    assert content(disk, store) == {3: ("G1", NONE, b"one")}


def test_flags_are_set_exactly(disk: ModelDisk, store: MaildirStore) -> None:
    tell(store, add(store, "G1", 3, b"one", ["\\Seen", "kw"]))
    tell(store, SetFlags(USER, INBOX_ID, "G1", ("\\Flagged", "other")))
    assert content(disk, store) == {3: ("G1", {"\\Flagged", "other"}, b"one")}
    tell(store, SetFlags(USER, INBOX_ID, "G1", ()), SetFlags(USER, INBOX_ID, "gone", ("\\Seen",)))
    assert content(disk, store) == {3: ("G1", NONE, b"one")}


def test_what_a_client_flagged_between_a_crash_and_the_work_that_comes_again_stays(
    disk: ModelDisk, store: MaildirStore
) -> None:
    work = add(store, "G1", 3, b"one", ["\\Seen", "kw"])
    tell(store, work)
    disk.rename(HOME + b"/cur/G1:2,Sa", HOME + b"/cur/G1:2,Fa")
    tell(store, AddMessage(**{**work.__dict__, "before": work.flags}))
    assert content(disk, store) == {3: ("G1", {"\\Flagged", "kw"}, b"one")}
    tell(store, work)
    assert content(disk, store) == {3: ("G1", {"\\Seen", "kw"}, b"one")}, "as nobody knows whose flags those are"


def test_the_27th_keyword_is_told_as_not_kept(store: MaildirStore) -> None:
    flags = tuple(f"k{number:02}" for number in range(27))
    [result] = store.perform([add(store, "G1", 3, b"one", [*flags, "\\Seen"])])
    assert (result.outcome, result.unkept_keywords) == (Outcome.DONE, ("k26",))


def test_a_message_moves_to_a_new_uid_and_keeps_the_rest(disk: ModelDisk, store: MaildirStore) -> None:
    tell(store, add(store, "G1,S=3", 3, b"one", ["kw"]), MoveMessage(USER, INBOX_ID, "G1,S=3", 50))
    assert content(disk, store) == {50: ("G1,S=3", {"kw"}, b"one")}
    tell(store, MoveMessage(USER, INBOX_ID, "G1,S=3", 50))
    assert outcomes(store.perform([MoveMessage(USER, INBOX_ID, "gone", 60)])) == [Outcome.NO_TEXT]
    assert content(disk, store) == {50: ("G1,S=3", {"kw"}, b"one")}


def test_a_removed_message_is_gone_and_may_come_again_above(disk: ModelDisk, store: MaildirStore) -> None:
    tell(store, add(store, "G1", 3, b"one"), RemoveMessage(USER, INBOX_ID, "G1"))
    assert content(disk, store) == {}
    tell(store, add(store, "G1", 4, b"one"), RemoveMessage(USER, INBOX_ID, "G1"), add(store, "G1", 8, b"one"))
    assert content(disk, store) == {8: ("G1", NONE, b"one")}


def test_a_copy_is_linked_from_where_the_user_has_it(disk: ModelDisk, store: MaildirStore) -> None:
    tell(store, make_box(WORK_ID, "Work/Sub"), add(store, "G1", 3, b"one"))
    tell(store, AddMessage(USER, WORK_ID, "G1", 11, ("\\Seen",), 0, 3, ""))
    assert content(disk, store, WORK_ID) == {11: ("G1", {"\\Seen"}, b"one")}
    inode = disk.stat(HOME + b"/cur/G1:2,")
    assert inode and inode.inode == disk.stat(HOME + b"/.Work.Sub/cur/G1:2,S").inode  # type: ignore[union-attr]


def test_a_text_that_is_nowhere_is_told(disk: ModelDisk, store: MaildirStore) -> None:
    works = [AddMessage(USER, INBOX_ID, "G1", 3, (), 0, 3, text) for text in ("", "b.1.none")]
    assert outcomes(store.perform(works)) == [Outcome.NO_TEXT] * 2
    short = add(store, "G2", 4, b"one")
    wrong = AddMessage(USER, INBOX_ID, "G2", 4, (), 0, 4, short.text)
    assert outcomes(store.perform([wrong, short])) == [Outcome.NO_TEXT, Outcome.DONE]
    assert content(disk, store) == {4: ("G2", NONE, b"one")}


def test_the_next_uid_is_raised_and_never_lowered(disk: ModelDisk, store: MaildirStore) -> None:
    tell(store, RaiseNext(USER, INBOX_ID, 500), RaiseNext(USER, INBOX_ID, 20))
    assert store.listing(USER, INBOX_ID).next_uid == 500
    [result] = store.perform([add(store, "G1", 499, b"one")])
    assert result == Result(Outcome.TOO_LOW, next_uid=500)
    tell(store, MoveMessage(USER, INBOX_ID, "G1", 500))


def test_works_that_are_told_again_change_nothing(disk: ModelDisk, store: MaildirStore) -> None:
    works: list[Work] = [
        make_box(WORK_ID, "Work"),
        add(store, "G1", 3, b"one"),
        add(store, "a guid:with/all\xff", 4, b"two", ["kw"]),
        SetFlags(USER, INBOX_ID, "G1", ("\\Seen",)),
        MoveMessage(USER, INBOX_ID, "G1", 8),
        SubscribeBox(USER, WORK_ID, "Work", True),
    ]
    tell(store, *works)
    before = disk.tree(HOME)
    for each in (store, new_store(disk)):
        for _ in range(2):
            assert outcomes(each.perform([works[0], *works[3:]])) == [Outcome.DONE] * 4
    assert disk.tree(HOME) == before


def test_after_a_failure_no_later_work_of_the_user_is_begun(disk: ModelDisk, store: MaildirStore) -> None:
    results = store.perform(
        [
            *(add(store, "G1", 3, b"one"), add(store, "G2", LAST_UID + 1, b"two"), add(store, "G3", 5, b"x")),
            make_box(WORK_ID, "Work"),
        ]
    )
    assert outcomes(results) == [Outcome.DONE, *[Outcome.FAILED] * 3]
    assert [place.name for place in store.boxes(USER)] == ["INBOX"]
    assert content(disk, store) == {3: ("G1", NONE, b"one")}


def test_a_missing_marker_stops_everything(disk: ModelDisk, store: MaildirStore) -> None:
    work = add(store, "G1", 3, b"one")
    disk.unlink(b"/mail/" + MARKER)
    [result] = store.perform([work])
    assert result.outcome is Outcome.NOT_THERE and "is the disk of the Maildirs mounted?" in result.reason
    for ask in (store.boxes, store.subscribed, lambda user: store.listing(user, INBOX_ID)):
        with pytest.raises(NotThere):
            ask(USER)
    with pytest.raises(NotThere):
        new_store(disk)


def test_the_disk_is_checked_by_the_marker_and_if_that_is_wanted_by_writing(
    disk: ModelDisk, store: MaildirStore
) -> None:
    store.check(writes=True)
    works, disk.before_call = disk.before_call, full_from(0)
    store.check(writes=False)
    with pytest.raises(OSError, match="No space left on device"):
        store.check(writes=True)
    disk.before_call = works
    disk.unlink(b"/mail/.pyrepl-mailboxes")
    with pytest.raises(NotThere, match="mounted"):
        store.check(writes=False)


def test_a_missing_folder_is_no_empty_mailbox(disk: ModelDisk, store: MaildirStore) -> None:
    tell(store, add(store, "G1", 3, b"one"))
    disk.rename(HOME + b"/cur", b"/mail/away")
    with pytest.raises(FileNotFoundError):
        store.listing(USER, INBOX_ID)
    assert outcomes(store.perform([RemoveMessage(USER, INBOX_ID, "G1")])) == [Outcome.FAILED]
    disk.rename(b"/mail/away", HOME + b"/cur")
    assert content(disk, store) == {3: ("G1", NONE, b"one")}
    disk.rename(HOME, b"/mail/elsewhere")
    [result] = store.perform([SetFlags(USER, INBOX_ID, "G1", ())])
    assert result.outcome is Outcome.FAILED and "is its disk mounted?" in result.reason


def test_a_list_that_lost_lines_is_no_mailbox_without_messages(disk: ModelDisk, store: MaildirStore) -> None:
    tell(store, add(store, "G1", 3, b"one"), add(store, "G2", 4, b"two"))
    path = HOME + b"/dovecot-uidlist"
    whole = disk.read(path)
    disk.unlink(path)
    disk.write_new(path, whole[: whole.index(b"4 :") + 2])
    listing = new_store(disk).listing(USER, INBOX_ID)
    assert [each.uid for each in listing.messages] == [3] and listing.unlisted == {b"G2"}
    disk.unlink(path)
    disk.write_new(path, b"")
    for each in (new_store(disk), store):
        with pytest.raises(CorruptData):
            each.listing(USER, INBOX_ID)


def test_mailboxes_that_dovecot_renamed_are_found_again(disk: ModelDisk, store: MaildirStore) -> None:
    tell(store, make_box(WORK_ID, "Work"), add(store, "G1", 3, b"one", box=WORK_ID))
    disk.rename(HOME + b"/.Work", HOME + b"/.Old")
    tell(store, make_box("3" * 32, "Work"), SetFlags(USER, WORK_ID, "G1", ("\\Seen",)))
    assert content(disk, store, WORK_ID) == {3: ("G1", {"\\Seen"}, b"one")}
    tell(store, RenameBox(USER, WORK_ID, "New"), RemoveBox(USER, "3" * 32), RemoveBox(USER, "3" * 32))
    assert [place.name for place in store.boxes(USER)] == ["INBOX", "New"]


def test_only_so_many_mailboxes_are_open(disk: ModelDisk, store: MaildirStore) -> None:
    ids = [f"{number:032x}" for number in range(100, 102 + MOST_OPEN)]
    tell(store, *(make_box(box, f"b{box[-3:]}") for box in ids))
    tell(store, *(RaiseNext(USER, box, 9) for box in ids))
    assert len(store._open) == MOST_OPEN
    tell(store, RaiseNext(USER, ids[0], 10))
    assert store.listing(USER, ids[0]).next_uid == 10


def test_a_new_database_beside_full_maildirs_removes_nothing(disk: ModelDisk, store: MaildirStore) -> None:
    tell(
        store,
        add(store, "G1", 3, b"one", ["\\Seen"]),
        make_box(WORK_ID, "Work"),
        add(store, "G2", 1, b"two", box=WORK_ID),
    )
    store.clear({"b": 1}, set())
    before = disk.tree(HOME)
    node = Core("a", MemoryRows(), ("b",))
    node.recover({USER: new_store(disk).stored(USER)})
    assert (node.works(), node.removals(), node.sends()) == ([], [], [])
    assert disk.tree(HOME) == before
    assert node.notices() == [Notice("mailbox_unknown", "alice INBOX"), Notice("mailbox_unknown", "alice Work")]


def test_maildirs_that_are_not_there_are_nothing_that_is_told(disk: ModelDisk, store: MaildirStore) -> None:
    tell(store, add(store, "G1", 3, b"one"))
    rows = MemoryRows()
    rows.put_box(BoxRow(INBOX_ID, USER, "INBOX", Stamp(1, "a"), 7, uidnext=4))
    rows.put_message(MessageRow(INBOX_ID, "G1", 3, Token(1, 0), (Dot("b", 1),), 3, 1))
    disk.rename(HOME, b"/mail/elsewhere")
    with pytest.raises(NotThere):
        store.stored(USER)
    node = Core("a", rows, ("b",))
    node.recover({})
    assert (node.works(), node.removals(), node.sends()) == ([], [], [])
    assert node.notices() == []


def test_what_is_stored_tells_the_ops_that_brought_it(store: MaildirStore) -> None:
    first = add(store, "G1", 3, b"one", ["work", "\\Seen"])
    tell(store, first, SubscribeBox(USER, INBOX_ID, "INBOX", True))
    carried = frozenset({*SYSTEM, "work"})
    messages = {"G1": Stored(3, ("\\Seen", "work"), Dot("b", 1))}
    has = StoredBox("INBOX", True, messages, is_new=True, carried=carried, next_uid=4)
    assert store.stored(USER) == {INBOX_ID: has}
    store.settle([first])
    assert store.stored(USER)[INBOX_ID].messages == {"G1": Stored(3, ("\\Seen", "work"))}


@pytest.mark.parametrize("uid", [UNPLACED, 3])
def test_of_a_mail_that_came_under_another_guid_it_is_known_too(store: MaildirStore, uid: int) -> None:
    name = dropped(store, "G1", b"one")
    own = AddMessage(USER, INBOX_ID, "G2", uid, (), 1_700_000_000, 3, name, Dot("a", 5))
    for _ in range(2):
        tell(store, own)
    assert store.stored(USER)[INBOX_ID].messages == {"G2": Stored(uid, (), Dot("a", 5))}
    store.settle([own])
    assert store.stored(USER)[INBOX_ID].messages == {"G2": Stored(uid, ())} and store.drop.ops() == {}


def damage(disk: ModelDisk, store: MaildirStore, guid: str) -> bytes:
    """Let a stored text be another one; its path."""
    path = store.text(USER, guid)
    assert path is not None
    disk._file(path)[:] = b"rotten"
    return path


def order(guid: str, text: bytes) -> ScrubOrder:
    return ScrubOrder(USER, INBOX_ID, (Piece(guid, len(text), 0, sums_of(text)),))


def test_l8_a_damaged_text_is_found_and_replaced_in_its_place(disk: ModelDisk, store: MaildirStore) -> None:
    tell(store, add(store, "G1", 3, b"one", ["\\Seen", "kw"]), add(store, "G2", 4, b"two"))
    path, before = damage(disk, store, "G1"), content(disk, store)
    assert [read.verdict for read in store.scrub(order("G1", b"one"))] == [Verdict.DAMAGED]
    assert store.scrub(order("G2", b"two")) == (SAME,) and store.scrub(order("G9", b"two")) == (NOT_THERE,)
    work = mend(store, "G1", b"one")
    tell(store, work)
    store.settle([work])
    assert content(disk, store) == before | {3: ("G1", {"\\Seen", "kw"}, b"one")} and store.text(USER, "G1") == path
    assert store.scrub(order("G1", b"one")) == (SAME,)
    assert not [name for name in disk.names(b"/mail/.pyrepl-drop") if b"mend" in name or name == from_text(work.text)]
    assert outcomes(store.perform([work])) == [Outcome.NO_TEXT], "the good text was used"


def test_l8_a_text_that_nobody_sees_yet_is_mended_too(disk: ModelDisk, store: MaildirStore) -> None:
    tell(store, add(store, "G1", 0, b"one"))
    damage(disk, store, "G1")
    assert [read.verdict for read in store.scrub(order("G1", b"one"))] == [Verdict.DAMAGED]
    tell(store, mend(store, "G1", b"one"), mend(store, "G2", b"two"))
    assert store.scrub(order("G1", b"one")) == (SAME,) and store.text(USER, "G2") is None
    assert content(disk, store) == {}


def test_what_cannot_be_looked_for_is_not_damaged() -> None:
    store = new_store(new_disk(), is_new=True)
    assert store.scrub(order("G1", b"one")) == (NOT_THERE,)


def test_a_flag_that_is_changed_for_a_login_is_unsure_until_it_is_changed_back(store: MaildirStore) -> None:
    tell(store, make_box(), add(store, "G1", 1, b"x"))
    order = AlignOrder(USER, INBOX_ID, "INBOX", 9, (Aligned("G1", 1, False),), False, 3)
    store.settle([SetFlags(USER, INBOX_ID, "G1", ())])
    store.begin_align(order)
    assert store.stored(USER)[INBOX_ID].unsure == {"G1": frozenset({DRAFT.lower()})}
    tell(store, SetFlags(USER, INBOX_ID, "G1", ("\\Seen",), ()))
    store.settle([SetFlags(USER, INBOX_ID, "G1", ("\\Seen",), ())])
    assert store.stored(USER)[INBOX_ID].unsure == {"G1": frozenset({DRAFT.lower()})}, "a work has ended, and it has not"
    store.end_align(order)
    assert store.stored(USER)[INBOX_ID].unsure == {}


def test_texts_of_one_mailbox_after_the_other_need_no_look_into_all(
    store: MaildirStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(store, add(store, "G1", 3, b"one"), add(store, "G2", 4, b"two"))
    assert store.text(USER, "G1") is not None
    scans: list[int] = []
    places = UserBoxes.places

    def counted(boxes: UserBoxes) -> list[Place]:
        scans.append(1)
        return places(boxes)

    monkeypatch.setattr(UserBoxes, "places", counted)
    assert store.text(USER, "G2") is not None and store.text(USER, "G1") is not None and scans == []
    assert store.text(USER, "G3") is None and scans == [1]


def test_a_text_is_looked_for_first_where_it_was_put(
    store: MaildirStore, disk: ModelDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(store, make_box(), make_box(WORK_ID, "Work"))
    tell(store, add(store, "G1", 1, b"one"), add(store, "G2", 1, b"two", box=WORK_ID))
    looked: list[bytes] = []
    texts = OpenBox.texts

    def counted(box: OpenBox, guids: Sequence[str]) -> list[bytes | None]:
        looked.append(box.guid)
        return texts(box, guids)

    monkeypatch.setattr(OpenBox, "texts", counted)
    for guid, box in (("G1", INBOX_ID), ("G2", WORK_ID), ("G1", INBOX_ID)):
        assert store.readable_text(USER, guid, box) is not None
    assert looked == [INBOX_ID.encode(), WORK_ID.encode(), INBOX_ID.encode()]
    path = store.readable_text(USER, "G2", INBOX_ID)
    assert path is not None and disk.read(path) == b"two", "it is elsewhere by now"
    assert store.readable_text(USER, "G2", "3" * 32) == path, "that mailbox is gone"
    assert store.readable_text(USER, "G2", "") == path


NEW = ("G3", "odd one")
REDONE: Sequence[Sequence[Work]] = [
    [
        AddMessage(USER, INBOX_ID, guid, uid, ("kw",), 7, 3, shown_name(guid))
        for guid, uid in (("G3", 7), ("odd one", 8))
    ],
    [MoveMessage(USER, INBOX_ID, "G1", 9, ("\\Seen",))],
    [SetFlags(USER, INBOX_ID, "G1", ("kw", "\\Seen"))],
    [RemoveMessage(USER, INBOX_ID, "G1")],
    [RaiseNext(USER, INBOX_ID, 50)],
]


@pytest.mark.parametrize("works", REDONE, ids=lambda works: type(works[0]).__name__)
def test_what_is_found_done_is_on_disk_when_it_is_told_as_done(works: Sequence[Work]) -> None:
    """Whoever did it was killed before it was on disk; the rows are committed after that, and then power is lost."""
    disk, store = _with_two()
    first = disk.calls + 1
    tell(store, *works)
    wanted, calls = (content(disk, store), store.listing(USER, INBOX_ID).next_uid), disk.calls
    for number, seed in product(range(first, calls + 1), range(10)):
        disk, store = _with_two()
        disk.before_call = die_at(number)
        with suppress(Died):
            store.perform(works)
        disk.before_call = lambda number, what, path: None
        tell(new_store(disk), *works)
        disk.lose_power(Random(seed))
        again = new_store(disk)
        assert (content(disk, again), again.listing(USER, INBOX_ID).next_uid) == wanted, (number, seed)


def _with_two() -> tuple[ModelDisk, MaildirStore]:
    """Two messages are there, and the texts of two more were dropped."""
    disk = new_disk()
    store = new_store(disk, is_new=True)
    tell(store, make_box(), add(store, "G1", 3, b"one"), add(store, "G2", 4, b"two"))
    for guid in NEW:
        assert dropped(store, guid, b"txt") == shown_name(guid)
    return disk, store
