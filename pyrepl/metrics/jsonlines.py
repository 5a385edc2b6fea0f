"""The event log's JSON lines become events and samples, a block at a time, by Arrow's JSON reader.

The schema comes from the event log's own records. What the reader costs grows with its columns, so samples, which most
lines are, are read apart with the few that they have. A block with a damaged line is taken apart line by line, so that
only the damaged ones are left out; events not known here are passed over. Not here: cutting a file into blocks
(blocks.py), text logs (textlines.py).
"""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from pyrepl.metrics import kinds
from pyrepl.metrics.arrow import days, shaped
from pyrepl.metrics.column import Table
from pyrepl.metrics.lines import joined, line_array
from pyrepl.metrics.tables import EVENTS, SAMPLES
from pyrepl.observability.eventlog.schema import BY_EVENT, COLUMNS

_ARROW: Final = {"string": pa.string(), "long": pa.int64(), "double": pa.float64(), "boolean": pa.bool_()}
_PYTHON: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "long": (int,),
    "double": (int, float),
    "boolean": (bool,),
}
ALWAYS: Final = ("at_us", "event", "node", "run", "seq")
_LARGEST: Final = 1 << 63
LATEST_US: Final = 4_102_444_800_000_000
_KNOWN: Final = pa.array(sorted(BY_EVENT.keys() - kinds.SAMPLES), pa.string())
_SAMPLES: Final = pa.array(sorted(kinds.SAMPLES), pa.string())
_MARK: Final = 'sample",'
"""In each sample's line, and hardly in another's."""


def _schema(table: Table) -> Any:
    """The columns of a canonical table that the event log has."""
    return pa.schema([(column.name, _ARROW[column.type]) for column in COLUMNS if column.name in table.names])


OF_EVENTS: Final = _schema(EVENTS)
OF_SAMPLES: Final = _schema(SAMPLES)
_TYPES: Final = {
    column.name: _PYTHON[column.type] for column in COLUMNS if column.name in {*EVENTS.names, *SAMPLES.names}
}


class Parsed(NamedTuple):
    """What a block gave: events, samples, lines of no meaning here, (index of line, why) of those not understood."""

    events: Any
    samples: Any
    ignored: int
    unparsed: list[tuple[int, str]]


def parse(block: bytes, lines: Any = None) -> Parsed:
    """Take apart whole lines, each beginning with a brace, the last one ended. `lines` is line_array(block), where it
    is known."""
    unparsed: list[tuple[int, str]] = []
    try:
        events, samples = _read_both(block, line_array(block) if lines is None else lines)
    except pa.ArrowInvalid:
        block, unparsed = _sort_out(block)
        events, samples = _read_both(block, line_array(block))
    known = _those(events, pc.is_in(events["event"], value_set=_KNOWN))
    return Parsed(_shaped(EVENTS, known), _shaped(SAMPLES, samples), events.num_rows - known.num_rows, unparsed)


def _read_both(block: bytes, lines: Any) -> tuple[Any, Any]:
    """Events and samples as read. Raises ArrowInvalid when one line is not what it should be."""
    if not block.isascii():
        _check_encoding(block)
    marked = pc.match_substring_regex(lines.cast(pa.string()), pattern=_MARK)
    samples = _read(joined(lines.filter(marked)), OF_SAMPLES)
    others = _read(joined(lines.filter(pc.invert(marked))), OF_EVENTS)
    samples, strays = _part(samples)
    strays_too, events = _part(others)
    if strays.num_rows or strays_too.num_rows:
        samples, events = _part(_read(block, pa.unify_schemas([OF_EVENTS, OF_SAMPLES])))
    return events, samples


def _part(table: Any) -> tuple[Any, Any]:
    """Samples and others, by their true name."""
    is_sample = pc.is_in(table["event"], value_set=_SAMPLES)
    return _those(table, is_sample), _those(table, pc.invert(is_sample))


def _those(table: Any, chosen: Any) -> Any:
    """The rows chosen; when that is all or none, without a copy."""
    count = pc.sum(chosen).as_py() or 0
    return table.slice(0, count) if count in (0, table.num_rows) else table.filter(chosen)


def _check_encoding(block: bytes) -> None:
    try:
        block.decode("utf-8")
    except UnicodeDecodeError as error:
        raise pa.ArrowInvalid(str(error)) from None


def _read(block: bytes, schema: Any) -> Any:
    """Raises ArrowInvalid for a damaged line, and for one that lacks what every line has."""
    if not block or block.isspace():
        return schema.empty_table()
    table = pa.json.read_json(
        pa.BufferReader(block),
        pa.json.ReadOptions(use_threads=False, block_size=len(block) + 1),
        pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
    )
    if any(table[name].null_count for name in ALWAYS):
        raise pa.ArrowInvalid("a line without time, node, run, number or event")
    bounds = pc.min_max(table["at_us"]).as_py()
    if bounds["min"] < 0 or bounds["max"] > LATEST_US:
        raise pa.ArrowInvalid("a time that no clock shows")
    return table


def _sort_out(block: bytes) -> tuple[bytes, list[tuple[int, str]]]:
    """The good lines, and the index of each other with what is wrong."""
    good, bad = [], []
    for index, line in enumerate(block.split(b"\n")):
        if not line.strip():
            continue
        why = why_not(line)
        if why is None:
            good.append(line + b"\n")
        else:
            bad.append((index, why))
    return b"".join(good), bad


def why_not(line: bytes) -> str | None:
    """Why a line is none of the event log: encoding, json or schema; None when it is one."""
    try:
        found = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        return "encoding"
    except (ValueError, RecursionError):
        return "json"
    if not isinstance(found, dict) or any(found.get(name) is None for name in ALWAYS):
        return "schema"
    if not all(_fits(value, _TYPES[name]) for name, value in found.items() if name in _TYPES and value is not None):
        return "schema"
    try:
        _read(line + b"\n", pa.unify_schemas([OF_EVENTS, OF_SAMPLES]))
    except pa.ArrowInvalid:
        return "schema"
    return None


def _fits(value: object, types: tuple[type, ...]) -> bool:
    if isinstance(value, bool):
        return bool in types
    if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        return False
    return isinstance(value, types)


def _shaped(table: Table, rows: Any) -> Any:
    """Rows as read, in the shape of the canonical table."""
    columns = {name: _one(rows[name]) for name in rows.schema.names if name in table.names}
    columns["day"] = days(columns["at_us"])
    if "form" in table.names:
        columns["form"] = pa.repeat("json", rows.num_rows)
    return pa.Table.from_batches([shaped(table, columns, rows.num_rows)])


def _one(column: Any) -> Any:
    """A column as one array."""
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
