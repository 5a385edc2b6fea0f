"""Results of an earlier run that stand, as nothing that they are made of has changed since: Spark need not start.

What they are made of is how far each log was read and under which name it lies there now, as the manifest tells it, the
bounds, the zone, and the versions of pyrepl and of the results' shape. The version of the results (versions.py) bears
the digest of all that. Rows come from its files as they went in, in the order of the report. What is damaged or not
there costs the time to work it out anew.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pyarrow as pa

from pyrepl import VERSION
from pyrepl.metrics import manifest, versions
from pyrepl.metrics.keep import SHAPE
from pyrepl.metrics.manifest import Manifest
from pyrepl.metrics.parquet import SCHEMA_VERSION, read_shown
from pyrepl.metrics.report.as_json import TABLES
from pyrepl.metrics.report.model import Report
from pyrepl.metrics.run import Steps, Wanted, report_of
from pyrepl.metrics.shown import ORDER, ordered


def made_of(known: Manifest, wanted: Wanted) -> str:
    """A name for all that the results are made of, 32 hex digits."""
    told = (VERSION, SHAPE, SCHEMA_VERSION, wanted.since_us, wanted.until_us, wanted.zone, manifest.as_text(known))
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:32]


def standing(link: Path, known: Manifest, wanted: Wanted, steps: Steps, made_at_us: int) -> Report | None:
    """The report from the version of the results to which `link` leads, if it is made of just what is wanted now."""
    version = link.resolve()
    if not versions.is_signed(version, made_of(known, wanted)):
        return None
    steps.begin("collect")
    try:
        found = {table.name: read_shown(version, table) for table in TABLES}
    except (OSError, pa.ArrowInvalid):
        return None
    steps.end()
    rows = {name: ordered(own, ORDER[name]) for name, (own, _) in found.items()}
    cut = frozenset(name for name, (_, whole) in found.items() if not whole)
    return report_of(rows, cut, wanted, steps, made_at_us)
