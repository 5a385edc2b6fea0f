"""A mailbox without a folder: what comes is kept aside, everything else was deleted with it."""

from __future__ import annotations

from pyrepl.daemon.mailbox.aside import Aside
from pyrepl.daemon.mailbox.box_gone import without_box
from pyrepl.mailbox.store import DONE, AddMessage, MoveMessage, Outcome, RaiseNext, RemoveMessage, Result, SetFlags
from tests.unit.daemon.mailbox.model_disk import ModelDisk
from tests.unit.daemon.mailbox.store_rig import USER, WORK_ID

TOO_LOW = Result(Outcome.TOO_LOW, next_uid=6)


def test_what_comes_is_kept_aside_and_gets_another_uid() -> None:
    disk = ModelDisk()
    disk.make_folders(b"/mail")
    disk.write_new(b"/mail/text", b"one")
    aside = Aside(disk, b"/mail", WORK_ID.encode())
    aside.load()
    texts = {"G1": b"/mail/text"}

    def end(work: AddMessage | MoveMessage | SetFlags | RemoveMessage | RaiseNext) -> Result:
        return without_box(work, aside, lambda add: texts.get(add.guid))

    assert end(AddMessage(USER, WORK_ID, "G1", 5, (), 1, 3, "text")) == TOO_LOW and aside.guids() == ["G1"]
    assert end(MoveMessage(USER, WORK_ID, "G1", 5)) == TOO_LOW
    assert end(MoveMessage(USER, WORK_ID, "G1", 0)) == DONE
    assert end(AddMessage(USER, WORK_ID, "G2", 6, (), 1, 3, "")).outcome is Outcome.NO_TEXT
    for uid in (6, 0):
        moved = end(MoveMessage(USER, WORK_ID, "G2", uid))
        assert moved.outcome is Outcome.NO_TEXT, "it is not there, so the gate looks again"
    assert end(SetFlags(USER, WORK_ID, "G1", ())) == end(RaiseNext(USER, WORK_ID, 9)) == DONE
    assert end(RemoveMessage(USER, WORK_ID, "G1")) == DONE and aside.guids() == []
