"""Transactions are applied as a whole."""

from __future__ import annotations

from pyrepl.replication.events import Apply
from tests.simulation.checkers.broken import Broken


def check_units(who: str, apply: Apply) -> None:
    """A transaction is applied as a whole."""
    names = [command[0] for command in apply.commands]
    if names.count(b"MULTI") != names.count(b"EXEC"):
        raise Broken(f"units: {who} applies {names} at {apply.start}")
