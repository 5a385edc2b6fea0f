"""What is asked of an analysis."""

from __future__ import annotations

from pyrepl.analysis.asked import Asked


def test_all_of_the_logs_on_this_machine_and_nothing_kept_unless_said() -> None:
    asked = Asked(("log",))
    assert (asked.out, asked.master, asked.since_us, asked.until_us, asked.zone) == (None, "", None, None, "UTC")
