"""Small ranges of several files, read one after the other and written as one: of a fleet's logs a second run reads a
few lines each, and a file of its own for each of them would cost ten times as much as these lines.

    events/day=2026-11-21/part-5e0f....parquet    rows of several nodes, with the column node
    halves/part-5e0f....parquet                   what they come to (rollup.py), as of a part of one file

No two of the files that are written as one tell of the same node: so whoever reads knows by the node whether a row
counts, as one of these ranges may be given up and the others not. Which ranges are read together is ranges.py's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, groupby, pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyrepl.metrics import scan, scanning
from pyrepl.metrics.arrow import by_day
from pyrepl.metrics.blocks import Block
from pyrepl.metrics.column import Table
from pyrepl.metrics.packed import digest
from pyrepl.metrics.part import PLAIN, Ways, Writer, keep_text, put, read_into, read_split, rolled_up
from pyrepl.metrics.quicklines import QuickLines
from pyrepl.metrics.ranges import Split, Told
from pyrepl.metrics.scanning import Lines, Waiting
from pyrepl.metrics.tables import EVENTS, SAMPLES
from pyrepl.metrics.textlines import Parsed, parse

_Ranges = list[tuple[Writer, Mapping[Table, Any]]]
"""Ranges that were read, and their rows."""


def read_all(splits: Sequence[Split], tables: str, zone: str) -> Iterator[Told]:
    """What became of ranges, in their order; those are read together that are to be. Raises WriteError."""
    for number, own in groupby(splits, attrgetter("together")):
        if number:
            yield from read_together(list(own), tables, zone)
        else:
            for split in own:
                yield read_split(split, tables, zone)


def read_together(splits: Sequence[Split], tables: str, zone: str) -> list[Told]:
    """What became of each; those of which another one tells of the same node are written by themselves. Raises
    WriteError."""
    logged, texts = _Logged(), _Texts()
    how = Ways(logged if scan.IS_COMPILED else None, texts, zone)
    writers = [Writer(Path(tables), split) for split in splits]
    for writer in writers:
        read_into(writer, how)
    logged.read_all()
    texts.read_all(zone)
    taken: set[str] = set()
    together: _Ranges = []
    for writer in writers:
        nodes = writer.nodes()
        if taken.isdisjoint(nodes):
            taken |= nodes
            together.append((writer, writer.taken()))
        else:
            writer.flush()
    _write(Path(tables), together)
    return [writer.told for writer in writers]


class _Lines(NamedTuple):
    """Of a text log, at the places `where` of a block; and whose they are."""

    writer: Writer
    block: Block
    where: Any
    lines: Any


@final
class _Logged:
    """Reads the event logs' lines of all ranges at once."""

    def __init__(self) -> None:
        self._waiting: list[Waiting] = []

    def read(self, whose: Lines, block: Block) -> None:
        self._waiting.append(Waiting(whose, block))

    def read_all(self) -> None:
        """What waits."""
        if self._waiting:
            scanning.scan(QuickLines(), self._waiting)
            self._waiting = []


@final
class _Texts:
    """Reads the text logs' lines of all ranges at once: it takes hundreds of calls of Arrow's, however few they are."""

    def __init__(self) -> None:
        self._waiting: list[_Lines] = []

    def read(self, writer: Writer, block: Block, where: Any, lines: Any) -> None:
        self._waiting.append(_Lines(writer, block, where, lines))

    def read_all(self, zone: str) -> None:
        """What waits."""
        if not self._waiting:
            return
        # Each line's node is the number of its block, until the events are dealt out again.
        numbers = [pa.repeat(str(number), len(one.lines)) for number, one in enumerate(self._waiting)]
        lines = pa.concat_arrays([one.lines for one in self._waiting])
        parsed = parse(lines, zone, pa.concat_arrays(numbers))
        begins = list(accumulate((len(one.lines) for one in self._waiting), initial=0))
        for one, part in zip(self._waiting, _parts(parsed, begins), strict=True):
            keep_text(one.block, part, one.where, one.writer)
        self._waiting = []


def _parts(parsed: Parsed, begins: Sequence[int]) -> Iterator[Parsed]:
    """What the lines of each block gave, which begin at `begins`, and whose node is the block's number. The last is the
    number of all lines."""
    numbers = parsed.events["node"].cast(pa.int64())
    events = parsed.events.take(pc.sort_indices(numbers))
    counts = np.bincount(numbers.to_numpy(), minlength=len(begins) - 1).tolist()
    events = events.set_column(events.schema.get_field_index("node"), "node", pa.nulls(len(events), pa.string()))
    first = 0
    for (begin, end), count in zip(pairwise(begins), counts, strict=True):
        unparsed, unknown = (
            [index - begin for index in found if begin <= index < end] for found in (parsed.unparsed, parsed.unknown)
        )
        ignored = end - begin - count - len(unparsed) - len(unknown)
        yield Parsed(events.slice(first, count), ignored, unparsed, unknown)
        first += count


def _write(tables: Path, ranges: _Ranges) -> None:
    told = sorted((split.file_id, split.start, split.end) for split in (writer.split for writer, _ in ranges))
    name = f"part-{digest(repr(told).encode())}.parquet"
    for table in (EVENTS, SAMPLES):
        own = [(writer, rows[table]) for writer, rows in ranges if table in rows]
        if own:
            _write_table(tables, table, own, name)


def _write_table(tables: Path, table: Table, own: Sequence[tuple[Writer, Any]], name: str) -> None:
    """A file for each day, and those of what all of them come to."""
    every = pa.concat_tables([rows for _, rows in own]).combine_chunks()
    for day, of_day in by_day(every):
        path = f"{table.name}/day={day}/{name}"
        put(tables / path, of_day.drop_columns(["day"]))
        for writer, rows in own:
            if of_day is every or pc.any(pc.equal(rows["day"], day)).as_py():
                writer.told.parts.append(path)
    made = rolled_up(table, every)
    whose = {node: writer.told for writer, rows in own for node in pc.unique(rows["node"]).to_pylist()}
    for mark in made.marks:
        whose[mark["node"]].marks.append({"part": name, **mark})
    for rollup, found in made.tables.items():
        path = f"{rollup}/{name}"
        put(tables / path, found.to_arrow(compat_level=PLAIN))
        there = {id(whose[node]) for node in found["node"].unique()}
        for writer, _ in own:
            if id(writer.told) in there:
                writer.told.rollups.append(path)
