"""The simulator's model, the Maildir store, and one without files and links do the same, whatever they are told."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pyrepl.mailbox.store import (
    AddMessage,
    MakeBox,
    MendMessage,
    MoveMessage,
    RaiseNext,
    RemoveBox,
    RemoveMessage,
    RenameBox,
    SetFlags,
    StoredBox,
    SubscribeBox,
    Work,
)
from pyrepl.mailbox.words import Dot
from tests.unit.mailbox.stores import BOX, OTHER, TEXT, USER, MaildirRig, ModelRig, PackedRig, plain

NAMES = {BOX: "Work", OTHER: "Old"}
"""Each mailbox has names of its own: what a store shows of two of one name is not laid down."""
BOXES = st.sampled_from([BOX, OTHER])
GUIDS = st.sampled_from(["G1", "a:b", "G3"])
FLAGS = st.sets(st.sampled_from(["\\Seen", "\\Flagged", "kw"])).map(lambda flags: tuple(sorted(flags)))
UIDS = st.integers(0, 12)


def adds(box: str, guid: str, uid: int, flags: tuple[str, ...], copies: bool, seq: int) -> tuple[bool, Work]:
    return copies, AddMessage(USER, box, guid, uid, flags, 1_700_000_000, 4, "", Dot("b", seq))


def told(work: st.SearchStrategy[Work]) -> st.SearchStrategy[tuple[bool, Work]]:
    return st.tuples(st.just(True), work)


STEPS = st.one_of(
    st.builds(adds, BOXES, GUIDS, UIDS, FLAGS, st.booleans(), st.integers(1, 3)),
    told(st.builds(SetFlags, st.just(USER), BOXES, GUIDS, FLAGS)),
    told(st.builds(MoveMessage, st.just(USER), BOXES, GUIDS, UIDS, FLAGS)),
    told(st.builds(MendMessage, st.just(USER), BOXES, GUIDS, st.just(4), st.just(""))),
    told(st.builds(RemoveMessage, st.just(USER), BOXES, GUIDS)),
    told(st.builds(RaiseNext, st.just(USER), BOXES, UIDS)),
    told(BOXES.map(lambda box: RenameBox(USER, box, f"{NAMES[box]}/New"))),
    told(st.builds(lambda box, yes: SubscribeBox(USER, box, NAMES[box], yes), BOXES, st.booleans())),
    told(BOXES.map(lambda box: RemoveBox(USER, box))),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(STEPS, max_size=25), st.integers(0, 25), st.booleans())
def test_l7_all_stores_do_the_same(steps: list[tuple[bool, Work]], restart_at: int, settles: bool) -> None:
    model, maildir, packed = ModelRig(), MaildirRig(), PackedRig()
    uidnext = 1
    made = {BOX}
    for rig in (model, maildir, packed):
        rig.done(MakeBox(USER, BOX, NAMES[BOX], 7, uidnext))
    for place, (copies, work) in enumerate(steps):
        works: list[Work] = []
        if work.box not in made and not isinstance(work, RemoveBox):
            # A mailbox is made before anything is told of it; never with a lower next UID.
            works.append(MakeBox(USER, work.box, NAMES[work.box], 7, uidnext := uidnext + 20))
            made.add(work.box)
        elif isinstance(work, RemoveBox):
            made.discard(work.box)
        if isinstance(work, AddMessage):
            assert work.at is not None
            uid = work.uid and work.uid + uidnext - 6
            text = "" if copies else maildir.add(work.guid, uid, at=work.at).text
            work = AddMessage(USER, work.box, work.guid, uid, work.flags, work.received, work.size, text, work.at)
        elif isinstance(work, MendMessage):
            text = maildir.add(work.guid, 1, at=Dot("b", 4)).text
            work = MendMessage(USER, work.box, work.guid, work.size, text)
        elif isinstance(work, MoveMessage):
            work = MoveMessage(USER, work.box, work.guid, work.uid and work.uid + uidnext - 6, work.flags)
        works.append(work)
        if place == restart_at:
            maildir.restart()
        for each in works:
            if isinstance(each, AddMessage | MendMessage) and each.text:
                packed.packed.came[each.text] = TEXT
        results = model.store.perform(works)
        assert results == maildir.store.perform(works) == packed.store.perform(works), works
        if settles:
            for rig in (model, maildir, packed):
                rig.store.settle(works)
        assert packed.store.stored(USER) == model.store.stored(USER)
        shown, wanted = plain(maildir.store.stored(USER)), plain(model.store.stored(USER))
        if not settles:
            # Which of two ops that were never committed brought a message, nobody asks.
            shown, wanted = _without_ops(shown), _without_ops(wanted)
        assert shown == wanted


def _without_ops(boxes: dict[str, StoredBox]) -> dict[str, StoredBox]:
    return {
        guid: box._replace(messages={name: has._replace(at=None) for name, has in box.messages.items()})
        for guid, box in boxes.items()
    }
