"""Why nothing is open is remembered, and told neither too often nor never."""

from __future__ import annotations

from typing import cast

from pyrepl.daemon.mailbox.trouble import TOLD_EVERY_S, Trouble
from pyrepl.observability.telling.mailboxes import MailboxTeller


class Told:
    """What the log has."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def refused(self, reason: str) -> None:
        self.lines.append(f"refused {reason}")

    def begun_again(self, error: str) -> None:
        self.lines.append(f"again {error}")

    def kept_again(self, reason: str, seconds: float) -> None:
        self.lines.append(f"kept {reason} {seconds:.0f}")


class Rig:
    def __init__(self) -> None:
        self.now = 100.0
        self.told = Told()
        self.trouble = Trouble(cast("MailboxTeller", self.told), lambda: self.now)


def test_it_is_told_when_it_begins_each_minute_and_when_it_is_over() -> None:
    rig = Rig()
    for _ in range(int(TOLD_EVERY_S) + 1):
        rig.trouble.disk_refuses("gone")
        rig.now += 1.0
    assert rig.told.lines == ["refused gone"] * 2
    assert rig.trouble.why == "gone" and rig.trouble.for_s == TOLD_EVERY_S + 1
    rig.trouble.over()
    assert rig.told.lines[2:] == ["kept gone 61"] and rig.trouble.why == "" and rig.trouble.for_s == 0.0


def test_another_reason_is_told_and_lasts_from_the_first_one_on() -> None:
    rig = Rig()
    rig.trouble.disk_refuses("gone")
    rig.now += 5.0
    rig.trouble.cannot_open("no database")
    rig.trouble.cannot_open("no database")
    assert rig.told.lines == ["refused gone", "again no database"] and rig.trouble.for_s == 5.0


def test_what_was_over_is_told_when_it_comes_back() -> None:
    rig = Rig()
    rig.trouble.over()
    assert rig.told.lines == []
    for _ in range(2):
        rig.trouble.disk_refuses("gone")
        rig.trouble.over()
    assert rig.told.lines == ["refused gone", "kept gone 0"] * 2
