"""The Maildir store at every step of its works: the process dies, the power goes, the disk is full.

After each, works are told again, as their origin tells them again. What was told as done before is there at all times,
no file of cur/ is without its line, so that no Dovecot gives it a UID of its own, and the end is the same as without
the fault.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from itertools import product

import pytest

from pyrepl.daemon.mailbox.maildir_store import MaildirStore
from pyrepl.mailbox.maildir import filename, uidlist
from pyrepl.mailbox.store import (
    MoveMessage,
    Outcome,
    RaiseNext,
    RemoveBox,
    RemoveMessage,
    RenameBox,
    SetFlags,
    SubscribeBox,
    Work,
)
from tests.unit.daemon.mailbox.model_disk import Died, ModelDisk, die_at, full_from
from tests.unit.daemon.mailbox.store_rig import (
    HOME,
    INBOX_ID,
    USER,
    WORK_ID,
    add,
    content,
    make_box,
    mend,
    new_disk,
    new_store,
    tell,
)

THIRD_ID = f"{3:032x}"
Batches = Callable[[MaildirStore], list[list[Work]]]
"""The works of a history, made when they are told: their texts are dropped anew then."""


def messages(store: MaildirStore) -> list[list[Work]]:
    return [
        [add(store, "G1", 3, b"one", ["\\Seen", "kw"]), add(store, "G2,S=3", 4, b"two"), add(store, "a b:c", 5, b"x")],
        [SetFlags(USER, INBOX_ID, "G1", ("\\Flagged", "kw2")), RaiseNext(USER, INBOX_ID, 40)],
        [MoveMessage(USER, INBOX_ID, "G2,S=3", 41), RemoveMessage(USER, INBOX_ID, "a b:c"), add(store, "G4", 50, b"4")],
        [mend(store, "G4", b"4"), RemoveMessage(USER, INBOX_ID, "G1"), SetFlags(USER, INBOX_ID, "G2,S=3", ("kw",))],
    ]


def aside(store: MaildirStore) -> list[list[Work]]:
    """Messages that come without a UID, become visible, and go out of sight."""
    return [
        [add(store, "G1", 0, b"one", ["kw"]), add(store, "a:b", 0, b"two"), add(store, "G3", 4, b"x")],
        [MoveMessage(USER, INBOX_ID, "G1", 9, ("kw",)), MoveMessage(USER, INBOX_ID, "G3", 0)],
        [MoveMessage(USER, INBOX_ID, "a:b", 12), MoveMessage(USER, INBOX_ID, "G1", 0), mend(store, "G1", b"one")],
        [MoveMessage(USER, INBOX_ID, "G3", 14, ("\\Seen",)), RemoveMessage(USER, INBOX_ID, "a:b")],
    ]


def folders(store: MaildirStore) -> list[list[Work]]:
    return [
        [make_box(WORK_ID, "Work", 9, 20), make_box(THIRD_ID, "Other")],
        [add(store, "W1", 21, b"work", ["kw"], WORK_ID), SubscribeBox(USER, WORK_ID, "Work", True)],
        [RenameBox(USER, WORK_ID, "Other"), RenameBox(USER, THIRD_ID, "Work"), make_box(WORK_ID, "Other", 10, 30)],
        [RenameBox(USER, WORK_ID, "Deep/Down"), RemoveBox(USER, THIRD_ID), SubscribeBox(USER, WORK_ID, "Work", False)],
    ]


def inbox(store: MaildirStore) -> list[list[Work]]:
    return [
        [add(store, "G1", 3, b"one", ["kw"])],
        [RenameBox(USER, INBOX_ID, "Kept"), make_box(THIRD_ID, "INBOX", 8)],
        [add(store, "G2", 5, b"two", box=THIRD_ID)],
    ]


def _begun(layout: str) -> tuple[ModelDisk, MaildirStore]:
    disk = new_disk()
    store = new_store(disk, layout, is_new=True)
    tell(store, make_box(), add(store, "OLD", 1, b"old", ["\\Answered"]))
    return disk, store


def _state(disk: ModelDisk, store: MaildirStore) -> dict[str, object]:
    """All that Dovecot would show."""
    shown: dict[str, object] = {"subscribed": store.subscribed(USER)}
    for guid, box in store.stored(USER).items():
        shown[guid] = {name: has._replace(at=None) for name, has in box.messages.items()}
    for place in store.boxes(USER):
        listing = store.listing(USER, place.guid.decode())
        held = content(disk, store, place.guid.decode())
        shown[place.name] = (place.guid, listing.uidvalidity, listing.next_uid, held)
    return shown


def _no_file_without_a_line(disk: ModelDisk) -> None:
    for path in disk.tree(HOME):
        folder, _, name = path.rpartition(b"/cur/")
        if folder:
            found = uidlist.parse(disk.read(folder + b"/dovecot-uidlist"))
            assert filename.parse(name).base in {entry.base for entry in found.entries}, path


def _run(disk: ModelDisk, store: MaildirStore, batches: Batches, done: int, layout: str) -> int:
    """Tell the batches from `done` on; how many are done then."""
    for number in range(done, len(batches(store))):
        results = store.perform(batches(store)[number])
        if any(result.outcome is not Outcome.DONE for result in results):
            return number
    return len(batches(store))


def _is_kept(disk: ModelDisk, store: MaildirStore) -> None:
    """The message of long ago is there, in INBOX or where that was moved."""
    home = store._boxes(USER).places()
    found = [content(disk, store, place.guid.decode()).get(1) for place in home]
    assert ("OLD", {"\\Answered"}, b"old") in found


@pytest.mark.parametrize(
    ("batches", "layout"),
    [(messages, "maildir++"), (aside, "maildir++"), *product([folders, inbox], ["maildir++", "fs"])],
)
@pytest.mark.parametrize("power", [False, True], ids=["killed", "power cut"])
def test_a_crash_at_every_call(batches: Batches, layout: str, power: bool) -> None:
    disk, store = _begun(layout)
    assert _run(disk, store, batches, 0, layout) == len(batches(store))
    wanted, calls = _state(disk, store), disk.calls
    disk, store = _begun(layout)
    first = disk.calls + 1
    for number in range(first, calls + 1):
        for seed in range(3 if power else 1):
            disk, store = _begun(layout)
            disk.before_call = die_at(number)
            with suppress(Died):
                _run(disk, store, batches, 0, layout)
            disk.before_call = lambda number, what, path: None
            if power:
                disk.lose_power(random.Random(seed))
            _no_file_without_a_line(disk)
            store = new_store(disk, layout)
            if batches is not inbox:
                _is_kept(disk, store)
            for _ in range(2):
                assert _run(disk, store, batches, 0, layout) == len(batches(store)), (number, seed)
            assert _state(disk, store) == wanted, (number, seed)


@pytest.mark.parametrize("batches", [messages, folders, inbox])
def test_a_disk_that_is_full_from_any_call_on(batches: Batches) -> None:
    disk, store = _begun("maildir++")
    _run(disk, store, batches, 0, "maildir++")
    wanted, calls = _state(disk, store), disk.calls
    disk, store = _begun("maildir++")
    for number in range(disk.calls + 1, calls + 1):
        disk, store = _begun("maildir++")
        disk.before_call = full_from(number)
        try:
            done = _run(disk, store, batches, 0, "maildir++")
        except OSError:
            # The text did not even come.
            done = 0
        disk.before_call = lambda number, what, path: None
        _no_file_without_a_line(disk)
        assert _run(disk, store, batches, min(done, 0), "maildir++") == len(batches(store)), number
        assert _state(disk, store) == wanted, number
