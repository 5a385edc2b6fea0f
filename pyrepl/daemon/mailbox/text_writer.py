"""Texts that come by a connection, on their way into the drop folder: written as they come, by one thread.

The thread waits for the disk, the event loop does not. What is done is told in the loop, in order, and together for
all that waited: texts mostly come by many, and then one round of the machine takes them. Not here: the folder
(drop_folder.py), and connections, which stop reading while too much waits here (talk_conn.py).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple, TypeAlias, final

from pyrepl.daemon.mailbox.drop_folder import DropFolder, IncomingText, WrongText
from pyrepl.mailbox.words import Dot


class Kept(NamedTuple):
    """A text that has come: its name in the drop folder and its checksums, or why it could not be kept. `is_wrong`: it
    is not what its line said, so it would be as wrong the next time."""

    name: str = ""
    sums: tuple[int, ...] = ()
    why: str = ""
    is_wrong: bool = False


Done: TypeAlias = Callable[[Kept], None]
"""Called in the loop when a text is on disk, or cannot be kept."""
Told: TypeAlias = Callable[[], None]
"""Tells, in the loop, what came of something that was done in the thread."""
MOST_AT_ONCE: Final = 256
"""Pieces that are written before it is told."""


@final
class TextWriter:
    """The thread.

    Invariant: `_is_writing` while the thread has been told to write, and what it wrote is not told yet; then it sees to
    all of `_waiting`, or `_tell` does.
    """

    def __init__(self, drop: DropFolder) -> None:
        self.drop: Final = drop
        self._thread: Final = ThreadPoolExecutor(1, thread_name_prefix="mailbox-texts")
        self._loop: Final = asyncio.get_running_loop()
        self._waiting: Final[deque[Callable[[], Told]]] = deque()
        self.half: Final[set[IncomingText]] = set()
        """Texts that lie in the folder and are not whole; the thread's."""
        self._is_writing = False
        self._is_over = False

    def begin(self, dot: Dot, guid: str, received: int, size: int, sums: tuple[int, ...], done: Done) -> ComingText:
        """A text begins to come, for the op or the command with these words."""
        return ComingText(self, (dot, guid, received, size, sums), done)

    def remove(self, names: Iterable[str]) -> None:
        """Texts that nobody needs any more; what is gone already is well."""
        self._thread.submit(self.drop.remove, tuple(names))

    def write(self, piece: Callable[[], Told]) -> None:
        """Have something done in the thread, behind all that was asked for before."""
        self._waiting.append(piece)
        self._begin()

    def stop(self) -> None:
        """What is under way ends; nothing else is begun. What is half goes at once: it may be what fills the disk. May
        be asked again."""
        if not self._is_over:
            self._is_over = True
            self._thread.submit(self._abandon_half)
            self._thread.shutdown(wait=False)

    def wait(self) -> None:
        """Until that has ended."""
        self._thread.shutdown(wait=True)

    def _abandon_half(self) -> None:
        for text in self.half:
            with suppress(OSError):
                text.abandon()

    def _begin(self) -> None:
        if self._waiting and not self._is_writing and not self._is_over:
            self._is_writing = True
            self._thread.submit(self._write)

    def _write(self) -> None:
        """In the thread."""
        told: list[Told] = []
        try:
            while self._waiting and not self._is_over and len(told) < MOST_AT_ONCE:
                told.append(self._waiting.popleft()())
        finally:
            self._loop.call_soon_threadsafe(self._tell, told)

    def _tell(self, told: list[Told]) -> None:
        self._is_writing = False
        self._begin()
        for each in told:
            self._loop.call_soon(each)


@final
class ComingText:
    """One text. `waiting_bytes` have come and are not written yet."""

    def __init__(self, writer: TextWriter, what: tuple[Dot, str, int, int, tuple[int, ...]], done: Done) -> None:
        """`what`: as `TextWriter.begin` has it."""
        self.waiting_bytes = 0
        self._writer: Final = writer
        self._what: Final = what
        self._done: Final = done
        self._text: IncomingText | None = None
        self._why = ""
        self._is_wrong = False

    def add(self, data: bytes, is_last: bool) -> None:
        """The next piece."""
        self.waiting_bytes += len(data)
        self._writer.write(partial(self._add, data, is_last))

    def abandon(self) -> None:
        """No more will come."""
        self._writer.write(self._abandoned)

    # In the thread

    def _add(self, data: bytes, is_last: bool) -> Told:
        kept = Kept()
        try:
            if not self._why:
                kept = self._write(data, is_last)
        except OSError as error:
            self._fail(f"{error.strerror or error}: is the disk of the Maildirs full, or not mounted?")
        except WrongText as error:
            self._is_wrong = True
            self._fail(str(error))
        told = kept._replace(why=self._why, is_wrong=self._is_wrong)
        return partial(self._written, len(data), is_last, told)

    def _write(self, data: bytes, is_last: bool) -> Kept:
        dot, guid, received, size, sums = self._what
        if self._text is None:
            self._text = self._writer.drop.begin(dot, guid)
            self._writer.half.add(self._text)
        self._text.write(data)
        if not is_last:
            return Kept()
        found = self._text.finish(received, size, sums)
        self._writer.half.discard(self._text)
        return Kept(self._text.name, found)

    def _fail(self, why: str) -> None:
        self._why = why
        self._abandon()

    def _abandoned(self) -> Told:
        self._abandon()
        return _say_nothing

    def _abandon(self) -> None:
        if self._text is not None:
            self._writer.half.discard(self._text)
            try:
                self._text.abandon()
            except OSError as error:
                self._why = self._why or str(error)

    # In the loop

    def _written(self, size: int, is_last: bool, kept: Kept) -> None:
        self.waiting_bytes -= size
        if is_last:
            self._done(kept)


@final
class RefusedText:
    """One that is not kept: what comes of it is let go, and it is told why when it is over."""

    def __init__(self, why: str, done: Done) -> None:
        self.waiting_bytes = 0
        self._why: Final = why
        self._done: Final = done

    def add(self, data: bytes, is_last: bool) -> None:
        """The next piece."""
        if is_last:
            self._done(Kept(why=self._why))

    def abandon(self) -> None:
        """No more will come."""


def _say_nothing() -> None:
    pass
