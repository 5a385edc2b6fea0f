"""A range of a file is read: it goes in, Parquet files of the canonical tables come out.

Runs in Spark's Python workers, on plain Arrow. File names follow from the range alone, so a task that runs twice writes
the same files again. Small ranges are written several at once: together.py. What ranges there are is plan.py's, what
counts afterwards manifest.py's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, final
from urllib.parse import quote

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pyrepl.metrics import jsonlines, scan, scanning, textlines, wrappers
from pyrepl.metrics.arrow import schema
from pyrepl.metrics.blocks import Block, TooLong, blocks
from pyrepl.metrics.column import Table
from pyrepl.metrics.kinds import JSON
from pyrepl.metrics.lines import joined, line_array
from pyrepl.metrics.packed import begins_as, opened
from pyrepl.metrics.quicklines import QuickLines
from pyrepl.metrics.ranges import Split, Told
from pyrepl.metrics.rollup import TRACES, Rollup, rollup
from pyrepl.metrics.scanning import Lines, Waiting
from pyrepl.metrics.tables import EVENTS, SAMPLES, UNKNOWN, UNPARSED
from pyrepl.temporary import SHARED, replacing

FLUSH_ROWS: Final = 400_000
SHOWN: Final = 500
RISING: Final = ("at_us", "seq", "offset")
_TEXTS: Final = (pa.string(), pa.large_string())
_IN_PATH: Final = ("day", "node")
PLAIN: Final = pl.CompatLevel.oldest()
"""Strings as every reader of Parquet knows them."""


class WriteError(Exception):
    """A part cannot be written, as on a full disk: which, and why. Nothing of the run counts then."""


def read_split(split: Split, tables: str, zone: str, *, quick: bool = scan.IS_COMPILED) -> Told:
    """Read it and write its parts under the folder `tables`. Faults of the file end up in `error`.

    `quick`: usual lines are read by the scan. Raises WriteError.
    """
    writer = Writer(Path(tables), split)
    read_into(writer, Ways(_Logged() if quick else None, _Texts(zone), zone))
    writer.flush()
    return writer.told


class Logged(Protocol):
    """Reads the usual lines of event logs, and has their owner read the others."""

    def read(self, whose: Lines, block: Block) -> None:
        """A block that begins like one of an event log."""
        ...


class Texts(Protocol):
    """Reads the lines of text logs."""

    def read(self, writer: Writer, block: Block, where: Any, lines: Any) -> None:
        """`lines` stand at the places `where` among those of a block; what they say is the writer's."""
        ...


class Ways(NamedTuple):
    """How lines are read: those of event logs (None: none of them by the scan), and those of text logs in a zone of
    time."""

    logged: Logged | None
    texts: Texts
    zone: str


@final
class _Logged:
    """Each block by itself."""

    def __init__(self) -> None:
        # Not before somebody asks, as a reader of text logs does not: its buffers are large.
        self._quick: Final = cache(QuickLines)

    def read(self, whose: Lines, block: Block) -> None:
        scanning.scan(self._quick(), [Waiting(whose, block)])


@final
@dataclass(frozen=True, slots=True)
class _Texts:
    """Each block by itself."""

    zone: str

    def read(self, writer: Writer, block: Block, where: Any, lines: Any) -> None:
        keep_text(block, textlines.parse(lines, self.zone), where, writer)


def read_into(writer: Writer, ways: Ways) -> None:
    """Read the range of a writer; faults of the file end up in `error`. Raises WriteError."""
    split, told = writer.split, writer.told
    reader = _Reader(split, Zone(ways.zone, _written_us(split.path)), writer, ways)
    try:
        with opened(Path(split.path), split.start) as source:
            _check(split)
            for block in blocks(source, split.start, None if split.end < 0 else split.end):
                if isinstance(block, TooLong):
                    told.lines += 1
                    told.read = block.start + block.size + 1 - split.start
                    writer.keep_line(block.start, block.size, "too_long", block.head)
                else:
                    told.read = block.start + len(block.data) - split.start
                    reader.read(block)
    except OSError as error:
        told.error = f"{getattr(error, 'strerror', None) or error}, after {told.read} bytes"
    if split.end >= 0:
        told.read = min(told.read, split.end - split.start)


def _check(split: Split) -> None:
    """Raise OSError if the path leads to another file by now. If it does not, once the file is open, then that is the
    planned one: a path that was given to another file never comes back to the one before."""
    if split.head and not begins_as(Path(split.path), split.head_bytes, split.head):
        raise OSError("another file has this name by now")


def _written_us(path: str) -> int:
    """When the file was written last; the time of the epoch when it cannot be read, which is told by who opens it."""
    try:
        return Path(path).stat().st_mtime_ns // 1000
    except OSError:
        return 0


class Zone(NamedTuple):
    """What times of text logs leave open: their zone, and when their file was written last (Unix us)."""

    name: str
    written_us: int


@final
class _Reader:
    """Reads the blocks of a split: those of an event log by the scan, all others as they come."""

    def __init__(self, split: Split, zone: Zone, writer: Writer, ways: Ways) -> None:
        self._split = split
        self._zone = zone
        self._writer = writer
        self._ways = ways

    def read(self, block: Block) -> None:
        if self._ways.logged is not None and block.data.startswith(b"{"):
            self._ways.logged.read(self, block)
        else:
            self.read_any(block, 0, len(block.data))

    def keep(self, parsed: jsonlines.Parsed, lines: int) -> None:
        told = self._writer.told
        told.lines += lines
        told.json_lines += lines
        _keep_rows(parsed, self._writer)

    def read_any(self, block: Block, at: int, end: int) -> None:
        data = block.data if end - at == len(block.data) else block.data[at:end]
        _read_block(Block(block.start + at, data), self._split, self._zone, self._writer, self._ways.texts)


def _read_block(block: Block, split: Split, zone: Zone, writer: Writer, texts: Texts) -> None:
    lines = line_array(block.data)
    told = writer.told
    told.lines += len(lines)
    found = wrappers.present(_words(_some(lines)))
    if found:
        _read_wrapped(block, wrappers.unwrap(_words(lines), found, *zone), split, zone, writer)
        return
    braced = _of_event_log(lines)
    count = pc.sum(braced).as_py() or 0
    if count:
        told.json_lines += count
        if count == len(lines):
            _keep_json(block, jsonlines.parse(block.data, lines), None, writer)
        else:
            _keep_json(block, jsonlines.parse(joined(lines.filter(braced))), braced, writer)
    if count < len(lines):
        where = pc.indices_nonzero(pc.invert(braced))
        texts.read(writer, block, where, _words(lines.take(where)))


def _of_event_log(lines: Any) -> Any:
    return pc.and_not(pc.starts_with(lines, pattern="{"), textlines.in_json(lines))


def _some(lines: Any) -> Any:
    """Lines of both ends of a block."""
    most = wrappers.SAMPLE
    return lines if len(lines) <= 2 * most else lines.take([*range(most), *range(len(lines) - most, len(lines))])


def _words(lines: Any) -> Any:
    """Lines with their ends as strings without; what is no UTF-8 is escaped."""
    words = joined(lines).decode("utf-8", "backslashreplace").replace("\x00", "\\x00").split("\n")[:-1]
    return pc.utf8_rtrim(pa.array(words, pa.string()), characters="\r")


def _read_wrapped(block: Block, found: wrappers.Unwrapped, split: Split, zone: Zone, writer: Writer) -> None:
    told = writer.told
    for name, count in found.seen.items():
        told.wrappers[name] = told.wrappers.get(name, 0) + count
    braced = _of_event_log(found.lines)
    logged = found.lines.filter(braced)
    if len(logged):
        told.json_lines += len(logged)
        data = "\n".join([*logged.to_pylist(), ""]).encode()
        _keep_json(block, jsonlines.parse(data), braced, writer)
    where = pc.indices_nonzero(pc.invert(braced))
    if len(where):
        parsed = textlines.parse(found.lines.take(where), zone.name, found.nodes.take(where))
        keep_text(block, parsed, where, writer)


def _keep_rows(parsed: jsonlines.Parsed, writer: Writer) -> None:
    writer.told.ignored += parsed.ignored
    writer.add(EVENTS, parsed.events)
    writer.add(SAMPLES, parsed.samples)


def _keep_json(block: Block, parsed: jsonlines.Parsed, braced: Any, writer: Writer) -> None:
    """What the lines gave that stand where `braced` is true; None: all of a block."""
    _keep_rows(parsed, writer)
    if parsed.unparsed:
        places = pc.indices_nonzero(braced).to_pylist() if braced is not None else None
        own = _Places(block)
        for index, why in parsed.unparsed:
            own.keep(writer, places[index] if places else index, why)


def keep_text(block: Block, parsed: textlines.Parsed, where: Any, writer: Writer) -> None:
    """What lines of a text log say, which stand at the places `where` of a block."""
    writer.told.ignored += parsed.ignored
    events = parsed.events
    if events.num_rows:
        place = events.schema.get_field_index("node")
        events = events.set_column(place, "node", pc.fill_null(events["node"].cast(pa.string()), writer.split.node))
    writer.add(EVENTS, events)
    if parsed.unparsed or parsed.unknown:
        own, places = _Places(block), where.to_pylist()
        for index in parsed.unparsed:
            own.keep(writer, places[index], "text")
        for index in parsed.unknown:
            own.keep(writer, places[index], UNKNOWN)


class _Places:
    """Where the lines of a block stand, for those few that were not understood."""

    def __init__(self, block: Block) -> None:
        self._start = block.start
        self._lines = block.data.split(b"\n")
        self._offsets = [0]
        for line in self._lines:
            self._offsets.append(self._offsets[-1] + len(line) + 1)

    def keep(self, writer: Writer, index: int, why: str) -> None:
        line = self._lines[index]
        writer.keep_line(self._start + self._offsets[index], len(line), why, line)


@final
class Writer:
    """Gathers rows of a split and writes them, one file for each table, day and node."""

    def __init__(self, tables: Path, split: Split) -> None:
        self.split = split
        self.told = Told(split.file_id, split.start)
        self._tables = tables
        self._waiting: dict[str, list[Any]] = {EVENTS.name: [], SAMPLES.name: []}
        self._rows = 0
        self._flushes = 0
        self._bad: list[dict[str, Any]] = []

    def add(self, table: Table, rows: Any) -> None:
        if not rows.num_rows:
            return
        self.told.events += rows.num_rows
        self._waiting[table.name].append(rows)
        self._rows += rows.num_rows
        if self._rows >= FLUSH_ROWS:
            self.flush()

    def keep_line(self, position: int, size: int, why: str, line: bytes) -> None:
        if why == UNKNOWN:
            self.told.unknown += 1
        else:
            self.told.unparsed += 1
        shown = line[: 4 * SHOWN].decode("utf-8", "backslashreplace")
        shown = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in shown[:SHOWN])
        row = {"file": self.split.path, "position": position, "size": size, "why": why, "line": shown}
        self._bad.append(row)

    def nodes(self) -> frozenset[str]:
        """Whose the rows are that wait."""
        waiting = [rows["node"] for tables in self._waiting.values() for rows in tables]
        return frozenset(node for column in waiting for node in pc.unique(column).to_pylist())

    def flush(self) -> None:
        """Write what waits."""
        for table, rows in self.taken().items():
            self._write(table, rows)
        self._flushes += 1

    def taken(self) -> dict[Table, Any]:
        """The rows that wait, for somebody else to write. What is no row of a log is written."""
        found = {}
        for table in (EVENTS, SAMPLES):
            if self._waiting[table.name]:
                rows = pa.concat_tables(self._waiting[table.name])
                self._waiting[table.name] = []
                self._note_seqs(table, rows)
                if "file" in table.names:
                    place = rows.schema.get_field_index("file")
                    rows = rows.set_column(place, "file", pa.repeat(self.split.path, rows.num_rows))
                found[table] = rows
        if self._bad:
            self._put(UNPARSED.name, pa.Table.from_pylist(self._bad, schema=schema(UNPARSED)))
            self._bad = []
        self._rows = 0
        return found

    def _write(self, table: Table, rows: Any) -> None:
        pairs = _pairs(rows)
        for pair in pairs:
            chosen = rows
            if len(pairs) > 1:
                chosen = rows.filter(pc.and_(pc.equal(rows["day"], pair["day"]), pc.equal(rows["node"], pair["node"])))
            folder = f"{table.name}/day={pair['day']}/node={quote(pair['node'], safe='')}"
            self._put(folder, chosen.drop_columns(list(_IN_PATH)))
        made = rolled_up(table, rows)
        self.told.marks += [{"part": self._name(), **mark} for mark in made.marks]
        for name, found in made.tables.items():
            path = f"{name}/{self._name()}"
            put(self._tables / path, found.to_arrow(compat_level=PLAIN))
            self.told.rollups.append(path)

    def _note_seqs(self, table: Table, rows: Any) -> None:
        """Runs of numbered lines, so that a later reader knows whether any line can be there twice."""
        numbered = rows.select(("run", "seq")).filter(pc.is_valid(rows["seq"]))
        if not numbered.num_rows:
            return
        runs = pc.unique(numbered["run"]).to_pylist()
        for run in runs:
            seq = (numbered if len(runs) == 1 else numbered.filter(pc.equal(numbered["run"], run)))["seq"]
            bounds = pc.min_max(seq).as_py()
            rising = bool(pc.all(pc.greater(seq[1:], seq[:-1])).as_py()) if len(seq) > 1 else True
            self.told.seqs.append([table.name, run, bounds["min"], bounds["max"], rising])

    def _name(self) -> str:
        split = self.split
        return f"part-{split.file_id}-{split.start}-{split.end}-{self._flushes}.parquet"

    def _put(self, folder: str, rows: Any) -> None:
        path = f"{folder}/{self._name()}"
        put(self._tables / path, rows)
        self.told.parts.append(path)


def rolled_up(table: Table, rows: Any) -> Rollup:
    """What some rows come to, without tables of nothing."""
    if table is EVENTS and not pc.any(pc.equal(rows["form"], JSON)).as_py():
        rows = rows.select(TRACES)
    made = rollup(table, pl.from_arrow(rows))  # type: ignore[arg-type]
    return Rollup({name: found for name, found in made.tables.items() if not found.is_empty()}, made.marks)


def put(path: Path, rows: Any) -> None:
    """Write a part. Raises WriteError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path, SHARED) as file:
            pq.write_table(rows, file, **encodings(rows.schema))
    except OSError as error:
        # Not an OSError, which here means that the log cannot be read.
        raise WriteError(f"{path} ({error.strerror or error})") from None


def _pairs(rows: Any) -> list[dict[str, Any]]:
    """The days and nodes that there are; mostly one."""
    each = {name: pc.unique(rows[name]) for name in _IN_PATH}
    if all(len(values) == 1 for values in each.values()):
        return [{name: values[0].as_py() for name, values in each.items()}]
    found: list[dict[str, Any]] = rows.select(list(_IN_PATH)).group_by(list(_IN_PATH)).aggregate([]).to_pylist()
    return found


def encodings(names: Any) -> dict[str, Any]:
    """How columns are written: what rises, as differences; texts, which repeat, by a dictionary; numbers seldom do."""
    return {
        "compression": "snappy",
        "use_dictionary": [field.name for field in names if field.type in _TEXTS],
        "column_encoding": {name: "DELTA_BINARY_PACKED" for name in RISING if name in names.names},
    }
