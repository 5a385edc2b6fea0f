"""A store in which a message is no file, as in Dovecot's dbox: all texts of a mailbox are one block of bytes, behind
each other, so a text cannot be linked from one mailbox into another. What is copied is copied as bytes.

Nothing like it is in pyrepl: it shows that what the machines ask of a store can be done without files and links.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyrepl.mailbox.store import (
    AddMessage,
    MendMessage,
    MessageStore,
    Outcome,
    RemoveBox,
    RemoveMessage,
    Result,
    StoredBox,
    Work,
)
from tests.simulation.mailbox.model_store import ModelStore, Uids


class PackedStore(MessageStore):
    """UIDs, flags and names as in the model; texts in a block for each mailbox."""

    def __init__(self) -> None:
        self._model = ModelStore(Uids())
        self.came: dict[str, bytes] = {}
        """Texts that have come, by the names by which works know them."""
        self._blocks: dict[str, bytearray] = {}
        self._places: dict[tuple[str, str], tuple[int, int]] = {}
        """(mailbox, message) -> where in the block its text begins, and its length."""

    def text(self, box: str, guid: str) -> bytes | None:
        """A message's text; None if it is not there."""
        place = self._places.get((box, guid))
        return None if place is None else bytes(self._blocks[box][place[0] : sum(place)])

    def has_text(self, user: str, guid: str) -> bool:
        return any(known == guid for _, known in self._places)

    def stored(self, user: str) -> dict[str, StoredBox]:
        return self._model.stored(user)

    def settle(self, works: Sequence[Work]) -> None:
        self._model.settle(works)
        for work in works:
            if isinstance(work, AddMessage | MendMessage):
                self.came.pop(work.text, None)

    def perform(self, works: Sequence[Work]) -> list[Result]:
        return [self._do(work) for work in works]

    def _do(self, work: Work) -> Result:
        if isinstance(work, AddMessage | MendMessage):
            text = self.came.get(work.text) if work.text else self._anywhere(work.guid)
            is_there = (work.box, work.guid) in self._places
            if text is None and (isinstance(work, MendMessage) or not is_there):
                return Result(Outcome.NO_TEXT)
            if text is not None and (isinstance(work, AddMessage) or is_there):
                self._put(work.box, work.guid, text)
        elif isinstance(work, RemoveMessage):
            self._places.pop((work.box, work.guid), None)
        elif isinstance(work, RemoveBox):
            self._blocks.pop(work.box, None)
            self._places = {key: place for key, place in self._places.items() if key[0] != work.box}
        [result] = self._model.perform([work])
        return result

    def _anywhere(self, guid: str) -> bytes | None:
        return next((self.text(box, known) for box, known in self._places if known == guid), None)

    def _put(self, box: str, guid: str, text: bytes) -> None:
        block = self._blocks.setdefault(box, bytearray())
        self._places[box, guid] = len(block), len(text)
        block += text
