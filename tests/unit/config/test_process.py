"""The rows about the process: values beside those of a real server, and the rows' place among the others."""

from __future__ import annotations

from pyrepl.config.directive import Directive
from pyrepl.config.directives import GROUPS
from pyrepl.config.process import Process
from pyrepl.config.settings import Settings


def test_the_rows_are_a_group_of_their_own() -> None:
    rows = {row for row in vars(Process).values() if isinstance(row, Directive)}
    assert [set(group) for title, group in GROUPS if title == Process.__doc__] == [rows]


def test_options_of_a_signal_are_shown_in_one_order() -> None:
    settings = Settings()
    assert settings.get("shutdown-on-sigint") == b"default"
    settings.set("shutdown-on-sigint", b"FORCE now nosave")
    assert settings.get("shutdown-on-sigint") == b"nosave now force"
    assert settings.get("shutdown-on-sigterm") == b"default"
