"""`--help`: subcommands by task, examples that can be copied, exit statuses."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from cli.commands import cli
from cli.helping import page_of, rows_of_exits
from cli.pages import INTERRUPTED, PAGES, TASKS


def shown(*words: str, columns: int = 80) -> str:
    result = CliRunner().invoke(cli, [*words, "--help"], prog_name="pyrepl", terminal_width=columns)
    assert result.exit_code == 0
    return result.output


def test_the_tasks_in_their_order() -> None:
    places = [shown().index(f"{task}:\n") for task in TASKS]
    assert places == sorted(places)


def test_each_command_stands_below_its_task() -> None:
    below = shown().split("See how nodes and machines are:\n")[1].split("\n\n")[0]
    assert [line.split()[0] for line in below.splitlines() if line[2] != " "] == ["doctor", "status", "mailbox"]


def test_a_group_shows_its_own_commands_alone() -> None:
    below = shown("mailbox").split("See how nodes and machines are:\n")[1].split("\n\n")[0]
    assert [line.split()[0] for line in below.splitlines() if line[2] != " "] == ["status", "check", "compare"]


@pytest.mark.parametrize("path", [path for path, page in PAGES.items() if page.examples])
def test_examples_are_in_one_piece(path: str) -> None:
    lines = shown(*path.split(), columns=40).splitlines()
    assert [example for example in PAGES[path].examples if f"  {example}" not in lines] == []


def test_exit_statuses() -> None:
    text = " ".join(shown("status").split())
    assert "Exit status: 0 all is in sync 1 something is not in sync 2 the node at HOST:PORT cannot be" in text
    assert f"{INTERRUPTED} interrupted" in " ".join(shown("metrics").split())


def test_a_wrong_command_line_has_a_status_everywhere() -> None:
    assert ("2", "the command line is wrong") in rows_of_exits(page_of("pyrepl doctor"))
    assert CliRunner().invoke(cli, ["doctor", "--nonsense"]).exit_code == 2
