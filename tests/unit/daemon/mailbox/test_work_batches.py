"""Works in batches of one mailbox, and what is kept until their rows are committed."""

from __future__ import annotations

from pyrepl.daemon.mailbox.drop_folder import DropFolder
from pyrepl.daemon.mailbox.work_batches import are_of_boxes, begin_flags, perform_in_batches, settle
from pyrepl.mailbox.store import (
    DONE,
    AddMessage,
    MakeBox,
    MoveMessage,
    Outcome,
    RemoveMessage,
    Result,
    SetFlags,
    SubscribeBox,
    Work,
)
from pyrepl.mailbox.words import Dot
from tests.unit.daemon.mailbox.model_disk import ModelDisk

BOX, OTHER = "1" * 32, "2" * 32


def folder() -> DropFolder:
    disk = ModelDisk()
    disk.make_folders(b"/data")
    drop = DropFolder(disk, b"/data")
    drop.prepare()
    return drop


def test_no_later_work_of_a_user_is_begun_after_one_that_failed() -> None:
    begun: list[list[Work]] = []

    def perform(user: str, box: str, works: list[Work]) -> list[Result]:
        begun.append(works)
        assert are_of_boxes(works) is not isinstance(works[0], RemoveMessage)
        return [Result(Outcome.FAILED, "full") if box == OTHER else DONE for _ in works]

    make, one, two = MakeBox("u", BOX, "A", 1, 1), RemoveMessage("u", BOX, "G1"), RemoveMessage("u", BOX, "G2")
    failing, later = RemoveMessage("u", OTHER, "G"), SubscribeBox("u", BOX, "A", True)
    others = RemoveMessage("v", BOX, "G")
    results = perform_in_batches([make, one, two, failing, later, others], perform)
    assert begun == [[make], [one, two], [failing], [others]]
    assert [result.outcome is Outcome.DONE for result in results] == [True, True, True, False, False, True]


def test_what_was_kept_goes_when_the_rows_are_committed() -> None:
    drop = folder()
    coming = drop.begin(Dot("b", 1), "G1")
    coming.write(b"x")
    add = AddMessage("u", BOX, "G1", 1, (), 1, 1, coming.name, Dot("b", 1))
    flags = SetFlags("u", BOX, "G2", ("\\Seen", "kw"), ("kw", "Old"))
    move = MoveMessage("u", BOX, "G3", 5)
    drop.begin_box(BOX.encode())
    begin_flags(drop, BOX, [add, flags, move])
    assert drop.ops() == {"G1": Dot("b", 1)} and drop.is_new_box(BOX.encode())
    assert drop.new_flags(BOX.encode()) == {"G2": frozenset({"\\seen", "old"}), "G3": None}
    settle(drop, [add, flags, move, MakeBox("u", BOX, "A", 1, 1)])
    assert drop.ops() == {} and not drop.is_new_box(BOX.encode()) and not drop.new_flags(BOX.encode())
    begin_flags(drop, BOX, [add])
    assert not drop.new_flags(BOX.encode())


def test_a_copys_text_goes_by_its_op() -> None:
    drop = folder()
    coming = drop.begin(Dot("b", 2), "G1")
    coming.write(b"x")
    settle(drop, [AddMessage("u", BOX, "G1", 1, (), 1, 1, "", Dot("b", 2))])
    assert drop.ops() == {}
