"""The metrics as an OpenMetrics text file, which Prometheus's node_exporter reads from its textfile folder as well.

All are gauges: they speak of the span that the logs cover, and a later run may cover another one. Names are
`pyrepl_metrics_<table>_<column>`, help and unit are the columns'.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.openmetrics.exposition import generate_latest

from pyrepl.metrics.column import Column, Kind, Table
from pyrepl.metrics.report.model import Report, word
from pyrepl.metrics.report.summary import known, quantile
from pyrepl.metrics.report.words import PHASES
from pyrepl.metrics.results import RESULTS

PREFIX: Final = "pyrepl_metrics_"
QUANTILES: Final = (0.5, 0.9, 0.99, 1.0)

LABELS: Final[dict[str, tuple[str, ...]]] = {
    "totals": (),
    "modes": ("mode",),
    "full_causes": ("cause",),
    "cut_causes": ("cause",),
    "loops": ("node", "replica", "reason"),
    "retries": ("node", "replica", "reason"),
    "availability": ("node", "replica"),
    "write_rate": ("node",),
    "skew": ("node", "reference"),
    "nodes": ("node", "kind", "version"),
    "advice": ("kind", "severity", "node", "replica", "directive", "value"),
}
"""The tables that are shown, with the columns that tell their rows apart; the others have a row per happening."""


@final
@dataclass(frozen=True, slots=True)
class _Collector:
    """What the library asks for the metrics."""

    report: Report

    def collect(self) -> Iterator[Metric]:
        for table in RESULTS:
            if table.name in LABELS:
                yield from _families(self.report, table)
        yield _phases(self.report)


def openmetrics(report: Report) -> bytes:
    """The whole file, ended as OpenMetrics wants it. What the logs do not tell has no sample."""
    text: bytes = generate_latest(_Collector(report))  # type: ignore[no-untyped-call]
    return text


def _families(report: Report, table: Table) -> Iterator[Metric]:
    labels = LABELS[table.name]
    for column in table.columns:
        if column.name in labels or column.kind is Kind.TEXT:
            continue
        family = GaugeMetricFamily(f"{PREFIX}{table.name}_{column.name}", _help(column), labels=labels)
        for row in report.rows(table.name):
            value = row.get(column.name)
            if value is not None and math.isfinite(float(value)):
                family.add_metric([word(row, label) for label in labels], float(value))
        yield family


def _help(column: Column) -> str:
    return f"{column.rule} ({column.unit})" if column.unit else column.rule


def _phases(report: Report) -> Metric:
    """How long the phases took, by mode, of the syncs that ended well."""
    labels = ("mode", "phase", "quantile")
    name = f"{PREFIX}sync_phase_seconds"
    family = GaugeMetricFamily(name, "Seconds that a phase of a sync took; total is the whole sync", labels=labels)
    syncs = [row for row in report.rows("syncs") if row.get("ok")]
    for mode in sorted({word(row, "mode") for row in syncs}):
        rows = [row for row in syncs if word(row, "mode") == mode]
        for column in (*PHASES, "total_ms"):
            values = known(rows, column)
            for at in QUANTILES if values else ():
                ms = quantile(values, at)
                assert ms is not None
                family.add_metric([mode, column.removesuffix("_ms"), f"{at:g}"], ms / 1000)
    return family
