"""The list of families; that it is complete is tested in test_table.py."""

from __future__ import annotations

from pyrepl.commands.describe.introspection import FAMILIES
from pyrepl.commands.engine.table import Command


def test_each_is_there_once_and_has_commands() -> None:
    assert len(set(FAMILIES)) == len(FAMILIES)
    for module in FAMILIES:
        assert any(isinstance(row, Command) for row in vars(module).values()), module.__name__
