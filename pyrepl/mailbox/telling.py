"""What a member is told that compares its state with ours: mailboxes, entries, messages.

Each question is answered from the rows as they are, and nothing is remembered between two: who asks goes on from where
it was. An answer is a bounded number of lines with the tag of the question, and OK behind them, with our vector and
what our rows may show above it.

| question | lines | `upto` or `left` of the OK |
|---|---|---|
| BOXES after= | STATE, by GUID | left=1: there are more |
| ENTRIES after= upto= digest= | none, if the digest is ours; else ENTRY, by GUID | upto: they are whole up to there |
| MESSAGES guids= | MESSAGE: one that is there, one that is gone, or both; none for what is unknown | |

Not here: who asks, and what becomes of it (pulling.py).
"""

from __future__ import annotations

from typing import TypeAlias

from pyrepl.mailbox.answers import No, Ok, Reason
from pyrepl.mailbox.core import Core
from pyrepl.mailbox.entries import Pages, digest, entries, entry
from pyrepl.mailbox.joining import state_of
from pyrepl.mailbox.verbs import Boxes, Entries, Entry, Messages

Question: TypeAlias = Boxes | Entries | Messages


def tell(core: Core, peer: str, tag: str, question: Question, pages: Pages) -> None:
    """Answer a member."""
    if isinstance(question, Boxes):
        _tell_boxes(core, peer, tag, question, pages.boxes)
        return
    box = core.rows.box(question.box.text)
    if box is None or box.user != question.user:
        core.send(peer, No(reason=Reason.NOBOX), tag)
    elif isinstance(question, Entries):
        _tell_entries(core, peer, tag, question, pages.entries)
    else:
        for guid in question.guids:
            for message in entry(core.rows, box.guid, guid).messages(box.user):
                core.send(peer, message, tag)
        core.send(peer, _ok(core), tag)


def _tell_boxes(core: Core, peer: str, tag: str, question: Boxes, most: int) -> None:
    found = core.rows.boxes_after(question.after, most + 1)
    for box in found[:most]:
        core.send(peer, state_of(box), tag)
    core.send(peer, _ok(core).replaced(left=int(len(found) > most)), tag)


def _tell_entries(core: Core, peer: str, tag: str, question: Entries, most: int) -> None:
    found, end = entries(core.rows, question.box.text, question.after, question.upto, most)
    if not end and digest(found) == question.digest:
        core.send(peer, _ok(core).replaced(upto=question.upto, same=True), tag)
        return
    for each in found:
        told = Entry(user=question.user, box=question.box, guid=each.guid, digest=each.digest(), uid=each.uid)
        core.send(peer, told, tag)
    core.send(peer, _ok(core).replaced(upto=end or question.upto), tag)


def _ok(core: Core) -> Ok:
    return Ok(held=core.journal.vector(), ahead=core.journal.beyond())
