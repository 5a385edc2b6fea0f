"""The options by which our clients log in."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from cli.login_options import login_options


@click.command()
@login_options
def command(user: str, password: str) -> None:
    click.echo(f"{user!r} {password!r}")


@pytest.mark.parametrize(
    ("arguments", "environment", "told"),
    [
        ([], {}, "'' ''"),
        (["--user", "alice", "--password", "p"], {"PYREPL_PASSWORD": "q"}, "'alice' 'p'"),
        ([], {"PYREPL_PASSWORD": "q"}, "'' 'q'"),
    ],
)
def test_who_logs_in(arguments: list[str], environment: dict[str, str], told: str) -> None:
    assert CliRunner().invoke(command, arguments, env=environment).output == f"{told}\n"
