"""The metrics as one JSON object: the counts of the whole at the top level, every result table below `tables`.

Tables named in `cut` have more rows than stand here; Parquet has them all.
What stands at the top level stays: other programs read it. `modes`, `full_causes` and `cuts` map a code to its count,
`loops` and `nodes` are lists of rows; a loop has `node`, `replica`, `reason` and `count`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

from pyrepl.metrics.report.model import Report, Row, Value, whole, word
from pyrepl.metrics.report.words import MODES
from pyrepl.metrics.results import RESULTS, SERIES
from pyrepl.metrics.tables import FILES, UNPARSED

TABLES: Final = (*RESULTS, SERIES, FILES, UNPARSED)
"""What stands below `tables`."""

COUNTS: Final = (
    "syncs",
    "full_ok",
    "full_failed",
    "full_open",
    "partial_ok",
    "partial_refused",
    "partial_ratio",
    "connect_failures",
    "dumps",
)
"""The columns of totals that stand at the top level under their own names."""
_ROW: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
"""Without indentation it is the compiled one, a fifth of the time."""


def _head(report: Report) -> dict[str, Any]:
    """The top level without the nodes and the tables, of plain values. Numbers that JSON has no word for are null."""
    totals = report.totals
    span = report.span_us
    return {
        **{name: _plain(totals.get(name)) if name == "partial_ratio" else whole(totals, name) for name in COUNTS},
        "modes": dict.fromkeys(MODES, 0) | {word(row, "mode"): whole(row, "count") for row in report.rows("modes")},
        "full_causes": {word(row, "cause"): whole(row, "count") for row in report.rows("full_causes")},
        "loops": [_plain_row(row) for row in report.rows("loops")],
        "cuts": {word(row, "cause"): whole(row, "count") for row in report.rows("cut_causes")},
        **{name: whole(totals, name) for name in ("unparsed_lines", "unknown_lines")},
        "first_us": span[0] if span else None,
        "last_us": span[1] if span else None,
        "made_at_us": report.made_at_us,
        "made_by": f"pyrepl {report.version}",
        "sources": list(report.sources),
        "seconds": {step: round(spent, 3) for step, spent in report.seconds.items()},
        "cut": sorted(report.cut),
    }


def as_json(report: Report) -> Iterator[str]:
    """The object as text, indented, with a line end; the rows of the tables, and the nodes, a line each. In pieces, as
    that of a fleet is large."""
    yield json.dumps(_head(report), indent=2, ensure_ascii=False, allow_nan=False).removesuffix("\n}")
    yield ',\n  "nodes": '
    yield from _lines(report.rows("nodes"), "  ")
    begin = ',\n  "tables": {\n'
    for table in TABLES:
        yield f'{begin}    "{table.name}": '
        yield from _lines(report.rows(table.name), "    ")
        begin = ",\n"
    yield "\n  }\n}\n"


def _lines(rows: Sequence[Row], indent: str) -> Iterator[str]:
    """A list, of which each row is a line."""
    begin = "["
    for row in rows:
        yield f"{begin}\n{indent}  {_line(row)}"
        begin = ","
    yield f"\n{indent}]" if rows else "[]"


def _line(row: Row) -> str:
    try:
        return _ROW.encode(dict(row))
    except ValueError:
        return _ROW.encode(_plain_row(row))


def _plain_row(row: Row) -> dict[str, Value]:
    return {name: _plain(value) for name, value in row.items()}


def _plain(value: Value) -> Value:
    return None if isinstance(value, float) and not math.isfinite(value) else value
