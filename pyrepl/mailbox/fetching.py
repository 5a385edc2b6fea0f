"""Texts without which ops cannot be applied: who lacks one asks the other members for it by FETCH.

A SAVE comes without its text where the sender has it no more, or where what it sent was damaged; a COPY never has one.
The origin of the op is asked first, then whoever can be reached, and all again after a while.

| FETCH is answered | which means |
|---|---|
| `OK` and the text | |
| `NO NOUID held=` | no mailbox of the user has such a message, after all ops of this vector |
| `NO NOUID` | a mailbox has it, and its file is not there: just expunged, removed by hand, or about to come |
| `NO NOTEXT` | the message is known, and its text was never here, or not since it was looked for (mending.py) |
| `NO FAILED` | it is damaged, or cannot be read now |

Not here: texts that come with state (pulling.py), and those of messages that are there (mending.py).
"""

from __future__ import annotations

from typing import Final, NamedTuple, final

from pyrepl.mailbox.answers import No, Ok, Reason
from pyrepl.mailbox.clashes import are_two
from pyrepl.mailbox.core import Core
from pyrepl.mailbox.merging import NO_TEXT, Text
from pyrepl.mailbox.peers import Peer, is_missing
from pyrepl.mailbox.rows import MessageRow
from pyrepl.mailbox.verbs import Command, Fetch, Save
from pyrepl.mailbox.words import Dot, node_of

FETCH: Final = "f"
"""How the tags of these questions begin."""


class _Asked(NamedTuple):
    at: Dot
    what: tuple[str, str]
    peer: str


@final
class Fetching:
    """The questions for texts, and who could not answer them."""

    def __init__(self, core: Core) -> None:
        self._core: Final = core
        self._count = 0
        self._asked: Final[dict[str, _Asked]] = {}
        """Tag -> what was asked."""
        self._refused: Final[dict[Dot, set[str]]] = {}
        """Op -> who said that it has not the text."""
        self._wrong: Final[set[tuple[Dot, str]]] = set()
        """Ops, and who sent another text than theirs."""

    def hear_fetch(self, peer: str, tag: str, fetch: Fetch) -> None:
        homes = self._homes(fetch)
        home = next((row for row in homes if self._may_have(row)), None)
        if home is not None:
            answer = Ok(size=home.size, received=home.received, sum=home.sums)
            self._core.send(peer, answer, tag, (fetch.user, fetch.guid))
        elif homes:
            self._core.send(peer, No(reason=Reason.NOTEXT), tag)
        else:
            self._core.send(peer, No(reason=Reason.NOUID, held=self._core.journal.vector()), tag)

    def _homes(self, fetch: Fetch) -> list[MessageRow]:
        """Where the user has it: one mailbox, if it may have the text, or all that know of it. A mailbox may have
        another mail of this GUID."""
        rows = self._core.rows
        first = rows.home(fetch.user, fetch.guid)
        if first is None:
            return []
        if not are_two(first.sums, fetch.sum) and self._may_have(first):
            return [first]
        found = (rows.message(box.guid, fetch.guid) for box in rows.boxes(fetch.user))
        return [row for row in found if row is not None and not are_two(row.sums, fetch.sum)]

    def _may_have(self, row: MessageRow) -> bool:
        return not is_missing(self._core.missing, row.box, row.guid)

    def ask(self) -> None:
        """Ask for all that ops lack, each at one member."""
        busy = {asked.at for asked in self._asked.values()}
        for at, what in self._core.lacking.items():
            if at not in busy:
                self._ask(at, what)

    def _ask(self, at: Dot, what: tuple[str, str]) -> None:
        refused = self._refused.setdefault(at, set()) | {peer for op, peer in self._wrong if op == at}
        ups = [peer.name for peer in self._core.peers.values() if peer.is_up and peer.name not in refused]
        if not ups:
            return
        origin = node_of(at.origin)
        peer = origin if origin in ups else ups[0]
        self._count += 1
        tag = f"{FETCH}{self._count}"
        self._asked[tag] = _Asked(at, what, peer)
        self._core.send(peer, Fetch(user=what[0], guid=what[1], sum=self._sums(at)), tag)

    def _sums(self, at: Dot) -> tuple[int, ...]:
        """The checksums of the text that an op tells of; a COPY tells of none."""
        op = self._core.causal.waiting(at)
        return op.sum if isinstance(op, Save) else ()

    def answered(self, peer: Peer, tag: str, answer: Command, text: str) -> None:
        """The answer to a question, which may be forgotten by now, and the drop file of its text."""
        asked = self._asked.pop(tag, None)
        if asked is None:
            self._core.let_go(text)
        elif self._core.causal.has(asked.at):
            # What the op did came by state meanwhile.
            self._core.let_go(text)
            self._refused.pop(asked.at, None)
        else:
            self._take(peer, asked, answer, text)

    def _take(self, peer: Peer, asked: _Asked, answer: Command, text: str) -> None:
        at, (_, guid) = asked.at, asked.what
        if isinstance(answer, Ok) and not are_two(answer.sum, self._sums(at)):
            self._core.let_go(self._core.texts.get((at, guid), NO_TEXT).name)
            self._core.texts[at, guid] = Text(text, answer.size or 0, answer.received or 0, answer.sum)
            self._core.lacking.pop(at, None)
        else:
            self._core.let_go(text)
            self._refused.setdefault(at, set()).add(peer.name)
            if isinstance(answer, No) and answer.reason == Reason.FAILED:
                self._wrong.add((at, peer.name))
            held = answer.held if isinstance(answer, No) else ()
            if not any(dot.origin == at.origin and dot.seq >= at.seq for dot in held):
                return
            # It applied the op, and has no such message any more: the message was expunged. By an op that may be on its
            # disk alone.
            self._core.journal.reaches(held)
            self._core.no_text(at, guid)
        self._refused.pop(at, None)
        self._core.drain()

    def link_down(self, peer: str) -> None:
        for tag in [tag for tag, asked in self._asked.items() if asked.peer == peer]:
            del self._asked[tag]

    def forget_refusals(self) -> None:
        """Whoever had not the text may have it by now."""
        self._refused.clear()

    def forgive(self) -> None:
        """Whoever sent a damaged text may have mended it."""
        self._wrong.clear()

    def nobody_has(self) -> list[Dot]:
        """Ops that came without their texts, which no member has, as none has applied these ops: the disk of their
        origin is gone. It says so only of texts that all members were asked for."""
        peers = self._core.peers.values()
        names = {peer.name for peer in peers}
        return [
            at
            for at in sorted(self._core.lacking)
            if self._refused.get(at, set()) >= names
            and not any((at, name) in self._wrong for name in names)
            and all(peer.held.get(at.origin, 0) < at.seq for peer in peers)
        ]
