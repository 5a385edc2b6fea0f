"""`pyrepl tail`: a stream of a node on the screen, row by row (screen.py), or into files (pyrepl.capture).

Here is what is asked of both, what is said of connections and errors, and the exit status.
"""

from __future__ import annotations

import asyncio
import os
import signal
import ssl
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, final

from pyrepl.capture.files import Capture, Folder, Rolling
from pyrepl.capture.formats import JSON_LINES, PARQUET, why_not_here
from pyrepl.capture.matching import Matching
from pyrepl.capture.names import FolderError
from pyrepl.changes.client import ClientOptions, Connected, Notice, Subscription, subscribe
from pyrepl.changes.place import Place
from pyrepl.changes.refusals import (
    ForkedHistory,
    NotAStreamPort,
    TokenTooOld,
    UnknownStream,
    UnknownToken,
    WrongPassword,
)
from pyrepl.changes.token_file import TokenFile
from pyrepl.errors import PyreplError

from ..pages import NOT_TO_BE_HAD, OK, TROUBLE
from ..stream_port import STREAM_PORT, where_it_is
from .screen import SCREENS

_REPEAT_AFTER_S: Final = 60.0


class Options(NamedTuple):
    """What the command line asked for."""

    nodes: tuple[str, ...]
    stream: str
    start: Place
    pattern: str
    form: str
    most_rows: int
    """Rows after which it ends; 0: never."""
    token_file: Path | None
    folder: Path | None
    rolling: Rolling
    name: str
    user: str
    password: str
    tls: ssl.SSLContext | None
    quiet: bool

    def __repr__(self) -> str:
        return f"Options(nodes={self.nodes!r}, stream={self.stream!r}, ...)"


def run(options: Options) -> int:
    """Follow the stream until Ctrl-C, SIGTERM, the last row asked for, or an error; the exit status."""
    telling = Telling(len(options.nodes))
    try:
        return asyncio.run(_until_signalled(options, telling))
    except BrokenPipeError:
        # Whoever read along (`| head`) has gone; Python must not stumble over that again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except (TokenTooOld, ForkedHistory) as refusal:
        _say(f"{telling.not_said(str(refusal))}{_advice(refusal, options)}")
        return NOT_TO_BE_HAD
    except (PyreplError, FolderError, ValueError) as error:
        _say(f"{telling.not_said(str(error))}{_advice(error, options)}")
        return TROUBLE
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _say(f"{where}{error.strerror or error}. {_after_a_fault(options)}")
        return TROUBLE


def _after_a_fault(options: Options) -> str:
    """A sentence for an error of the disk: what is kept all the same."""
    if options.folder is not None:
        return "What was finished is kept; start again to go on behind it"
    return "The token could not be kept there: the next start shows again what came since it was kept last"


async def _until_signalled(options: Options, telling: Telling) -> int:
    """Follow until the end, which SIGINT and SIGTERM bring as an ordinary one: rows taken are kept, the token is
    saved."""
    following = asyncio.ensure_future((_capture if options.folder is not None else _show)(options, telling))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, following.cancel)
    with suppress(asyncio.CancelledError):
        await following
    return OK


def _subscription(options: Options, telling: Telling, start: Place, store: TokenFile | None) -> Subscription:
    return subscribe(
        options.nodes,
        options.stream,
        start,
        store=store,
        name=options.name,
        user=options.user,
        password=options.password,
        options=ClientOptions(tls=options.tls),
        notice=_ignore if options.quiet else telling,
    )


async def _show(options: Options, telling: Telling) -> None:
    store = TokenFile(options.token_file) if options.token_file is not None else None
    if store is not None and not store.path.parent.is_dir():
        raise FolderError(f"cannot keep the token in {store.path}: there is no folder {store.path.parent}")
    matching = Matching(options.pattern)
    screen = SCREENS[options.form](options.stream)
    shown = 0
    async with _subscription(options, telling, options.start, store) as rows:
        while True:
            batch = await rows.next_batch()
            wanted = [row for row in batch.each() if matching.takes(row)]
            if wanted:
                sys.stdout.write("".join(f"{line}\n" for row in wanted for line in screen.lines(row)))
                sys.stdout.flush()
                shown += len(wanted)
            # Shown is had: Ctrl-C must not bring it again.
            rows.confirm()
            if options.most_rows and shown >= options.most_rows:
                return


async def _capture(options: Options, telling: Telling) -> None:
    assert options.folder is not None
    suffix = PARQUET if options.form == PARQUET else JSON_LINES
    missing = why_not_here(suffix)
    if missing is not None:
        raise FolderError(missing)
    with _opened(options.folder, options.stream, suffix) as folder:
        folder.begin(options.start)
        start = folder.place or options.start
        if not options.quiet:
            _say(f"{options.folder}: from token {start}")
        capture = Capture(folder, options.rolling, Matching(options.pattern))
        async with _subscription(options, telling, start, None) as changes:
            await capture.run(changes)


def _opened(path: Path, stream: str, suffix: str) -> Folder:
    """Open the folder for --to. Raises FolderError, also for an error of the system: nothing is written yet."""
    try:
        return Folder(path, stream, suffix)
    except OSError as error:
        raise FolderError(
            f"cannot write to the folder {path}: {error.strerror or error}"
            f"{f' ({error.filename})' if error.filename and str(error.filename) != str(path) else ''}."
            " Give --to a folder that this user may make and write to"
        ) from None


@final
class Telling:
    """Tells on stderr of connections made and lost. The same sentence is told again only after a minute.

    Where one node alone is followed, the error that ends the program is left to its last line, which adds what to do.
    """

    def __init__(self, nodes: int) -> None:
        """`nodes`: how many nodes are tried in turn."""
        self._nodes = nodes
        self._said: dict[str, float] = {}
        self._reasons: set[str] = set()

    def __call__(self, notice: Notice) -> None:
        if isinstance(notice, Connected):
            history = f", history {notice.history}" if notice.history else ""
            self._tell(f"{notice.address}: connected to {notice.node}{history}")
        elif notice.retry_s is not None:
            self._reasons.add(notice.why)
            self._tell(f"{notice.address}: {notice.why}; trying {'again' if self._nodes == 1 else 'the next node'}")
        elif self._nodes > 1:
            self._reasons.add(notice.why)
            self._tell(f"{notice.address}: {notice.why}")

    def not_said(self, reason: str) -> str:
        """The reason why it ends, or what stands for it where that was said of a node already."""
        is_said = any(said.endswith(reason) for said in self._reasons)
        return "none of the nodes goes on with this" if is_said else reason

    def _tell(self, text: str) -> None:
        now = time.monotonic()
        self._said = {said: at for said, at in self._said.items() if now - at < _REPEAT_AFTER_S}
        if text not in self._said:
            self._said[text] = now
            _say(text)


def _ignore(notice: Notice) -> None:
    pass


def _say(text: str) -> None:
    sys.stderr.write(f"pyrepl tail: {text}\n")
    sys.stderr.flush()


def _advice(error: Exception, options: Options) -> str:
    """What to do about it."""
    if isinstance(error, TokenTooOld):
        return f"{_begin_anew(options)}. A larger repl-backlog-size on the node bridges longer pauses"
    if isinstance(error, ForkedHistory):
        return _begin_anew(options)
    if isinstance(error, WrongPassword):
        return ". See PYREPL_PASSWORD, --password and --user"
    if isinstance(error, UnknownToken):
        return ". --from takes a token that was shown, or NOW"
    if isinstance(error, UnknownStream):
        return ". --stream names one of those"
    if isinstance(error, NotAStreamPort):
        return f". {where_it_is(options.nodes, options.user, options.password) if error.is_redis else STREAM_PORT}"
    return ""


def _begin_anew(options: Options) -> str:
    """What keeps --from from being obeyed."""
    if options.folder is not None:
        return ". --from counts in a new folder only: give --to another one"
    if options.token_file is not None and options.token_file.exists():
        return f". The saved token comes before --from: remove {options.token_file} to begin anew"
    return ""
