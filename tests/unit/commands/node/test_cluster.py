"""CLUSTER and its kin: refused as a Redis without cluster mode refuses them. The rows stand against real servers in
tests/house."""

from __future__ import annotations

import pytest

from pyrepl.commands.engine.table import Command
from pyrepl.commands.node import cluster
from tests.unit.commands.rig import Rig

ROWS = [row for row in vars(cluster).values() if isinstance(row, Command) and row.name != "CLUSTER"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.wire_name)
def test_each_refuses(row: Command) -> None:
    words = [*row.name.split("|"), *("1",) * 5][: abs(row.arity)]
    assert Rig().error(" ".join(words)) == "ERR This instance has cluster support disabled"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("CLUSTER", "ERR wrong number of arguments for 'cluster' command"),
        ("CLUSTER KEYSLOT", "ERR wrong number of arguments for 'cluster|keyslot' command"),
        ("CLUSTER NOSUCH", "ERR unknown subcommand 'NOSUCH'. Try CLUSTER HELP."),
        ("TRIMSLOTS", "ERR wrong number of arguments for 'trimslots' command"),
    ],
)
def test_words_that_are_wrong_are_told_before(line: str, complaint: str) -> None:
    assert Rig().error(line) == complaint
