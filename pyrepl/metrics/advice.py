"""What to do, and what it would have saved: the rows of the table ADVICE, in their order.

Plain Python over the rows of facts.py, a few for each master and pair, whoever gathers them. Each piece of advice
carries its numbers; where the logs do not tell enough for a number, none is given. What is said of sizes and delays
stands in advice_sizes.py, of links that no size mends in advice_links.py.

Each kind is proven by a rerun: tests/fault/test_advice.py makes the trouble with real servers, sets what was advised,
and looks for the effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

from pyrepl.metrics.advice_links import loop, outage, stalled
from pyrepl.metrics.advice_sizes import backlogs, channel, freed, miss, one_limit, output_buffer, storm, sync_buffer
from pyrepl.metrics.facts import Facts, Row

SEVERITIES: Final = ("act", "consider")
"""Of a piece of advice, the gravest first."""


def advice(facts: Facts) -> list[Row]:
    """Rows of the table ADVICE, by the names of its columns; what is not there is null."""
    pieces = [
        *backlogs(facts.backlogs),
        *map(miss, facts.misses),
        *map(freed, facts.freed),
        *one_limit([*map(output_buffer, facts.output_buffers), *map(sync_buffer, facts.sync_buffers)]),
        *map(stalled, facts.stalled),
        *map(channel, facts.channels),
        *chain.from_iterable(map(storm, facts.storms)),
        *map(loop, facts.loops),
        *map(outage, facts.outages),
    ]
    pieces.sort(key=_urgency)
    return pieces


def _urgency(piece: Row) -> tuple[Any, ...]:
    """By what still runs, then by what it has cost."""
    running, cost = piece.get("running_s") or 0.0, piece.get("cost_s") or 0.0
    rest = _nulls_first(piece, "kind", "node", "replica")
    return (-running, -cost, SEVERITIES.index(piece["severity"]), *rest)


def _nulls_first(piece: Row, *names: str) -> Iterator[tuple[bool, Any]]:
    for name in (*names, "share"):
        value = piece.get(name)
        yield value is not None, value if value is not None else 0
