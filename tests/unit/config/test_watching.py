"""The rows about logs of commands: Valkey's names for those of Redis, and the rows' place among the others."""

from __future__ import annotations

from pyrepl.config.directive import Directive
from pyrepl.config.directives import GROUPS
from pyrepl.config.settings import Settings
from pyrepl.config.watching import Watching


def test_the_rows_are_a_group_of_their_own() -> None:
    rows = {row for row in vars(Watching).values() if isinstance(row, Directive)}
    assert [set(group) for title, group in GROUPS if title == Watching.__doc__] == [rows]


def test_the_slow_log_has_two_names() -> None:
    settings = Settings()
    settings.set("commandlog-execution-slower-than", b"5")
    settings.set("commandlog-slow-execution-max-len", b"6")
    assert (settings.slowlog_log_slower_than, settings.slowlog_max_len) == (5, 6)
    assert settings.get("slowlog-log-slower-than") == b"5"
