"""Every subcommand has its row, each row a subcommand; and the examples are command lines that it takes."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import click
import pytest

from cli.commands import cli
from cli.pages import PAGES, TASKS


def commands(command: click.Command, path: str = "") -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from commands(below, f"{path} {name}".strip())


COMMANDS = dict(commands(cli))
EXAMPLES = [(path, line) for path, page in PAGES.items() for line in page.examples]


def test_rows_and_commands() -> None:
    assert PAGES.keys() == COMMANDS.keys()
    assert {page.task for page in PAGES.values()} == set(TASKS)


def test_whatever_does_something_has_examples_and_exit_statuses() -> None:
    doing = [path for path, command in COMMANDS.items() if not isinstance(command, click.Group)]
    assert [path for path in doing if not PAGES[path].examples or not PAGES[path].exits] == []
    assert all(0 in PAGES[path].exits for path in doing)


@pytest.mark.parametrize(("path", "line"), EXAMPLES)
def test_examples_are_taken(path: str, line: str) -> None:
    words = shlex.split(line.partition(">")[0].removeprefix("sudo -u pyrepl "))
    assert words[0] == "pyrepl" and " ".join(words[1:]).startswith(path)
    command: click.Command = cli
    words = words[1:]
    while isinstance(command, click.Group):
        command, words = command.commands[words[0]], words[1:]
    context = command.make_context(command.name, words)
    unknown = [word for word in context.params.get("directives", ()) if word.startswith("--")]
    from pyrepl.config.directives import find

    assert [word for word in unknown if find(word.removeprefix("--")) is None] == []
