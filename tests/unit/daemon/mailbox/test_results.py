"""Why a work failed, in the disk's words, and the names that mailboxes get."""

from __future__ import annotations

from pyrepl.daemon.mailbox.results import failed, storable, told_of_name
from pyrepl.errors import CorruptData
from pyrepl.mailbox.maildir.layout import LAYOUTS
from pyrepl.mailbox.store import DONE, MakeBox, Outcome, RemoveBox, RenameBox, Result, SubscribeBox


def test_reasons() -> None:
    full = OSError(28, "No space left on device", b"/mail/a\xc3\xa9")
    assert failed(full) == Result(Outcome.FAILED, "/mail/aé: No space left on device")
    assert failed(OSError(5, "Input/output error")).reason == "Input/output error"
    assert failed(CorruptData("no list", 3)).reason == "no list (at byte 3)"


def test_works_get_names_that_can_be_stored() -> None:
    layout, box = LAYOUTS["maildir++"], "1" * 32
    plain, remove = MakeBox("alice", box, "Work", 7, 1), RemoveBox("alice", box)
    assert storable(plain, layout) is plain and storable(remove, layout) is remove
    make, rename = MakeBox("alice", box, "v1.2", 7, 1), RenameBox("alice", box, "v1.2")
    subscribe = SubscribeBox("alice", box, "v1.2", True)
    name = "v1_2 (11111111)"
    assert storable(make, layout) == MakeBox("alice", box, name, 7, 1)
    assert storable(rename, layout) == RenameBox("alice", box, name)
    assert storable(subscribe, layout) == SubscribeBox("alice", box, name, True)
    assert told_of_name(DONE, make, storable(make, layout)) == DONE._replace(stored_as=name)
    assert told_of_name(DONE, subscribe, storable(subscribe, layout)) is told_of_name(DONE, plain, plain) is DONE
