"""Seconds as an option."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from cli.seconds import Seconds


@pytest.mark.parametrize(("said", "status"), [("0.5", 0), ("600", 0), ("nan", 2), ("601", 2), ("inf", 2), ("x", 2)])
def test_what_is_a_number_of_seconds(said: str, status: int) -> None:
    @click.command()
    @click.option("--timeout", type=Seconds(0.05, 600))
    def command(timeout: float) -> None:
        assert timeout == float(said)

    result = CliRunner().invoke(command, ["--timeout", said])
    assert result.exit_code == status and ("--timeout" in result.stderr) == (status == 2)
