"""A planned switch loses nothing and sends nothing twice."""

from __future__ import annotations

from tests.simulation.checkers.broken import Broken


def check_switch(who: str, end: int, held: int) -> None:
    """Who takes over without force, and was not restarted meanwhile, stands where the old master stands."""
    if end != held:
        raise Broken(f"switch: {who} takes over at {end}, the old master holds {held}")
