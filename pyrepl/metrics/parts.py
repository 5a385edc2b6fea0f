"""Which files answer a question: for each node the rollups of its parts, or the rows where those will not do.

A rollup will not do where --since or --until cuts through its part, and where lines may be there twice that are
counted: then it is made anew from the rows (rollup.py), a part or a day at a time. The plan is made by the driver from
the manifest alone; loading is done by a task (load()), which may be another machine's.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import quote

import polars as pl

from pyrepl.metrics.base import Base, Unit, added_to, is_worth_it
from pyrepl.metrics.kinds import TEXT
from pyrepl.metrics.manifest import MERGE_BYTES, Manifest
from pyrepl.metrics.rollup import Mark, Rollup, rollup
from pyrepl.metrics.rows import OF_ONE, Rows
from pyrepl.metrics.tables import EVENTS, SAMPLES
from pyrepl.metrics.telling import Logs, Telling, tell_on

SAME_START_US: Final = 2_000_000
_TABLES: Final = {EVENTS.name: EVENTS, SAMPLES.name: SAMPLES}
_ROLLUPS: Final = {EVENTS.name: ("halves", "children"), SAMPLES.name: ("values", "drawn")}
"""What rows of each table are rolled up into: a part of a file has files of the same name for both tables."""
_PATH: Final = "path of the file"
Bounds = tuple[int | None, int | None]
"""Unix us: the first inclusive, the second not; None is no bound."""


@dataclass(frozen=True, slots=True)
class Piece:
    """What one part has of one node: its mark as JSON, its rollups by name, and its rows (one file a day).

    A `passing` part may be given up for a longer one by the next run that reads (plan.py). Its files may have rows of
    other nodes too (together.py).
    """

    node: str
    told: str
    rollups: Mapping[str, str]
    rows: tuple[str, ...]
    doubtful: bool = False
    passing: bool = False

    @property
    def mark(self) -> Mark:
        """Made each time: those of a fleet take much memory."""
        found: Mark = json.loads(self.told)
        return found


def _lies_in(mark: Mark, bounds: Bounds) -> bool:
    """All that it tells of?"""
    since, until = bounds
    return (since is None or since <= mark["first_us"]) and (until is None or mark["last_us"] < until)


def _lies_beside(mark: Mark, bounds: Bounds) -> bool:
    """None of it?"""
    since, until = bounds
    return (since is not None and mark["last_us"] < since) or (until is not None and mark["first_us"] >= until)


@dataclass(frozen=True, slots=True)
class Again:
    """Rows to be read once more: files of one node, each line once if `once`."""

    table: str
    node: str
    rows: tuple[str, ...]
    once: bool


@dataclass(frozen=True, slots=True)
class Sources:
    """All that is to be loaded of some nodes. `marks` are JSON; `kept` has the rollups' names with their files and
    whose rows count; `passing` are nodes with those of these files, and of `text`, whose rows of the node may be given
    up. Of nodes of different `groups` no sync is of both."""

    marks: list[str]
    kept: list[tuple[str, tuple[str, ...], frozenset[str]]]
    again: list[Again]
    text: Mapping[str, tuple[str, ...]]
    told_elsewhere: frozenset[tuple[str, str]]
    samples: Mapping[str, tuple[str, ...]]
    named: tuple[str, ...]
    bounds: Bounds = (None, None)
    groups: tuple[tuple[str, ...], ...] = ()
    passing: frozenset[tuple[str, str]] = frozenset()


@dataclass(slots=True)
class Loaded:
    """What the parts come to, merged: the tables of tables.ROLLUPS (`drawn` as they are), and all marks.

    `base` and `telling` are for the next run to go on with, None where those there were still do.
    """

    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    marks: list[Mark] = field(default_factory=list)
    base: Base | None = None
    telling: Telling | None = None

    def has(self, name: str) -> bool:
        """Are there any rows of it?"""
        return name in self.tables


def pieces(known: Manifest) -> list[Piece]:
    """Of all parts that count."""
    doubtful = known.doubtful()
    found = []
    for entry in known.entries.values():
        last = entry.last_told(MERGE_BYTES)
        for number, told in enumerate(entry.all_told()):
            passing = number == len(entry.told) or told["start"] == last
            unsure = {name for name, run, *_ in told["seqs"] if (name, run) in doubtful}
            rows: dict[tuple[str, str, str], list[str]] = defaultdict(list)
            for path in told["parts"]:
                table, *folders, name = path.split("/")
                rows[table, folders[-1] if path.count("/") == OF_ONE else "", name].append(path)
            for mark in told["marks"]:
                of_node = (mark["table"], f"node={quote(mark['node'], safe='')}", mark["part"])
                own = rows.get(of_node) or rows.get((mark["table"], "", mark["part"]), [])
                names = _ROLLUPS[mark["table"]]
                kept = {name: path for name in names if (path := f"{name}/{mark['part']}") in told["rollups"]}
                whose = str(mark["node"])
                found.append(Piece(whose, json.dumps(mark), kept, tuple(own), mark["table"] in unsure, passing))
    return found


def told_elsewhere(found: Iterable[Piece]) -> frozenset[tuple[str, str]]:
    """Node and run of text logs of pyrepl whose event log is there too: it tells the same again, and less.

    The two are of one process when they name the same process id at starts less than two seconds apart.
    """
    in_json: dict[int, list[int]] = defaultdict(list)
    in_text: list[tuple[int, int, str, str]] = []
    for piece in found:
        mark = piece.mark
        for pid, at_us, run in mark.get("starts", ()):
            if mark["form"] == TEXT:
                in_text.append((pid, at_us, piece.node, run))
            else:
                in_json[pid].append(at_us)
    return frozenset(
        (node, run)
        for pid, at_us, node, run in in_text
        if any(abs(at_us - other) < SAME_START_US for other in in_json[pid])
    )


def sources(
    own: Sequence[Piece],
    bounds: Bounds,
    elsewhere: frozenset[tuple[str, str]],
    groups: tuple[tuple[str, ...], ...] = (),
) -> Sources:
    """How to load these pieces, all there are of the nodes of some groups."""
    marked = [(piece, piece.mark) for piece in own]
    doubtful = {(mark["table"], piece.node) for piece, mark in marked if piece.doubtful}
    there = [(piece, mark) for piece, mark in marked if not _lies_beside(mark, bounds)]
    text = [piece for piece, mark in there if mark["form"] == TEXT]
    rest = [(piece, mark) for piece, mark in there if mark["form"] != TEXT]
    sure = [(piece, mark) for piece, mark in rest if (mark["table"], piece.node) not in doubtful]
    whole = [piece for piece, mark in sure if _lies_in(mark, bounds)]
    again = [Again(mark["table"], piece.node, piece.rows, False) for piece, mark in sure if not _lies_in(mark, bounds)]
    again += _by_day((mark["table"], piece) for piece, mark in rest if (mark["table"], piece.node) in doubtful)
    samples = [piece for piece, mark in rest if mark["table"] == SAMPLES.name]
    text_of = _rows_of(text)
    halves = {path for piece in own if (path := piece.rollups.get("halves"))}
    return Sources(
        marks=[piece.told for piece in whole],
        kept=_kept(whole),
        again=again,
        text=text_of,
        told_elsewhere=frozenset(run for run in elsewhere if run[0] in text_of),
        samples=_rows_of(samples),
        named=() if bounds == (None, None) else tuple(sorted(halves)),
        bounds=bounds,
        groups=groups,
        passing=frozenset(
            [(piece.node, path) for piece in whole if piece.passing for path in piece.rollups.values()]
            + [(piece.node, path) for piece in text if piece.passing for path in piece.rows]
        ),
    )


def _by_day(found: Iterable[tuple[str, Piece]]) -> list[Again]:
    """Of some tables. A line that is there twice has the same day."""
    days: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for table, piece in found:
        for path in piece.rows:
            days[table, piece.node, path.split("/")[1]].add(path)
    return [Again(table, node, tuple(sorted(paths)), True) for (table, node, _), paths in sorted(days.items())]


def _kept(whole: Iterable[Piece]) -> list[tuple[str, tuple[str, ...], frozenset[str]]]:
    whose: dict[tuple[str, str], set[str]] = defaultdict(set)
    for piece in whole:
        for name, path in piece.rollups.items():
            whose[name, path].add(piece.node)
    files: dict[tuple[str, frozenset[str]], list[str]] = defaultdict(list)
    for (name, path), nodes in whose.items():
        files[name, frozenset(nodes)].append(path)
    return [(name, tuple(sorted(paths)), nodes) for (name, nodes), paths in files.items()]


def _rows_of(found: Iterable[Piece]) -> dict[str, tuple[str, ...]]:
    rows: dict[str, set[str]] = defaultdict(set)
    for piece in found:
        rows[piece.node].update(piece.rows)
    return {node: tuple(sorted(paths)) for node, paths in rows.items()}


def load(tables: Path, wanted: Sources, base: Base | None = None, telling: Telling | None = None) -> Loaded:
    """Read and merge it. What `base` is made of is not read again, if all of that is wanted still; nor is what
    `telling` has of text logs told again."""
    lasting, passing = _units(wanted)
    old = (base or Base()).within(lasting)
    renewed = added_to(old, lasting, _read(tables, lasting - old.made_of))
    found = _read(tables, passing)
    marks: list[Mark] = list(map(json.loads, wanted.marks))
    before = telling or Telling()
    rows = Rows(tables)
    told, after = tell_on(partial(_text_rows, rows, wanted), _logs(wanted), before)
    for made in (*_made(rows, wanted), *told):
        marks += made.marks
        for name, frame in made.tables.items():
            found[name].append(frame)
    worth = is_worth_it(base or Base(), renewed)
    return Loaded(
        added_to(renewed, lasting, found).tables,
        marks,
        renewed if worth else None,
        after if after is not before else None,
    )


def _units(wanted: Sources) -> tuple[frozenset[Unit], frozenset[Unit]]:
    """The rollups' files, node by node: those that last, and those that may be given up. Where none of a node last, as
    its log is small, all do: better to lose what is merged of it than to have nothing."""
    every = {(name, path, node) for name, paths, nodes in wanted.kept for path in paths for node in nodes}
    firm = {node for _, path, node in every if (node, path) not in wanted.passing}
    passing = frozenset(unit for unit in every if unit[2] in firm and (unit[2], unit[1]) in wanted.passing)
    return frozenset(every) - passing, passing


def _read(tables: Path, units: Iterable[Unit]) -> defaultdict[str, list[pl.DataFrame]]:
    counted: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, path, node in sorted(units):
        counted[name].append((str(tables / path), node))
    found: defaultdict[str, list[pl.DataFrame]] = defaultdict(list)
    for name, pairs in counted.items():
        paths = list(dict.fromkeys(path for path, _ in pairs))
        rows = pl.read_parquet(paths, hive_partitioning=False, glob=False, include_file_paths=_PATH)
        those = pl.DataFrame(pairs, {_PATH: pl.String, "node": pl.String}, orient="row")
        found[name].append(rows.join(those, on=(_PATH, "node"), how="semi").drop(_PATH))
    return found


def _made(stored: Rows, wanted: Sources) -> Iterator[Rollup]:
    for one in wanted.again:
        rows = _within(stored.of(_TABLES[one.table], one.node, one.rows), wanted.bounds)
        if one.table == EVENTS.name:
            rows = rows.filter(pl.col("form") == "json")
        if len(rows):
            yield rollup(_TABLES[one.table], each_once(rows) if one.once else rows)


def _logs(wanted: Sources) -> Logs:
    left_out: defaultdict[str, list[str]] = defaultdict(list)
    for node, run in sorted(wanted.told_elsewhere):
        left_out[node].append(run)
    passing: defaultdict[str, set[str]] = defaultdict(set)
    for node, path in wanted.passing:
        passing[node].add(path)
    return Logs(wanted.text, {node: tuple(runs) for node, runs in left_out.items()}, passing)


def _text_rows(stored: Rows, wanted: Sources, node: str, paths: Iterable[str]) -> pl.DataFrame:
    """The events of a node's text logs within the bounds, without those that its event log tells."""
    runs = [run for other, run in wanted.told_elsewhere if other == node]
    rows = _within(stored.of(EVENTS, node, sorted(paths)), wanted.bounds)
    return rows.filter((pl.col("form") != "json") & ~pl.col("run").is_in(runs).fill_null(False))


def each_once(rows: pl.DataFrame) -> pl.DataFrame:
    """Without the doubles of numbered lines."""
    numbered = pl.col("seq").is_not_null()
    return pl.concat([rows.filter(numbered).unique(["node", "run", "seq"]), rows.filter(~numbered)])


def _within(rows: pl.DataFrame, bounds: Bounds) -> pl.DataFrame:
    since, until = bounds
    if since is not None:
        rows = rows.filter(pl.col("at_us") >= since)
    return rows if until is None else rows.filter(pl.col("at_us") < until)
