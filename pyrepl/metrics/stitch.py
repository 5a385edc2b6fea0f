"""Which attempt in a master's log is which in a replica's, where no sync id says it: text logs, or one end of another
make.

A master calls its replica by an address, a replica its master by another, and clocks differ. So for each pair that
addresses and replication ids allow (candidates.py), the difference of the clocks is chosen under which most attempts
fit: the same verdict, the same request, near in time. All attempts of two nodes are held against each other by NumPy.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from pyrepl.metrics.candidates import Side, candidates

VOTERS: Final = 200
"""So many attempts of a pair decide on its clocks."""
BUCKET_US: Final = 100_000
_UNKNOWN: Final = -(1 << 63)
"""Instead of a number that is not told."""
NEAR_US: Final = 1_500_000
"""Two attempts farther apart, clocks brought together, are not one. Inclusive."""
HALF: Final = {
    "sync": pl.String,
    "node": pl.String,
    "is_master": pl.Boolean,
    "label": pl.String,
    "at_us": pl.Int64,
    "verdict": pl.String,
    "asked_replid": pl.String,
    "asked_offset": pl.Int64,
    "replid": pl.String,
}
"""An attempt as one end tells it. `at_us` is when it asked (Unix us), `label` how it calls the other end, `replid`
the stream that a replica then followed. Null, of the last four, where it does not tell."""
_TEXTS: Final = ("verdict", "asked_replid")
_TOLD: Final = ("sync", "node", "label")

_Places: TypeAlias = Any
"""An array of rows of the halves, in order of time."""
_Found: TypeAlias = tuple[int, int, int, _Places, _Places]
"""Votes, their number below 0; how far the clocks are apart, as it is and whichever is ahead; a side and a side."""


class _Attempts(NamedTuple):
    """Of some attempts, arrays of one shape. What is not told is _UNKNOWN; what is text is told by number."""

    at_us: Any
    verdict: Any
    asked_replid: Any
    asked_offset: Any

    def of(self, places: _Places) -> _Attempts:
        return _Attempts(*(column[places] for column in self))


class _Sides(NamedTuple):
    """Of nodes that may have attempts in common: by whom they are told, and which they are."""

    masters: list[tuple[Side, _Places]]
    replicas: list[tuple[Side, _Places]]


def stitch(
    halves: pl.DataFrame,
    ports: Mapping[str, int],
    replids: Mapping[str, frozenset[str]],
    group_of: Mapping[str, int],
) -> pl.DataFrame:
    """Every pair of halves (rows of HALF, each with a sync of its own) that are one attempt, each half at most once:
    `sync`, `node` and `label` of the master's, with `m.` before them, and of the replica's, with `r.`.

    ports     node -> the port it listens on, where its log tells
    replids   node -> the ids its own stream had, where its log tells
    group_of  node -> its group: no pair is of two groups, nodes without one being one
    """
    rows = halves.sort("at_us", "sync")
    attempts = _attempts(rows)
    taken = bytearray(len(rows))
    pairs: list[tuple[int, int]] = []
    for sides in _by_group(rows, replids, group_of):
        for _, _, skew, ours, theirs in _pairs_of_sides(rows, sides, attempts, ports):
            pairs += _match(attempts, ours, theirs, skew, taken)
    return pl.concat(
        [
            rows[[pair[end] for pair in pairs]].select(pl.col(_TOLD).name.prefix(prefix))
            for end, prefix in enumerate(("m.", "r."))
        ],
        how="horizontal",
    )


def _attempts(rows: pl.DataFrame) -> _Attempts:
    numbered = (pl.col(name).rank("dense").cast(pl.Int64) for name in _TEXTS)
    told = rows.select("at_us", *numbered, "asked_offset").fill_null(_UNKNOWN)
    return _Attempts(*(told[name].to_numpy() for name in _Attempts._fields))


def _by_group(rows: pl.DataFrame, replids: Mapping[str, frozenset[str]], group_of: Mapping[str, int]) -> list[_Sides]:
    """The sides of each group: what one node tells under one label."""
    followed = pl.col("replid").filter(pl.col("replid") != "").unique()
    found = (
        rows.with_row_index("place")
        .group_by("is_master", "node", "label", maintain_order=True)
        .agg("place", followed.alias("ids"), "at_us")
    )
    groups: defaultdict[int | None, _Sides] = defaultdict(lambda: _Sides([], []))
    for is_master, node, label, places, ids, times in found.iter_rows():
        own = replids.get(node, frozenset()) if is_master else frozenset(ids)
        side = Side(node, label, own, tuple(times))
        groups[group_of.get(node)][not is_master].append((side, np.array(places, np.int64)))
    return list(groups.values())


def _pairs_of_sides(rows: pl.DataFrame, sides: _Sides, attempts: _Attempts, ports: Mapping[str, int]) -> list[_Found]:
    """Those that may have attempts in common, the likeliest first."""
    voters = [[attempts.of(places[:VOTERS]) for _, places in own] for own in sides]
    found: list[_Found] = []
    for one, other in candidates((side for side, _ in sides.masters), (side for side, _ in sides.replicas), ports):
        skew, votes = _skew(voters[0][one], voters[1][other])
        if votes:
            found.append((-votes, abs(skew), skew, sides.masters[one][1], sides.replicas[other][1]))
    if len(found) > 1:
        syncs = rows["sync"]
        found.sort(key=lambda one: (one[0], one[1], syncs[int(one[3][0])], syncs[int(one[4][0])]))
    return found


def _fit(one: _Attempts, other: _Attempts) -> Any:
    """Can they be one attempt, but for the time? One by one, or all by all, as their shapes are."""
    fit: Any = True
    for mine, theirs in zip(one[1:], other[1:], strict=True):
        fit = fit & ((mine == theirs) | (mine == _UNKNOWN) | (theirs == _UNKNOWN))
    return fit


def _skew(masters: _Attempts, replicas: _Attempts) -> tuple[int, int]:
    """The replica's clock less the master's under which most attempts meet, and how many do; the smallest of equals."""
    each = _Attempts(*(column[:, None] for column in masters))
    apart = (replicas.at_us - each.at_us)[_fit(each, replicas)]
    if not len(apart):
        return 0, 0
    buckets = np.rint(apart / BUCKET_US).astype(np.int64)
    numbers, votes = np.unique(buckets, return_counts=True)
    most = int(votes.max())
    best = max(numbers[votes == most].tolist(), key=lambda one: (-abs(one), one))
    near = np.sort(apart[buckets == best])
    return int(near[len(near) // 2]), most


def _match(
    attempts: _Attempts, masters: _Places, replicas: _Places, skew: int, taken: bytearray
) -> list[tuple[int, int]]:
    """The nearest first, each once: rows of both. Whoever has got one is `taken`."""
    at_us, times = attempts.at_us[masters], attempts.at_us[replicas] - skew
    low, high = np.searchsorted(times, at_us - NEAR_US), np.searchsorted(times, at_us + NEAR_US, "right")
    many = high - low
    one = np.repeat(np.arange(len(masters)), many)
    other = np.arange(len(one)) + np.repeat(low - (np.cumsum(many) - many), many)
    fits = _fit(attempts.of(masters[one]), attempts.of(replicas[other]))
    one, other = one[fits], other[fits]
    order = np.lexsort((other, one, times[other], at_us[one], np.abs(times[other] - at_us[one])))
    pairs = []
    for mine, theirs in zip(masters[one[order]].tolist(), replicas[other[order]].tolist(), strict=True):
        if not taken[mine] and not taken[theirs]:
            taken[mine] = taken[theirs] = True
            pairs.append((mine, theirs))
    return pairs
