"""The program `doveadm` of this node's Dovecot: called, waited for, and what it says.

Not here: what it is asked for (doveadm.py, doveadm_mail.py).
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, final

from pyrepl.daemon.mailbox.left_over import end_holders
from pyrepl.daemon.mailbox.maildirs_place import NotThere
from pyrepl.words import to_text

PATIENCE_S: Final = 30.0
"""How long one command may take: it waits for the lock of the mailbox."""
MOST_UIDS: Final = 5000
"""In one command."""
MOST_SAID: Final = 300
"""Characters of what it says that are told."""
LOCK: Final = "doveadm.lock"
"""The file whose lock each doveadm has as long as it lives, so that one which outlives its daemon is known."""
_PROCESS: Final = re.compile(r"(?<=\))(<[^<>]*>)+")
"""What Dovecot says of a process: another one would be another reason."""
_NO_MAILBOX: Final = frozenset({64, 65, 68})
"""It ends so where there is no mailbox of this name; 64 and 65 where none can have it, for its separator or prefix."""


class DoveadmError(NotThere):
    """It failed; the text is for people. Nothing is concluded from what it did not tell."""


class NoMailbox(DoveadmError):
    """There is none of this name, or none can have it."""


def why_no_one(user: str) -> str:
    """Why this name cannot be asked for, "" if it can: doveadm takes it as a mask, and does what is asked to all whom
    it fits."""
    if not set(user) & set("*?"):
        return ""
    return (
        f"{user}: to doveadm * and ? mean any other user, so nobody can be called so (MAILBOX JOIN * alone means all)"
    )


def of_user(user: str) -> tuple[str, str]:
    """The words that name one user. Raises DoveadmError."""
    if why := why_no_one(user):
        raise DoveadmError(why)
    return "-u", user


@final
class DoveadmProgram:
    """The program, with what stands before its own words. Its methods wait for it, and raise DoveadmError."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command: Final = tuple(command)
        self._lock: tuple[int, ...] = ()
        """The descriptor that each process gets; none before `hold`."""
        self._running: Final[set[subprocess.Popen[bytes]]] = set()
        self._guard: Final = threading.Lock()
        self._is_over = False

    def hold(self, folder: Path) -> None:
        """From now on nobody else has this lock, which all that is called has too. Ends what a daemon called that was
        killed: it would do its work after all was compared. Raises DoveadmError if that lives on, and OSError."""
        path = folder / LOCK
        found = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

        def is_free() -> bool:
            with suppress(BlockingIOError):
                fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            return False

        left = [] if is_free() else end_holders(path, is_free)
        if not is_free():
            os.close(found)
            who = f" (process {', '.join(map(str, left))})" if left else ""
            raise DoveadmError(
                f"a doveadm that was called before the start is still at work{who}, and cannot be ended; who has"
                f" {path} open tells lsof"
            )
        self._lock = (found,)

    def end(self, how: signal.Signals) -> None:
        """What is called now is ended, and nothing is called any more."""
        with self._guard:
            self._is_over = True
            for process in self._running:
                _signal(process, how)

    def close(self) -> None:
        """Nothing is called any more; what lives has the lock on. Else nobody has, whoever was forked meanwhile."""
        with self._guard:
            # One that is being called now has the lock, and counts as running only when that is done.
            self._is_over = True
            for each in self._lock:
                if not self._running:
                    fcntl.flock(each, fcntl.LOCK_UN)
                os.close(each)
            self._lock = ()

    def run(self, *words: str, text: bytes = b"") -> bytes:
        """What it says to these words; it is given the text. Raises NoMailbox too."""
        try:
            process = self._begun(words)
        except OSError as error:
            raise DoveadmError(f"{self._command[0]}: {error.strerror}") from None
        try:
            with process:
                out, err = _said(process, text)
        finally:
            with self._guard:
                self._running.discard(process)
        if process.returncode:
            said = _PROCESS.sub("", " ".join(err.decode("utf-8", "replace").split()))[:MOST_SAID]
            kind = NoMailbox if process.returncode in _NO_MAILBOX else DoveadmError
            raise kind(f"doveadm ended with {process.returncode}: {said}")
        return out

    def rows(self, *words: str) -> list[dict[str, str]]:
        """As `run`, of a command that answers with rows of fields."""
        said = self.run("-f", "json", *words)
        try:
            found = json.loads(to_text(said))
            return [{key: str(value) for key, value in row.items()} for row in found]
        except (ValueError, AttributeError, TypeError):
            raise DoveadmError(f"doveadm said {said[:MOST_SAID]!r}, not rows") from None

    def _begun(self, words: Sequence[str]) -> subprocess.Popen[bytes]:
        """With a group of its own: a script that calls the program is ended with it. Raises DoveadmError, OSError."""
        pipe = subprocess.PIPE
        with self._guard:
            if self._is_over:
                raise DoveadmError("nothing is asked of doveadm any more, as the node ends")
            process = subprocess.Popen(
                [*self._command, *words],
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                pass_fds=self._lock,
                start_new_session=True,
            )
            self._running.add(process)
        return process


def _said(process: subprocess.Popen[bytes], text: bytes) -> tuple[bytes, bytes]:
    """What it says, and what it complains of. Raises DoveadmError if it does not end in time."""
    try:
        return process.communicate(text, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        _signal(process, signal.SIGKILL)
        raise DoveadmError(f"doveadm has not ended in {PATIENCE_S:.0f} s") from None


def _signal(process: subprocess.Popen[bytes], how: signal.Signals) -> None:
    if process.poll() is None:
        with suppress(OSError):
            os.killpg(process.pid, how)
