"""One connection of the mailbox protocol: the shell around pyrepl.mailbox.talk, between a socket and its owner.

What is heard is told to the owner in order, each command when its text is on disk; what elections and leases are about
is told at once. While much of it waits for the disk
or for the node, nothing is read. Texts that go out are read piece by piece by the user's worker, when the socket has
room for them.

Not here: who may connect and what becomes of what is heard (server.py).
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final, Protocol, final

from pyrepl.daemon.mailbox.sockets import TalkSocket
from pyrepl.daemon.mailbox.text_writer import Kept
from pyrepl.mailbox.answers import Bad, No, Ok, Reason
from pyrepl.mailbox.outgoing import PieceWanted, TextOf, TextWanted, overtakes
from pyrepl.mailbox.talk import Came, Event, Lost, Opened, Talk, TextCame
from pyrepl.mailbox.verbs import Command

LINGER_S: Final = 2.0
"""How many seconds the other end has to read the last bytes before its connection is cut."""
MOST_WAITING: Final = 256
"""Commands that may wait for the disk or the node before reading stops."""
MOST_WAITING_BYTES: Final = 1024 * 1024
"""Of texts that have come and are not written yet."""


class Coming(Protocol):
    """A text that comes. `waiting_bytes` have come and are not written yet."""

    waiting_bytes: int

    def add(self, data: bytes, is_last: bool) -> None:
        """The next piece."""

    def abandon(self) -> None:
        """No more will come."""


class Owner(Protocol):
    """What a connection asks and tells its owner. Answers may come in a later turn of the loop."""

    def now(self) -> float: ...

    def opened(self, conn: TalkConn, opened: Opened) -> None: ...

    def coming(self, conn: TalkConn, came: Came) -> Coming:
        """A text begins to come; tell `conn.text_done` when it is on disk."""

    def heard(self, conn: TalkConn, tag: str, command: Command, text: str) -> None:
        """A command, whose text has this name in the drop folder; call `conn.taken` when the node has heard it. One
        that overtakes others is to be heard before those that wait."""

    def wrong_text(self, conn: TalkConn, why: str) -> None:
        """A node sent a text that is not what its line says; it is heard without it."""

    def wants_text(self, conn: TalkConn, wanted: TextWanted) -> None:
        """Tell `conn.text_is` how large the text is, or why there is none."""

    def wants_piece(self, conn: TalkConn, wanted: TextWanted, start: int, size: int) -> None:
        """Give `conn.add_piece` these bytes of a text."""

    def lost(self, conn: TalkConn, lost: Lost) -> None:
        """It is over. The last bytes may still be on their way: it is ticked until it has `ended`."""

    def ended(self, conn: TalkConn) -> None:
        """Its socket is closed."""


class _Heard:
    """A command that waits for its turn."""

    def __init__(self, tag: str, command: Command, coming: Coming | None) -> None:
        self.tag = tag
        self.command = command
        self.coming = coming
        self.kept = Kept()
        self.is_all_here = coming is None
        """Has all of its text come?"""
        self.is_whole = coming is None
        """And is it on disk?"""


@final
class TalkConn:
    """The shell of one end. `transport` is set from `enter` on."""

    transport: TalkSocket

    def __init__(self, owner: Owner, talk: Talk, addr: str) -> None:
        """`addr`: the other end's, for the log."""
        self.talk: Final = talk
        self.addr: Final = addr
        self._owner: Final = owner
        self._queue: deque[_Heard] = deque()
        self._under_way = 0
        """Commands that the owner has, and the node has not heard yet."""
        self._is_paused = False
        self.is_held = False
        """Others are heard before this one: what it says next waits, and nothing is read."""
        self._sending: tuple[TextWanted, int] | None = None
        """The text that goes out, and its next byte."""
        self._is_working = False
        self._close_by: float | None = None
        self.over: asyncio.Future[None] | None = None
        """Done when the connection has ended, if somebody waits for that."""
        self._lost: Lost | None = None
        """Why this is over, until the owner is told: behind all that was whole."""

    def enter(self, transport: TalkSocket) -> None:
        """Talk over `transport` from now on."""
        self.transport = transport
        self.work()

    # What the socket calls

    def data_received(self, data: bytes) -> None:
        self.talk.receive(data, self._owner.now())
        self.work()

    def resume_writing(self) -> None:
        self.work()

    def connection_lost(self, why: str) -> None:
        self.talk.close(why or "the other end closed it")
        self.work()
        self._owner.ended(self)
        if self.over is not None and not self.over.done():
            self.over.set_result(None)

    # What the owner calls

    def say(self, command: Command, tag: str, text_of: TextOf | None = None) -> None:
        self.talk.say(command, tag, self._owner.now(), text_of)
        self.work()

    def taken(self) -> None:
        """The node has heard one more command."""
        self._under_way -= 1
        self._review_reading()

    def hold(self, is_held: bool) -> None:
        """Let nothing of it be heard, or hear it again."""
        self.is_held = is_held
        self._hand_on()
        self._review_reading()

    def text_done(self, coming: Coming, kept: Kept) -> None:
        """A text that came is on disk, or is not."""
        for each in self._queue:
            if each.coming is coming:
                each.kept, each.is_whole = kept, True
        self._hand_on()

    def text_is(self, size: int | Reason) -> None:
        """The text that was wanted has so many bytes; NOUID: it is not there, FAILED: it cannot be read now."""
        self.talk.no_text(size) if isinstance(size, Reason) else self.talk.text_is(size)
        self.work()

    def add_piece(self, data: bytes) -> None:
        """The bytes that were wanted; none if they cannot be read."""
        if self._sending is not None:
            self._sending = self._sending[0], self._sending[1] + len(data)
        self.talk.add_piece(data)
        self.work()

    def close(self, reason: str) -> None:
        self.talk.close(reason)
        self.work()

    def refuse(self, reason: str) -> None:
        """Close, and say why."""
        self.talk.refuse(reason)
        self.work()

    def tick(self, now: float) -> None:
        if self._close_by is not None and now >= self._close_by:
            self.transport.cut()
        if self._is_paused:
            self.talk.is_unread(now)
        self.talk.tick(now)
        self.work()

    def work(self) -> None:
        """Write what can be written, and pass on what was heard. What the owner answers meanwhile is part of it."""
        if self._is_working:
            return
        self._is_working = True
        try:
            while self._work_once():
                pass
        finally:
            self._is_working = False
        self._review_reading()

    def _work_once(self) -> bool:
        """False if there was nothing to do."""
        self.talk.unsent = self.transport.unsent
        pieces = self.talk.data_to_send()
        if pieces:
            self.transport.write(pieces)
        events = self.talk.events()
        for event in events:
            self._on(event)
        return bool(pieces or events)

    # Inside

    def _on(self, event: Event) -> None:
        if isinstance(event, Came) and overtakes(event.command) and not event.has_text:
            self._under_way += 1
            self._owner.heard(self, event.tag, event.command, "")
        elif isinstance(event, Came):
            coming = self._owner.coming(self, event) if event.has_text else None
            self._queue.append(_Heard(event.tag, event.command, coming))
            self._hand_on()
        elif isinstance(event, TextCame):
            last = self._queue[-1]
            assert last.coming is not None
            last.is_all_here = event.is_last
            last.coming.add(event.data, event.is_last)
        elif isinstance(event, TextWanted):
            self._sending = event, 0
            self._owner.wants_text(self, event)
        elif isinstance(event, PieceWanted):
            assert self._sending is not None
            self._owner.wants_piece(self, *self._sending, event.size)
        elif isinstance(event, Opened):
            self._owner.opened(self, event)
        else:
            self._end(event)

    def _hand_on(self) -> None:
        """Whatever is whole, up to the first that is not."""
        while self._queue and self._queue[0].is_whole and not (self.is_held and self._lost is None):
            each = self._queue.popleft()
            if each.kept.is_wrong and self._is_of_node(each.command):
                self._hear_without_text(each)
                continue
            if each.kept.why:
                self._refuse_text(each)
                continue
            command = each.command
            if each.kept.sums and not command.__dict__.get("sum"):
                command = command.replaced(sum=each.kept.sums)
            self._hear(each.tag, command, each.kept.name)
        if not self._queue and self._lost is not None:
            lost, self._lost = self._lost, None
            self._owner.lost(self, lost)

    def _hear(self, tag: str, command: Command, text: str) -> None:
        self._under_way += 1
        self._owner.heard(self, tag, command, text)

    def _is_of_node(self, command: Command) -> bool:
        return isinstance(command, Ok | No | Bad) or command.__dict__.get("at") is not None

    def _hear_without_text(self, each: _Heard) -> None:
        """A node's text is another one than its line says, and would be so again: somebody else may have the right
        one."""
        self._owner.wrong_text(self, each.kept.why)
        is_answer = isinstance(each.command, Ok)
        self._hear(each.tag, No(reason=Reason.FAILED, why=each.kept.why) if is_answer else each.command, "")

    def _refuse_text(self, each: _Heard) -> None:
        """A text could not be kept. A mail process is told so; a node is left, and sends it again after SYNC."""
        if self._is_of_node(each.command):
            self.refuse(each.kept.why)
        else:
            self.say(No(reason=Reason.FAILED, why=each.kept.why), each.tag)

    def _review_reading(self) -> None:
        waiting = len(self._queue) + self._under_way
        size = sum(each.coming.waiting_bytes for each in self._queue if each.coming is not None)
        much = self.is_held or waiting >= MOST_WAITING or size >= MOST_WAITING_BYTES
        if much and not self._is_paused:
            self._is_paused = True
            self.transport.read_on(False)
        elif self._is_paused and waiting < MOST_WAITING // 2 and size < MOST_WAITING_BYTES // 2:
            self._is_paused = False
            self.transport.read_on(True)

    def _end(self, lost: Lost) -> None:
        """It is over: what came half is dropped, what came whole is still handed on."""
        self._close_by = self._owner.now() + LINGER_S
        self.transport.close_if_read()
        if self._queue and not self._queue[-1].is_all_here:
            half = self._queue.pop().coming
            assert half is not None
            half.abandon()
        self._lost = lost
        self._hand_on()
