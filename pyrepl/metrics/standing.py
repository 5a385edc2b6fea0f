"""Results of an earlier run that stand, as nothing that they are made of has changed since: Spark need not start.

What they are made of is how far each log was read and under which name it lies there now, as the manifest tells it, the
bounds, the zone, and the versions of pyrepl and of the results' shape. The version of the results (versions.py) bears
the digest of all that. Rows come from its files as they went in, in the order of the report, each table when it is
asked for. What is damaged or not there costs the time to work it out anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, final

import pyarrow as pa

from pyrepl import VERSION
from pyrepl.metrics import versions
from pyrepl.metrics.parquet import SCHEMA_VERSION, read_shown
from pyrepl.metrics.places import SHAPE
from pyrepl.metrics.report.as_json import TABLES
from pyrepl.metrics.report.columns import Columns
from pyrepl.metrics.report.model import Report, Row
from pyrepl.metrics.shown import ORDER, ordered
from pyrepl.metrics.wanted import Steps, Wanted


def made_of(manifest: str, wanted: Wanted) -> str:
    """A name for all that the results are made of, 32 hex digits; `manifest` is the digest of what was read."""
    told = (VERSION, SHAPE, SCHEMA_VERSION, wanted.since_us, wanted.until_us, wanted.zone, manifest)
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:32]


@final
class _Ordered(Mapping[str, Sequence[Row]]):
    """Tables of Arrow's by their names, as the report has them: a table is put in order when it is asked for first."""

    def __init__(self, tables: Mapping[str, Any]) -> None:
        self._tables = tables
        self._rows: dict[str, Columns] = {}

    def __getitem__(self, name: str) -> Columns:
        if name not in self._rows:
            self._rows[name] = Columns(ordered(self._tables[name], ORDER[name]))
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)


def standing(link: Path, manifest: str, wanted: Wanted, steps: Steps, made_at_us: int) -> Report | None:
    """The report from the version of the results to which `link` leads, if it is made of just what is wanted now."""
    version = link.resolve()
    if not versions.is_signed(version, made_of(manifest, wanted)):
        return None
    steps.begin("collect")
    try:
        found = {table.name: read_shown(version, table) for table in TABLES}
    except (OSError, pa.ArrowInvalid):
        return None
    steps.end()
    rows = _Ordered({name: own for name, (own, _) in found.items()})
    cut = frozenset(name for name, (_, whole) in found.items() if not whole)
    return Report(rows, wanted.logs, made_at_us, VERSION, steps.seconds, cut)
