"""Messages whose text is not in the store though their rows are, or is damaged there: their texts are fetched from
whoever has them.

A text is missing where it was to be linked from another mailbox, and somebody took that away by hand. It is damaged
where it was read again and its checksums were others (scrubbing.py). A text of other checksums is not taken. Members
are asked one after the other; when all that can be reached have said no, it is tried again after a pause. What is
missing is still known after a restart; what is damaged is found again then.

A missing text that no member has, as all of them said two times, will not come any more: its message was a COPY of one
that was expunged meanwhile [L4]. So it is expunged, or it would be here and not there, and a node that needs the text
for the COPY would wait for ever.

Not here: texts without which an op cannot be applied (fetching.py).
"""

from __future__ import annotations

from typing import Final, NamedTuple, final

from pyrepl.mailbox.answers import No, Ok, Reason
from pyrepl.mailbox.core import Core
from pyrepl.mailbox.journal_ops import by_guid
from pyrepl.mailbox.peers import is_missing
from pyrepl.mailbox.verbs import Command, Expunge, Fetch

MEND: Final = "m"
LOOK_S: Final = 1.0
PAUSE_S: Final = 60.0
MOST_AT_ONCE: Final = 20
"""Texts that are asked for at the same time."""


class _Asked(NamedTuple):
    what: tuple[str, str]
    peer: str


@final
class Mending:
    """All that is missing: (mailbox, message), as the core tells in `missing`."""

    def __init__(self, core: Core, now: float) -> None:
        self.core: Final = core
        self._made = 0
        self._look_at = now + LOOK_S
        self._asked: Final[dict[str, _Asked]] = {}
        self._refused: Final[dict[tuple[str, str], dict[str, bool]]] = {}
        """Missing message -> who did not send the text -> whether it said that it has none."""
        self._after: Final[dict[tuple[str, str], float]] = {}
        """Missing message -> when it is looked for again."""
        self._told: Final[set[tuple[str, str]]] = set()
        """Missing messages that nobody had when all that could be were asked."""
        self._nowhere: Final[set[tuple[str, str]]] = set()
        """Those of which all members have said once that they have no text."""

    def tick(self, now: float) -> None:
        """Ask for what is missing."""
        if now < self._look_at:
            return
        self._look_at = now + LOOK_S
        for what in [what for what in self.core.missing if self.core.rows.message(*what) is None]:
            self.core.not_missing(*what)
            self._forget(what)
        under_way = {asked.what for asked in self._asked.values()}
        due = (what for what in self.core.missing if what not in under_way and self._after.get(what, now) <= now)
        for what in list(due)[: MOST_AT_ONCE - len(under_way)]:
            self._ask(what, now)

    def answered(self, peer: str, tag: str, answer: Command, text: str) -> None:
        """The answer to a question of ours; `text` names what came in the drop folder."""
        asked = self._asked.pop(tag, None)
        if asked is None or asked.peer != peer:
            self.core.let_go(text)
        elif isinstance(answer, Ok) and text and self._is_wanted(asked.what, answer):
            self._forget(asked.what)
            self.core.mend(*asked.what, text)
        else:
            self.core.let_go(text)
            self._refused.setdefault(asked.what, {})[peer] = _has_none(answer)

    def _is_wanted(self, what: tuple[str, str], answer: Ok) -> bool:
        """Is it the text that the row tells of?"""
        row = self.core.rows.message(*what)
        return row is None or not row.sums or answer.sum == row.sums

    def link_down(self, peer: str) -> None:
        for tag in [tag for tag, asked in self._asked.items() if asked.peer == peer]:
            del self._asked[tag]

    def next_deadline(self) -> float:
        return self._look_at if self.core.missing else float("inf")

    def _ask(self, what: tuple[str, str], now: float) -> None:
        refused = self._refused.get(what, {})
        peer = next((peer.name for peer in self.core.peers.values() if peer.is_up and peer.name not in refused), None)
        if peer is None:
            self._all_asked(what, refused, now)
            return
        self._made += 1
        tag = f"{MEND}{self._made}"
        self._asked[tag] = _Asked(what, peer)
        row = self.core.rows.message(*what)
        sums = () if row is None else row.sums
        self.core.send(peer, Fetch(user=self.core.missing[what].user, guid=what[1], sum=sums), tag)

    def _all_asked(self, what: tuple[str, str], refused: dict[str, bool], now: float) -> None:
        """Whoever can be reached has said no; nobody may be there who can be."""
        have_all_none = bool(refused) and all(refused.get(name) for name in self.core.peers)
        is_nowhere = have_all_none and is_missing(self.core.missing, *what)
        if is_nowhere and what in self._nowhere:
            self._expunge(what)
            return
        if refused:
            self._after[what] = now + PAUSE_S
        self._refused.pop(what, None)
        (self._nowhere.add if is_nowhere else self._nowhere.discard)(what)
        if what not in self._told:
            self._told.add(what)
            self.core.note("text_unmended", f"{self.core.missing[what].user} {what[1]}")

    def _expunge(self, what: tuple[str, str]) -> None:
        box, row = self.core.rows.box(what[0]), self.core.rows.message(*what)
        if box is not None and row is not None:
            self.core.note("text_lost", f"{box.user} {box.name} {row.guid}")
            self.core.do([Expunge(user=box.user, box=by_guid(box), guids=(row.guid,), kills=row.dots)])

    def _forget(self, what: tuple[str, str]) -> None:
        self._refused.pop(what, None)
        self._after.pop(what, None)
        self._told.discard(what)
        self._nowhere.discard(what)


def _has_none(answer: Command) -> bool:
    """Has the member no text of this message, and none on its way? `held`: it has no such message either."""
    return isinstance(answer, No) and (answer.reason == Reason.NOTEXT or bool(answer.held))
