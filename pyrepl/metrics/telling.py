"""The text logs of some nodes told: each story (story.py) goes on from where a run before has left it.

    told for good    rolled up and kept merged, as the parts of event logs are (rollup.py, base.py)
    told for now     the newest moment, ends of links that a later line may explain, and files that may be given up

What was kept of a node is taken where each file that it is made of is still wanted, and no line that came since is
older than where the story stands. A log that was written anew, lines that come late, and a node whose event log turns
up have the story told from its first line. Where all of it is kept is keep.py's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Final, NamedTuple, cast

import polars as pl
import pyarrow as pa

from pyrepl.metrics.arrow import schema
from pyrepl.metrics.base import Frames, merged
from pyrepl.metrics.rollup import Mark, Rollup, joined_marks, of_events
from pyrepl.metrics.story import Row, Stand, advance, finish
from pyrepl.metrics.tables import EVENTS

MOST: Final = 1000
"""With more links and rows than that a stand is not kept, and the story goes on from an older one. Inclusive."""
_NOTHING: Final = pl.DataFrame(schema={"at_us": pl.Int64})
Read = Callable[[str, Iterable[str]], pl.DataFrame]
"""The events of a node's text logs, from some of its files, without those that are told elsewhere."""


@dataclass(frozen=True, slots=True)
class Place:
    """How far the story of a node was told: all rows of these files, but for those of `left_out`, runs that its event
    log tells of."""

    made_of: frozenset[str]
    left_out: tuple[str, ...]
    stand: Stand


@dataclass(frozen=True, slots=True)
class Telling:
    """What is told for good of the nodes that have a place: rollups by name, and their marks."""

    places: Mapping[str, Place] = field(default_factory=dict)
    tables: Frames = field(default_factory=dict)
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class Logs:
    """By node, the files with rows of its text logs, the runs that are left out, and those of the files that may be
    given up."""

    files: Mapping[str, tuple[str, ...]]
    left_out: Mapping[str, tuple[str, ...]]
    passing: Mapping[str, Collection[str]]


class _Chapter(NamedTuple):
    """What was told of a node in this run. `goes_on`: what was kept of it holds."""

    goes_on: bool
    for_good: list[Row]
    for_now: list[Row]
    place: Place | None


def tell_on(read: Read, logs: Logs, before: Telling) -> tuple[list[Rollup], Telling]:
    """All that text logs tell, as rollups to be merged, and what is to be kept of it: `before` itself where that is as
    good."""
    chapters = {node: _chapter(read, node, logs, before.places.get(node)) for node in logs.files}
    places = {node: one.place for node, one in chapters.items() if one.place is not None}
    after = before
    if places != before.places:
        going_on = frozenset(node for node, one in chapters.items() if one.goes_on)
        more = _rollup([row for one in chapters.values() for row in one.for_good])
        after = _added(_of(before, going_on), more, places)
    for_now = _rollup([row for one in chapters.values() for row in one.for_now])
    return [one for one in (Rollup(after.tables, list(after.marks)), for_now) if one.marks], after


def _chapter(read: Read, node: str, logs: Logs, before: Place | None) -> _Chapter:
    files, left_out = frozenset(logs.files[node]), logs.left_out.get(node, ())
    staying = files.difference(logs.passing.get(node, ()))
    if before is not None and before.made_of <= files and before.left_out == left_out:
        lasting = staying - before.made_of
        firm, loose = (_rows(read, node, paths) for paths in (lasting, files - before.made_of - lasting))
        if min(_bounds(firm)[0], _bounds(loose)[0]) >= before.stand.at_us:
            return _told(before, lasting, left_out, firm, loose)
    # A log that is small may be given up as a whole: better to lose what was kept of it than to keep nothing.
    lasting = staying or files
    return _told(None, lasting, left_out, *(_rows(read, node, paths) for paths in (lasting, files - lasting)))


def _rows(read: Read, node: str, paths: frozenset[str]) -> pl.DataFrame:
    return read(node, paths) if paths else _NOTHING


def _told(
    before: Place | None, lasting: frozenset[str], left_out: tuple[str, ...], firm: pl.DataFrame, loose: pl.DataFrame
) -> _Chapter:
    """Go on by the rows of files that last, for good, and by those of others."""
    stood = before.stand if before else None
    if len(firm) and _bounds(firm)[1] <= _bounds(loose)[0]:
        for_good, stand = advance(stood, firm.to_dicts())
        if len(stand.last) + len(stand.state["replicas"]) <= MOST:
            made_of = lasting | (before.made_of if before else frozenset())
            place = Place(made_of, left_out, stand)
            return _Chapter(before is not None, for_good, finish(stand, loose.to_dicts()), place)
    return _Chapter(before is not None, [], finish(stood, [*firm.to_dicts(), *loose.to_dicts()]), before)


def _bounds(rows: pl.DataFrame) -> tuple[float, float]:
    """The oldest and the newest time, Unix us; of nothing what is behind, and before, any time."""
    if rows.is_empty():
        return inf, -inf
    return cast(int, rows["at_us"].min()), cast(int, rows["at_us"].max())


def _rollup(rows: list[Row]) -> Rollup:
    if not rows:
        return Rollup({}, [])
    told = pa.Table.from_pylist(rows, schema=schema(EVENTS))
    return of_events(cast(pl.DataFrame, pl.from_arrow(told)))


def _of(kept: Telling, nodes: frozenset[str]) -> Telling:
    """Of some of its nodes."""
    places = {node: place for node, place in kept.places.items() if node in nodes}
    if len(places) == len(kept.places):
        return kept
    tables = {name: rows.filter(pl.col("node").is_in(nodes)) for name, rows in kept.tables.items()}
    return Telling(places, tables, tuple(mark for mark in kept.marks if mark["node"] in nodes))


def _added(kept: Telling, more: Rollup, places: Mapping[str, Place]) -> Telling:
    every = [kept.tables, more.tables]
    found = {name: [one[name] for one in every if name in one] for name in {**kept.tables, **more.tables}}
    return Telling(places, merged(found), tuple(joined_marks([*kept.marks, *more.marks])))
