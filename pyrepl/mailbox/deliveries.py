"""Deliveries by a mail program that waits until what it stored is at other nodes.

The program says nothing of what it did but that it is done; that is seen in the files, as all that a Dovecot does. So
everything counts that was seen from a moment before the delivery on, of whatever mailbox: when all of it is in the
rows, and enough other nodes have these, the delivery is answered. As a change that a mail process waits for it is
answered in any case when `mailbox-ack-timeout` is over, and at once while no other node can be reached.

Of a mailbox that the file system does not watch nothing is seen: all those of the recipients are looked at, as Sieve
may have put the mail into any of them, and all that there are if it is not known whose a recipient is.

Not here: the connection by which the mail came (lmtp.py), and who waits for other nodes (acks.py).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple, final

from pyrepl.mailbox.acks import Acks
from pyrepl.mailbox.answers import Ok
from pyrepl.mailbox.checks import Checks
from pyrepl.mailbox.core import Core
from pyrepl.mailbox.folders import Folders
from pyrepl.mailbox.gate_states import Seen
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

    def wait(self, client: str, tag: str, mark: int, recipients: Collection[str], now: float) -> None:
        """Answer when other nodes have all that was seen after the number `mark` of the gates' news. `recipients`: as
        the mail server named them."""
        if self._gates.blind.boxes or self._gates.blind.users:
            self._look_at_unwatched(recipients, now)
        self._waiting.append(_Delivered(client, tag, mark, now + self._acks.options.timeout_s))

    def _look_at_unwatched(self, recipients: Collection[str], now: float) -> None:
        """Of these something counts as told."""
        found = [{user for user in users_of(each) if self._folders.is_known(user)} for each in recipients]
        blind, users = self._gates.blind, set().union(*found)
        boxes, homes = blind.boxes, blind.users
        if found and all(found):
            theirs = (box.guid for user in users for box in self._core.rows.boxes(user))
            boxes, homes = [guid for guid in theirs if guid in blind.boxes], users & set(homes)
        for guid in boxes:
            self._gates.seen(guid, Seen(released=True), now)
        for user in homes:
            self._folders.seen(user, now)

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


def users_of(recipient: str) -> set[str]:
    """What a recipient's user may be called: with the domain or without, and without what is behind a `+`, as a Dovecot
    may be set."""
    local, at, domain = recipient.rpartition("@") if "@" in recipient else (recipient, "", "")
    locals_ = {local, local.partition("+")[0]}
    names = locals_ | {each + at + domain for each in locals_}
    return names | {name.lower() for name in names}
