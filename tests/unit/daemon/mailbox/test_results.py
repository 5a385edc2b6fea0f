"""Why a work failed, in the disk's words."""

from __future__ import annotations

from pyrepl.daemon.mailbox.results import failed
from pyrepl.errors import CorruptData
from pyrepl.mailbox.store import Outcome, Result


def test_reasons() -> None:
    full = OSError(28, "No space left on device", b"/mail/a\xc3\xa9")
    assert failed(full) == Result(Outcome.FAILED, "/mail/aé: No space left on device")
    assert failed(OSError(5, "Input/output error")).reason == "Input/output error"
    assert failed(CorruptData("no list", 3)).reason == "no list (at byte 3)"
