"""What `make fresh` runs, and `make demo` on a bare Debian 12 by it."""

from __future__ import annotations

import os

import pytest

from tests.fresh.__main__ import USUAL, planned, tried
from tests.fresh.mailboxes import AS_SECOND, PAGE, SECTIONS, section


@pytest.mark.matrix
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can enter the root of another Debian")
@pytest.mark.timeout(1800)
def test_the_demo_runs_on_a_bare_machine() -> None:
    assert tried("demo", "bookworm").trouble == ""


def test_all_is_every_step_that_a_suite_can_do() -> None:
    assert ("trixie", "test") in planned(["all"], ["trixie", "noble"])
    assert ("noble", "test") not in planned(["all"], ["trixie", "noble"])
    assert ("noble", "compiled") in planned(["all"], ["trixie", "noble"])


def test_make_test_is_not_run_unless_it_is_asked_for() -> None:
    assert planned([], ["bookworm"]) == [("bookworm", step) for step in USUAL]
    assert "test" not in USUAL and "mailboxes" in USUAL
    assert planned(["test", "mailboxes"], ["noble"]) == []


def test_each_section_that_an_operator_follows_has_commands_for_a_machine() -> None:
    page = PAGE.read_text()
    assert all(section(page, title) for title in SECTIONS)
    assert all(words in page for words in AS_SECOND), "the page says how a new first machine is set up"
    with pytest.raises(ValueError, match="nothing to do in Looking and acting"):
        section(page, "Looking and acting")


def test_commands_for_no_machine_are_seen() -> None:
    with pytest.raises(ValueError, match="on which machine"):
        section("## Some\n<!-- not run: why -->\n```sh\nls\n```\n", "Some")


def test_where_and_when_commands_are_run_is_said_above_them() -> None:
    mark = "<!-- not run: on the first, in some seconds; `make fresh STEPS=mailboxes` does it -->"
    assert section(f"## Some\n{mark}\n```sh\nls\n```\n", "Some") == [("the first", True, "ls")]
