"""Which nodes belong together: no sync has its ends in two groups, so that they can be analysed at once (shares.py).

Nodes belong together when a sync has its ends in both logs, when two of them call one master by the same address, and
when halves of syncs are left over whose other half may be in any of their logs (stitch.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, final

import polars as pl

from pyrepl.metrics.parts import Piece
from pyrepl.metrics.rollup import TEXT

_LABEL: Final = "label "
_LEFT_OVER: Final = "left over"


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


def groups(tables: Path, found: Iterable[Piece]) -> list[tuple[str, ...]]:
    """The nodes, those together that belong together, each group and all groups in order of their names."""
    every = list(found)
    sets = _Sets()
    for piece in every:
        sets.top(piece.node)
        for label in piece.mark.get("labels", ()):
            sets.join(piece.node, _LABEL + label)
    for label in {label for piece in every for label in piece.mark.get("labels", ())}:
        if any(piece.node == label for piece in every):
            sets.join(label, _LABEL + label)
    _join_ends(sets, tables, every)
    by_top: dict[str, list[str]] = {}
    for node in sorted({piece.node for piece in every}):
        by_top.setdefault(sets.top(node), []).append(node)
    return sorted(map(tuple, by_top.values()))


def _join_ends(sets: _Sets, tables: Path, every: list[Piece]) -> None:
    text = {piece.node for piece in every if piece.mark["form"] == TEXT}
    masters = {piece.node for piece in every if piece.mark.get("masters")}
    replicas = {piece.node for piece in every if piece.mark.get("labels")}
    if not (text or (masters and replicas)):
        return
    alone = _shared(sets, tables, every) if masters and replicas else {True: masters, False: replicas}
    if text or (alone[True] and alone[False]):
        for node in (*text, *alone[True], *alone[False]):
            sets.join(node, _LEFT_OVER)


def _shared(sets: _Sets, tables: Path, every: list[Piece]) -> Mapping[bool, set[str]]:
    """Join the nodes that tell of one sync; those left with syncs that no other tells of, masters (True) and
    replicas."""
    paths = sorted({tables / path for piece in every if (path := piece.rollups.get("halves"))})
    halves = pl.read_parquet(paths, columns=["sync", "node", "end"], hive_partitioning=False, glob=False).unique()
    told = halves.group_by("sync").agg(pl.col("node").unique().sort(), pl.col("end").unique().sort())
    for first, *others in told.filter(pl.col("node").list.len() > 1)["node"].unique().to_list():
        for other in others:
            sets.join(first, other)
    alone = halves.join(told.filter(pl.col("end").list.len() == 1).select("sync"), on="sync", how="semi")
    return {end == "master": set(alone.filter(pl.col("end") == end)["node"].to_list()) for end in ("master", "replica")}
