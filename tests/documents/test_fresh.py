"""What `make fresh` runs, and `make demo` on a bare Debian 12 by it."""

from __future__ import annotations

import os

import pytest

from tests.fresh.__main__ import planned, tried


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can enter the root of another Debian")
@pytest.mark.timeout(1800)
def test_the_demo_runs_on_a_bare_machine() -> None:
    assert tried("demo", "bookworm").trouble == ""


def test_all_is_every_step_that_a_suite_can_do() -> None:
    assert ("trixie", "test") in planned(["all"], ["trixie", "noble"])
    assert ("noble", "test") not in planned(["all"], ["trixie", "noble"])
    assert ("noble", "compiled") in planned(["all"], ["trixie", "noble"])


def test_make_test_is_not_run_unless_it_is_asked_for() -> None:
    assert planned([], ["bookworm"]) == [("bookworm", step) for step in ("demo", "pure", "compiled", "pipx", "uv")]
    assert planned(["test"], ["noble"]) == []
