"""All end equal."""

from __future__ import annotations

from tests.simulation.checkers.broken import Broken
from tests.simulation.data import Data


def check_convergence(
    master: str, truth: Data, place: tuple[str, int], who: str, data: Data, at: tuple[str, int]
) -> None:
    """Quiet replicas hold the master's data at the master's place."""
    if place != at or truth.databases != data.databases:
        raise Broken(
            f"convergence: {master} is at {place}, {who} at {at}; equal data: {truth.databases == data.databases}"
        )
