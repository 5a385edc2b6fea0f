"""Deliveries by a mail program that waits until what it stored is at other nodes.

The program says nothing of what it did but that it is done; that is seen in the files, as all that a Dovecot does. So
everything counts that was seen from a moment before the delivery on, of whatever mailbox: when all of it is in the
rows, and enough other nodes have these, the delivery is answered. As a change that a mail process waits for it is
answered in any case when `mailbox-ack-timeout` is over, and at once while no other node can be reached.

Not here: the connection by which the mail came (lmtp.py), and who waits for other nodes (acks.py).
"""

from __future__ import annotations

from typing import Final, NamedTuple, final

from pyrepl.mailbox.acks import Acks
from pyrepl.mailbox.answers import Ok
from pyrepl.mailbox.checks import Checks
from pyrepl.mailbox.core import Core
from pyrepl.mailbox.folders import Folders
from pyrepl.mailbox.gates import Gates
from pyrepl.mailbox.words import Dot


class _Delivered(NamedTuple):
    """One that waits. `boxes`: mailboxes that are to be looked at, and for which number; None while it is not known
    which those are, as folders are to be listed first."""

    client: str
    tag: str
    mark: int
    until: float
    boxes: dict[str, int] | None = None


@final
class Deliveries:
    """All that wait until the rows have them."""

    def __init__(self, core: Core, acks: Acks, checks: Checks, gates: Gates, folders: Folders) -> None:
        self._core: Final = core
        self._acks: Final = acks
        self._checks: Final = checks
        self._gates: Final = gates
        self._folders: Final = folders
        self._waiting: list[_Delivered] = []

    def wait(self, client: str, tag: str, mark: int, now: float) -> None:
        """Answer when other nodes have all that was seen after the number `mark` of the gates' news."""
        self._waiting.append(_Delivered(client, tag, mark, now + self._acks.options.timeout_s))

    def tick(self, now: float) -> None:
        """Go on with those that are looked at, and end those whose time is over."""
        if not self._waiting:
            return
        can_be_had = any(peer.is_up for peer in self._core.peers.values())
        waiting = [self._looked(each) for each in self._waiting]
        over = [each for each in waiting if each.boxes == {} or now >= each.until or not can_be_had]
        self._waiting = [each for each in waiting if each not in over]
        if over and can_be_had:
            self._checks.hurry()
        at = Dot(self._core.origin, self._core.causal.held.get(self._core.origin, 0))
        for each in over:
            if each.boxes == {} and can_be_had:
                self._acks.wait_until(each.client, each.tag, at, Ok(), each.until)
            else:
                if self._core.peers:
                    self._core.note("single_copy", f"{at.origin}:{at.seq}")
                self._core.reply(each.client, each.tag, Ok(acks=0))

    def _looked(self, each: _Delivered) -> _Delivered:
        """What is still to be looked at."""
        if each.boxes is None and self._folders.unlisted(each.mark):
            return each
        boxes = self._gates.unlooked(each.mark) if each.boxes is None else each.boxes
        left = {box: number for box, number in boxes.items() if not self._gates.has_looked(box, number)}
        return each._replace(boxes=left)

    def next_deadline(self) -> float:
        return min((each.until for each in self._waiting), default=float("inf"))
