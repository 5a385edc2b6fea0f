"""The program `doveadm` of this node's Dovecot: called, waited for, and what it says.

Not here: what it is asked for (doveadm.py, doveadm_mail.py).
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final, final

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

    def hold(self, folder: Path) -> None:
        """From now on nobody else has this lock, which all that is called has too. Raises DoveadmError while one lives
        that a daemon called which was killed: it would do its work after all was compared. Raises OSError."""
        found = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(found)
            raise DoveadmError(
                "a doveadm that was called before the start is still at work, and is waited for"
            ) from None
        self._lock = (found,)

    def close(self) -> None:
        """Nothing is called any more; what lives has the lock on."""
        for each in self._lock:
            os.close(each)
        self._lock = ()

    def run(self, *words: str, text: bytes = b"") -> bytes:
        """What it says to these words; it is given the text. Raises NoMailbox too."""
        try:
            done = subprocess.run(
                [*self._command, *words],
                input=text,
                capture_output=True,
                timeout=PATIENCE_S,
                check=False,
                pass_fds=self._lock,
            )
        except OSError as error:
            raise DoveadmError(f"{self._command[0]}: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise DoveadmError(f"doveadm has not ended in {PATIENCE_S:.0f} s") from None
        if done.returncode:
            said = _PROCESS.sub("", " ".join(done.stderr.decode("utf-8", "replace").split()))[:MOST_SAID]
            kind = NoMailbox if done.returncode in _NO_MAILBOX else DoveadmError
            raise kind(f"doveadm ended with {done.returncode}: {said}")
        return done.stdout

    def rows(self, *words: str) -> list[dict[str, str]]:
        """As `run`, of a command that answers with rows of fields."""
        said = self.run("-f", "json", *words)
        try:
            found = json.loads(to_text(said))
            return [{key: str(value) for key, value in row.items()} for row in found]
        except (ValueError, AttributeError, TypeError):
            raise DoveadmError(f"doveadm said {said[:MOST_SAID]!r}, not rows") from None
