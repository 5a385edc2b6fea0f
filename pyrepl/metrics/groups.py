"""Which nodes belong together: no sync has its ends in two groups, so that they can be analysed at once (shares.py).

Nodes belong together when a sync has its ends in both logs, when two of them call one master by the same address, and
when ends are left over, as text logs name no sync, that may be of one (stitch.py). Of those the streams' ids decide: a
replica belongs to every node whose stream it followed. Where a node's log tells none, as behind a rotation, or nobody
else has it, meets.py says with whom it may have synced.

Spark holds the syncs of all nodes against each other (_JOINED); the rest is pure Python, over marks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

import pyarrow as pa

from pyrepl.metrics.kinds import TEXT
from pyrepl.metrics.meets import End, meets
from pyrepl.metrics.parts import Piece
from pyrepl.metrics.rollup import ENDS, TRACED
from pyrepl.metrics.stored import stored

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LABEL: Final = "label "
_ID: Final = "id "
_ID_LENGTH: Final = 40
_TELLS: Final = {"master": "masters", "replica": "labels"}
"""What a mark of an event log has if there are syncs of that end in it."""

_HALVES: Final = pa.schema(
    [*((name, pa.string()) for name in ("sync", "node", "end")), ("asked_us", pa.int64()), ("decided_us", pa.int64())]
)
_JOINED: Final = f"""
    with half as (
        select sync, node, halves.end as side, coalesce(asked_us, decided_us) as at_us from halves
    ),
    told as (
        select node, side, at_us, min(node) over (partition by sync) as first,
            min(side) over (partition by sync) as least, max(side) over (partition by sync) as most
        from half
    ),
    either as (
        select distinct case when first <> node then first end as first, node,
            case when least = most then side end as side, case when least = most then at_us end as at_us
        from told where first <> node or least = most
    ),
    numbered as (
        select first, node, side, at_us, dense_rank() over (partition by node, side order by at_us) as place from either
    )
    select first, node, side, at_us from numbered where side is null or place <= {TRACED + 1}
"""
"""Nodes that tell of one sync, with the first of them; and of ends of which no other end tells, when they asked. `told`
is named once, as Spark works out anew what is named again."""


@final
class _Sets:
    """Names that are joined, pair by pair."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def top(self, name: str) -> str:
        while (above := self._above.setdefault(name, name)) != name:
            self._above[name] = self._above[above]
            name = above
        return name

    def join(self, one: str, other: str) -> None:
        self._above[self.top(one)] = self.top(other)


def groups(spark: SparkSession, tables: Path, found: Iterable[Piece]) -> list[tuple[str, ...]]:
    """The nodes, those together that belong together, each group and all groups in order of their names."""
    every = list(found)
    sets = _Sets()
    nodes = sorted({piece.node for piece in every})
    labels: set[str] = set()
    for piece in every:
        sets.top(piece.node)
        own = piece.mark.get("labels", ())
        labels.update(own)
        for label in own:
            sets.join(piece.node, _LABEL + label)
    for label in labels.intersection(nodes):
        sets.join(label, _LABEL + label)
    ends = _left_over(every, _alone(sets, spark, tables, every))
    for end in ends:
        for name in end.ids:
            sets.join(end.node, _ID + name)
    for one, other in meets(ends, {node: sets.top(node) for node in nodes}):
        sets.join(one, other)
    by_top: dict[str, list[str]] = {}
    for node in nodes:
        by_top.setdefault(sets.top(node), []).append(node)
    return sorted(map(tuple, by_top.values()))


def _alone(sets: _Sets, spark: SparkSession, tables: Path, every: list[Piece]) -> dict[tuple[str, str], list[int]]:
    """Join the nodes whose event logs tell of one sync; of those with syncs that no other end tells of, node and end
    with when they asked, some of the times."""
    whose: defaultdict[Path, set[str]] = defaultdict(set)
    for piece in every:
        if path := piece.rollups.get("halves"):
            whose[tables / path].add(piece.node)
    marks = (piece.mark for piece in every)
    ends = {end for mark in marks for end in ENDS if mark["form"] == TEXT or mark.get(_TELLS[end])}
    if not whose or len(ends) < len(ENDS):
        return {}
    stored(spark, sorted(whose), _HALVES, whose).createOrReplaceTempView("halves")
    asked: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for row in spark.sql(_JOINED).toArrow().to_pylist():
        if row["first"] is not None:
            sets.join(row["first"], row["node"])
        if row["side"] is not None:
            asked[row["node"], row["side"]] += [] if row["at_us"] is None else [row["at_us"]]
    return asked


def _left_over(every: Iterable[Piece], alone: dict[tuple[str, str], list[int]]) -> list[End]:
    """What is known of each node's syncs whose other end nobody names: all that text logs tell of, and some of event
    logs'."""
    asked: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for key, times in alone.items():
        asked[key].update(times)
    ids: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    labels: defaultdict[str, set[str]] = defaultdict(set)
    ports: dict[str, int] = {}
    for piece in every:
        mark: dict[str, Any] = piece.mark
        if mark["form"] == TEXT:
            for end in ENDS:
                if times := mark["asks"][end]:
                    asked[piece.node, end].update(times)
        labels[piece.node].update(mark.get("labels", ()))
        for end in ENDS:
            ids[piece.node, end].update(filter(_is_id, mark.get("replids", ())))
        ids[piece.node, "replica"].update(filter(_is_id, mark.get("followed", ())))
        if mark.get("port"):
            ports[piece.node] = mark["port"]
    return [
        End(node, end == "master", frozenset(ids[node, end]), frozenset(labels[node]), ports.get(node), sorted(times))
        for (node, end), times in sorted(asked.items())
    ]


def _is_id(name: str) -> bool:
    """A stream's; one of zeros is none."""
    return len(name) == _ID_LENGTH and name.strip("0") != ""
