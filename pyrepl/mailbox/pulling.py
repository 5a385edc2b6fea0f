"""Resync by state: a node takes what another knows, where ops that it lacks are in no journal any more.

One member is asked at a time, question by question (telling.py answers):

    BOXES                              for each mailbox, by GUID:
        ENTRIES, until all are compared    what differs is remembered, what the other lacks is joined at once
        MESSAGES, in the order of UIDs     texts that are new are FETCHed, then the answer is joined as a whole
    then the vector jumps to that of the first answer, and SYNC brings the ops behind it.

What is joined is committed answer by answer. So a crash, or a link that breaks, loses nothing: the next time what came
is equal already. Until the jump, what rows show above the vector is kept as `ahead` (journal_ops.py).

What the other does meanwhile are ops above the first answer's vector: they come after the jump, whether rows showed
them or not. Ops below it that others send meanwhile wait for the jump: in a mailbox that is compared already they would
bring back what the other has expunged.

Bounded: an answer is a bounded number of lines; of a mailbox in which more differs, the messages with the lowest UIDs
come first, and then it is compared anew. Who answers anything else than what was asked is not asked further; who lives
and answers nothing is not asked for a while, so that another one can be.

An operator may ask for some mailboxes of a user alone (`MAILBOX RESYNC`): then the vector stays where it is.

Not here: how rows of two nodes become one (joining.py).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import nsmallest
from typing import Final, NamedTuple, TypeAlias, final

from pyrepl.mailbox.answers import Bad, No, Ok, Reason
from pyrepl.mailbox.core import Core
from pyrepl.mailbox.entries import Known, Pages, digest, entries, known_of
from pyrepl.mailbox.joining import Joiner
from pyrepl.mailbox.journal_ops import by_guid
from pyrepl.mailbox.merging import NO_TEXT, Effects, Text, Texts
from pyrepl.mailbox.modseqs import Crossed, modseq_after
from pyrepl.mailbox.peers import Peer
from pyrepl.mailbox.pulling_only import Only, Resynced, shown
from pyrepl.mailbox.rows import BoxRow
from pyrepl.mailbox.verbs import Boxes, Command, Entries, Entry, Fetch, Message, Messages, State
from pyrepl.mailbox.words import LAST_UID, Vector

PULL: Final = "p"
TEXT: Final = "t"
NO_PLACE: Final = LAST_UID + 1
"""Behind all UIDs."""
SILENT_S: Final = 30.0
"""So long a member may answer nothing."""
SILENT_TEXT_S: Final = 600.0
"""So long none of the texts that were asked for may come: a large one takes its time."""
PAUSE_S: Final = 60.0
"""So long a silent member is not asked again."""
Told: TypeAlias = State | Entry | Message


class _Wanted(NamedTuple):
    """A message that differs. By UID: those without one come last, by GUID."""

    place: int
    guid: str


class _Box:
    """The mailbox that is compared."""

    def __init__(self, state: State, pages: Pages) -> None:
        self.state: Final = state
        self._pages: Final = pages
        self.after = ""
        """Up to this GUID it is compared."""
        self.upto = ""
        """The end of the range that was asked for."""
        self.is_compared = False
        self.wanted: list[_Wanted] = []
        self.is_cut = False
        """More differs than is remembered."""
        self._done: Final = {False: _Wanted(0, ""), True: _Wanted(NO_PLACE, "")}
        """Up to where all is asked for, so that each message is once, be it still different: of those with a UID, and
        of those without. One that got its UID since the mailbox was told of is still one of these."""

    def want(self, each: Entry) -> None:
        place = each.uid if 0 < each.uid < self.state.uidnext else NO_PLACE
        wanted = _Wanted(place, each.guid)
        if wanted > self._done[place == NO_PLACE]:
            self.wanted.append(wanted)
        if len(self.wanted) >= 2 * self._pages.wanted:
            self._cut()

    def _cut(self) -> None:
        self.is_cut = True
        self.wanted = nsmallest(self._pages.wanted, self.wanted)

    def end_comparing(self) -> None:
        if self.is_cut:
            self._cut()
        self.is_compared = True
        self.wanted.sort(reverse=True)
        for wanted in reversed(self.wanted):
            self._done[wanted.place == NO_PLACE] = wanted

    def take(self) -> tuple[str, ...]:
        """The GUIDs that are asked for next."""
        taken = [self.wanted.pop().guid for _ in range(min(self._pages.messages, len(self.wanted)))]
        return tuple(taken)

    def begin_again(self) -> None:
        self.after, self.is_compared, self.is_cut = "", False, False


class _Fetching(NamedTuple):
    """A text that was asked for: of which message, and of whom."""

    guid: str
    peer: str


class _Page(NamedTuple):
    """Messages that have come whole, and wait for texts. `texts`: None if the other has it no more."""

    guids: tuple[str, ...]
    known: dict[str, Known]
    answer: Ok
    texts: dict[str, Text | None]


@final
class _Transfer:
    """What is known of the exchange with one member."""

    def __init__(self, peer: str, only: Only | None = None) -> None:
        self.peer: Final = peer
        self.only: Final = only
        self.result = Resynced(peer)
        self.tag = ""
        """Of the question that is not answered yet."""
        self.question: Boxes | Entries | Messages = Boxes()
        self.lines: list[Told] = []
        self.begin: Vector | None = None
        """The vector of the first answer."""
        self.boxes: deque[State] = deque()
        self.last_box = ""
        self.are_more = True
        self.box: _Box | None = None
        self.page: _Page | None = None
        self.fetching: dict[str, _Fetching] = {}
        """Tag of a FETCH that is not answered -> what was asked."""
        self.tried: dict[str, set[str]] = {}
        """Message whose text the member has damaged or has not -> who was asked for it."""
        self.textless: set[str] = set()
        """Messages that the member told of, and whose texts are not there."""


@final
class Pulling:
    """The exchange, while there is one. `on_end` is told of the member when all of its state is here."""

    def __init__(self, core: Core, pages: Pages, on_end: Callable[[str], None]) -> None:
        self.core: Final = core
        self._pages: Final = pages
        self.joiner: Final = Joiner(core.merger, core.causal.held)
        self._on_end: Final = on_end
        self.on_box: Callable[[str], None] = lambda guid: None
        """Told of a mailbox of which all is taken."""
        self._asked = 0
        self._now: _Transfer | None = None
        self.last: Resynced | None = None
        """What came of the last one that an operator asked for."""
        self._refused: Final[set[str]] = set()
        """Members that know more of our ops than we do."""
        self._damaged: Final[set[str]] = set()
        """Members that have a text damaged which nobody else has."""
        self._heard = 0
        """How often something was asked or came."""
        self._heard_before = 0
        self._silent_since = float("inf")
        self._paused: Final[dict[str, float]] = {}
        """Silent member -> until when it is not asked."""

    @property
    def peer(self) -> str:
        """The member whose state is taken; "" for none."""
        return "" if self._now is None else self._now.peer

    def want(self, peer: Peer) -> None:
        """Ops are missing that this member has dropped from its journal."""
        shunned = self._refused | self._damaged | self._paused.keys()
        if self._now is None and peer.is_up and peer.name not in shunned:
            self.core.note("resync_by_state", peer.name)
            self._now = _Transfer(peer.name)
            self._go_on(self._now)

    def want_only(self, only: Only) -> None:
        """An operator wants these mailboxes compared now. Answered OK when they are, and `last` tells the rest; NO if
        that cannot be."""
        peers = [peer for peer in self.core.peers.values() if peer.is_up and peer.name not in self._refused]
        if self._now is not None:
            self.core.reply(only.client, only.tag, No(reason=Reason.BUSY))
        elif not peers:
            self.core.reply(only.client, only.tag, No(reason=Reason.APART))
        else:
            # Who has applied most, is most likely to have what is missing here.
            peer = max(peers, key=lambda each: sum(each.held.values()))
            self._now = _Transfer(peer.name, only)
            self._go_on(self._now)

    def link_down(self, peer: str) -> None:
        self._refused.discard(peer)
        self._paused.pop(peer, None)
        now = self._now
        if now is not None and now.peer == peer:
            self._give_up()
        elif now is not None:
            for tag in [tag for tag, fetching in now.fetching.items() if fetching.peer == peer]:
                if self._now is now:
                    self._fetch_elsewhere(now, now.fetching.pop(tag).guid)

    def forgive(self) -> None:
        """Members may have mended their texts."""
        self._damaged.clear()

    def tick(self, now: float) -> None:
        """Some time has passed, a second or so."""
        for peer in [peer for peer, until in self._paused.items() if until <= now]:
            del self._paused[peer]
        if self._now is None or self._heard != self._heard_before:
            self._heard_before, self._silent_since = self._heard, now
        elif now >= self._silent_since + (SILENT_TEXT_S if self._now.fetching else SILENT_S):
            self.core.note("resync_by_state_silent", self._now.peer)
            self._paused[self._now.peer] = now + PAUSE_S
            self._give_up()

    # What the member says

    def hear(self, peer: str, tag: str, told: Told) -> None:
        """A line of an answer."""
        now = self._now
        if now is not None and (peer, tag) == (now.peer, now.tag):
            self._heard += 1
            now.lines.append(told)
            if len(now.lines) > self._pages.lines:
                self._give_up()

    def answered(self, peer: str, tag: str, answer: Ok | No | Bad) -> None:
        """The end of an answer."""
        now = self._now
        if now is None or (peer, tag) != (now.peer, now.tag):
            return
        now.tag = ""
        lines, now.lines = now.lines, []
        if isinstance(answer, Ok):
            if now.begin is None and not self._may_take(now.peer, answer.held):
                self._give_up()
                return
            if now.begin is None:
                now.begin = answer.held
                if now.only is None:
                    self.core.causal.coming = {dot.origin: dot.seq for dot in answer.held}
            self.core.journal.reaches((*answer.held, *answer.ahead))
            if not self._take(now, lines, answer):
                self._give_up()
                return
        elif now.box is not None and isinstance(answer, No) and answer.reason == Reason.NOBOX:
            # It has not this mailbox any more, or never had.
            now.box = None
        else:
            self._give_up()
            return
        if now.page is None:
            self._go_on(now)

    def _may_take(self, peer: str, theirs: Vector) -> bool:
        """Not from one that knows ops of ours that we do not: our numbers have two meanings then, so what it seems to
        have expunged may be what it never saw."""
        mine = self.core.causal.held.get(self.core.origin, 0)
        if not mine or dict(theirs).get(self.core.origin, 0) <= mine:
            return True
        self._refused.add(peer)
        self.core.note("database_is_old", f"{peer} knows ops of ours up to {dict(theirs)[self.core.origin]}, we {mine}")
        return False

    def text_came(self, peer: str, tag: str, answer: Command, text: str) -> None:
        """The answer to a FETCH; `text` names what came in the drop folder."""
        now = self._now
        asked = now.fetching.get(tag) if now is not None else None
        if now is None or asked is None or asked.peer != peer or now.page is None:
            self.core.let_go(text)
            return
        del now.fetching[tag]
        self._heard += 1
        if isinstance(answer, Ok) and text and _is_wanted(answer, now.page.known[asked.guid]):
            self._text(now, now.page, asked.guid, Text(text))
            return
        self.core.let_go(text)
        refused = answer if isinstance(answer, No) and peer == now.peer else None
        if refused is not None and refused.held:
            self.core.journal.reaches(refused.held)
            self._text(now, now.page, asked.guid, None)
            return
        is_not_there = refused is not None and refused.reason in (Reason.NOUID, Reason.NOTEXT)
        if is_not_there and asked.guid not in now.textless:
            # It may just have been expunged: the member is asked again, as it knows by now.
            now.textless.add(asked.guid)
            now.tried[asked.guid] = set()
        self._fetch_elsewhere(now, asked.guid)

    def _text(self, now: _Transfer, page: _Page, guid: str, text: Text | None) -> None:
        page.texts[guid] = text
        if not now.fetching:
            self._complete(now, page)
            if now.page is None:
                self._go_on(now)

    def _fetch_elsewhere(self, now: _Transfer, guid: str) -> None:
        """The member's text is damaged or missing: somebody else may have it. If nobody has, it is missing here as well
        (mending.py); if it is damaged, all is tried anew after a time, but it is done without that of a mail whose GUID
        another one has here."""
        assert now.box is not None and now.page is not None
        tried = now.tried.setdefault(guid, {now.peer})
        peer = next((peer.name for peer in self.core.peers.values() if peer.is_up and peer.name not in tried), None)
        if peer is not None:
            tried.add(peer)
            self._fetch(now, peer, self._row(now.box).user, guid)
        elif guid in now.textless or self._has_other(now.page, now.box.state.id, guid):
            self._text(now, now.page, guid, NO_TEXT)
        else:
            self._damaged.add(now.peer)
            self._give_up()

    def _has_other(self, page: _Page, box: str, guid: str) -> bool:
        """Is there another mail of this GUID here, which stays?"""
        mine = self.core.rows.message(box, guid)
        held = {dot.origin: dot.seq for dot in page.answer.held}
        return mine is not None and bool(self.joiner.left(mine, page.known[guid], held))

    def _fetch(self, now: _Transfer, peer: str, user: str, guid: str) -> None:
        self._asked += 1
        self._heard += 1
        tag = f"{TEXT}{self._asked}"
        now.fetching[tag] = _Fetching(guid, peer)
        row = None if now.page is None else now.page.known[guid].row
        assert row is not None, "who needs no text asks for none"
        self.core.send(peer, Fetch(user=user, guid=guid, sum=row.sums), tag)

    # What is asked

    def _go_on(self, now: _Transfer) -> None:
        """Ask the next question."""
        while now.box is None and now.boxes:
            state = now.boxes.popleft()
            if now.only is not None and not now.only.has(state):
                continue
            effects = Effects()
            if self.joiner.box(state, effects):
                now.box = _Box(state, self._pages)
                now.result = now.result._replace(boxes=now.result.boxes + 1)
            self.core.take(effects)
        if now.box is not None:
            self._ask_of_box(now, now.box)
        elif now.are_more:
            self._ask(now, Boxes(after=now.last_box))
        else:
            self._end(now)

    def _ask_of_box(self, now: _Transfer, box: _Box) -> None:
        row = self._row(box)
        if box.is_compared and not box.wanted and not box.is_cut:
            self.joiner.end_box(box.state)
            self.on_box(box.state.id)
            now.box = None
            self._go_on(now)
            return
        if box.is_compared and box.wanted:
            self._ask(now, Messages(user=row.user, box=by_guid(row), guids=box.take()))
            return
        if box.is_compared:
            box.begin_again()
        found, box.upto = entries(self.core.rows, row.guid, box.after, "", self._pages.compared)
        ask = Entries(user=row.user, box=by_guid(row), digest=digest(found), after=box.after, upto=box.upto)
        self._ask(now, ask)

    def _ask(self, now: _Transfer, question: Boxes | Entries | Messages) -> None:
        self._asked += 1
        self._heard += 1
        now.tag, now.question = f"{PULL}{self._asked}", question
        self.core.send(now.peer, question, now.tag)

    def _row(self, box: _Box) -> BoxRow:
        row = self.core.rows.box(box.state.id)
        assert row is not None
        return row

    # What was answered

    def _take(self, now: _Transfer, lines: list[Told], answer: Ok) -> bool:
        """False for what was not asked."""
        question, box = now.question, now.box
        if isinstance(question, Boxes):
            states = [line for line in lines if isinstance(line, State)]
            return len(states) == len(lines) and self._take_boxes(now, states, answer)
        assert box is not None
        if any(line.box != question.box or line.user != question.user for line in lines):
            return False
        if isinstance(question, Entries):
            found = [line for line in lines if isinstance(line, Entry)]
            return len(found) == len(lines) and self._take_entries(now, box, found, answer)
        messages = [line for line in lines if isinstance(line, Message) and line.guid in question.guids]
        if len(messages) < len(lines):
            return False
        self._take_messages(now, question, messages, answer)
        return True

    def _take_boxes(self, now: _Transfer, states: list[State], answer: Ok) -> bool:
        guids = [state.id for state in states]
        now.are_more = bool(answer.left)
        if guids != sorted(set(guids)) or (guids and guids[0] <= now.last_box) or (now.are_more and not guids):
            return False
        now.last_box = guids[-1] if guids else now.last_box
        now.boxes.extend(states)
        return True

    def _take_entries(self, now: _Transfer, box: _Box, found: list[Entry], answer: Ok) -> bool:
        """Whole up to where it says: what is not among them, the other has not."""
        end = answer.upto
        if end and (end <= box.after or (box.upto and end > box.upto)):
            return False
        if not end and box.upto:
            return False
        theirs = {each.guid: each for each in found}
        if any(guid <= box.after or (end and guid > end) for guid in theirs):
            return False
        if not answer.same:
            missing = self._compare(box, theirs, end, answer)
            now.result = now.result._replace(messages=now.result.messages + missing)
        box.after = end
        if not end:
            box.end_comparing()
        return True

    def _compare(self, box: _Box, theirs: dict[str, Entry], end: str, answer: Ok) -> int:
        """How many the other has not."""
        row = self._row(box)
        missing: list[Known] = []
        after = box.after
        while True:
            mine, after = entries(self.core.rows, row.guid, after, end, self._pages.compared)
            for each in mine:
                entry_there = theirs.get(each.guid)
                if entry_there is None:
                    missing.append(each._replace(row=None, gone=None))
                elif entry_there.digest == each.digest():
                    del theirs[each.guid]
            if not after:
                break
        for entry_there in theirs.values():
            box.want(entry_there)
        self._join_all(row, missing, {}, answer)
        return len(missing)

    def _take_messages(self, now: _Transfer, question: Messages, messages: list[Message], answer: Ok) -> None:
        told: dict[str, list[Message]] = {}
        for message in messages:
            told.setdefault(message.guid, []).append(message)
        known = {guid: known_of(guid, told.get(guid, ())) for guid in question.guids}
        now.page = _Page(question.guids, known, answer, {})
        self._complete(now, now.page)

    def _complete(self, now: _Transfer, page: _Page) -> None:
        """Ask for the texts that are not here, and join the page when all are: another mailbox may have lost one since
        it was looked for."""
        assert now.box is not None
        row = self._row(now.box)
        for guid, each in page.known.items():
            if guid not in page.texts and self.joiner.needs_text(row.user, row.guid, each):
                self._fetch(now, now.peer, row.user, guid)
        if not now.fetching:
            self._join(now, page)

    def _join(self, now: _Transfer, page: _Page) -> None:
        """All texts of a page are here, but of those messages that the other has no more: they are gone here as well,
        before an op tells so, since clients of other nodes may have seen them."""
        assert now.box is not None
        now.page = None
        known = [page.known[guid] for guid in page.guids]
        came = sum(text is not None for text in page.texts.values())
        now.result = now.result._replace(messages=now.result.messages + len(known), texts=now.result.texts + came)
        self._join_all(self._row(now.box), known, page.texts, page.answer)

    def _join_all(self, box: BoxRow, found: list[Known], texts: Texts, answer: Ok) -> None:
        effects, held = Effects(), {dot.origin: dot.seq for dot in answer.held}
        told = [
            each.guid
            for each in found
            if self.joiner.message(box.user, box.guid, each, texts.get(each.guid, NO_TEXT), held, effects)
        ]
        taken = effects.taken()
        for text in texts.values():
            if text is not None and text.name not in taken:
                self.core.let_go(text.name)
        if told:
            row = self.core.rows.box(box.guid)
            assert row is not None
            effects.crossed.append(Crossed(row, tuple(told), modseq_after(row.highest)))
        self.core.take(effects)

    # The end

    def _give_up(self) -> None:
        """It is begun anew, with whoever answers SYNC so."""
        now, self._now = self._now, None
        self.core.causal.coming = {}
        page = None if now is None else now.page
        for text in page.texts.values() if page is not None else ():
            self.core.let_go((text or NO_TEXT).name)
        if now is not None and now.only is not None:
            self.core.reply(now.only.client, now.only.tag, No(reason=Reason.FAILED))
        self.core.drain()

    def _end(self, now: _Transfer) -> None:
        assert now.begin is not None
        self._now = None
        self.core.causal.coming = {}
        if now.only is not None:
            self.last = now.result
            self.core.note("resync_done", f"{now.only.user} {now.only.box} by {now.peer}: {shown(now.result)}")
            self.core.reply(now.only.client, now.only.tag, Ok())
            return
        self.core.jump(now.begin)
        self.core.note("resync_by_state_done", now.peer)
        self._on_end(now.peer)


def _is_wanted(answer: Ok, known: Known) -> bool:
    """Is it the text that was told of?"""
    return known.row is None or not known.row.sums or answer.sum == known.row.sums
