"""The metrics for Prometheus: OpenMetrics, and Prometheus's own text format, which node_exporter and promtool read.

The two differ in how a counter is announced, so that neither reader takes the other's. Both come in pieces, as those of
a fleet are large.

Gauges have the values of the result tables: `pyrepl_metrics_<table>_<column>`, help and unit are the columns', in
Prometheus's base units, seconds and bytes. Counters (`_total`) and histograms say what happened in all that the logs
cover; they grow as the logs do, and begin anew where logs are removed.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final

from prometheus_client import exposition
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.openmetrics import exposition as open_exposition

from pyrepl.metrics.column import UNIX_US, Column, Kind, Table
from pyrepl.metrics.report.model import Report, Row, real, whole, word
from pyrepl.metrics.report.summary import known, quantile
from pyrepl.metrics.report.words import PHASES
from pyrepl.metrics.results import RESULTS

PREFIX: Final = "pyrepl_metrics_"
QUANTILES: Final = (0.5, 0.9, 0.99, 1.0)
BUCKETS: Final = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0)
"""Upper bounds of the histograms, seconds, inclusive."""

LABELS: Final[dict[str, tuple[str, ...]]] = {
    "totals": (),
    "costs": ("node",),
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
_BASE: Final = {"us": ("_us", 1e6), UNIX_US: ("_us", 1e6), "ms": ("_ms", 1e3), "s": ("_s", 1.0)}
"""Unit of a column -> how its name ends or goes on, and how many of it are a second."""
END: Final = "# EOF\n"
"""Behind the last family of OpenMetrics."""


@final
@dataclass(frozen=True, slots=True)
class _Collector:
    """What the library asks for a metric."""

    family: Metric

    def collect(self) -> Iterator[Metric]:
        yield self.family


def openmetrics(report: Report) -> Iterator[str]:
    """OpenMetrics, ended as it wants that. What the logs do not tell has no sample."""
    yield from map(in_openmetrics, families(report))
    yield END


def prometheus(report: Report) -> Iterator[str]:
    """The same in Prometheus's text format."""
    return map(in_prometheus, families(report))


def in_openmetrics(family: Metric) -> str:
    """One metric, without END."""
    text: bytes = open_exposition.generate_latest(_Collector(family))  # type: ignore[no-untyped-call]
    return text.decode().removesuffix(END)


def in_prometheus(family: Metric) -> str:
    """One metric."""
    return exposition.generate_latest(_Collector(family)).decode()


def families(report: Report) -> Iterator[Metric]:
    """The metrics, each made when it is asked for."""
    for table in RESULTS:
        if table.name in LABELS:
            yield from _gauges(report, table)
    yield _phases(report)
    yield from _counters(report)
    yield _durations(report)
    yield _outages(report)


def _gauges(report: Report, table: Table) -> Iterator[Metric]:
    labels = LABELS[table.name]
    for column in table.columns:
        if column.name in labels or column.kind is Kind.TEXT:
            continue
        name, per_unit = _named(column)
        family = GaugeMetricFamily(f"{PREFIX}{table.name}_{name}", _help(column), labels=labels)
        for row in report.rows(table.name):
            value = row.get(column.name)
            if value is not None and math.isfinite(float(value)):
                family.add_metric([word(row, label) for label in labels], float(value) / per_unit)
        yield family


def _named(column: Column) -> tuple[str, float]:
    """The name in base units, and how many of the column's unit are one of those. Points in time are timestamps."""
    if column.name == "count":
        # Of a gauge the ending `_count` would be taken for a histogram's.
        return "cases", 1.0
    mark, per_unit = _BASE.get(column.unit, ("", 1.0))
    if not mark:
        return column.name.replace("_per_s", "_per_second"), per_unit
    point = column.unit == UNIX_US
    head, _, tail = f"{column.name}_".partition(f"{mark}_")
    return "_".join(part for part in (head, "timestamp" * point, "seconds", tail.strip("_")) if part), per_unit


def _help(column: Column) -> str:
    unit = "seconds" if column.unit in _BASE else column.unit
    return f"{column.rule} ({unit})" if unit else column.rule


def _phases(report: Report) -> Metric:
    """How long the phases took, by mode, of the syncs that ended well."""
    labels = ("mode", "phase", "share")
    family = GaugeMetricFamily(
        f"{PREFIX}sync_phase_seconds",
        "Seconds that a phase of a sync took, at most, in this share of the syncs; total is the whole sync",
        labels=labels,
    )
    syncs = [row for row in report.rows("syncs") if row.get("ok")]
    for mode in sorted({word(row, "mode") for row in syncs}):
        rows = [row for row in syncs if word(row, "mode") == mode]
        for column in (*PHASES, "total_ms"):
            values = sorted(known(rows, column))
            for at in QUANTILES if values else ():
                ms = quantile(values, at)
                assert ms is not None
                family.add_metric([mode, column.removesuffix("_ms"), f"{at:g}"], ms / 1000)
    return family


def _counters(report: Report) -> Iterator[Metric]:
    """What happened so often, or so much."""
    totals = report.totals
    syncs = CounterMetricFamily(f"{PREFIX}syncs", "Syncs that reached a verdict, by how they ended", labels=("result",))
    for result in ("full_ok", "full_failed", "full_open", "partial_ok") if totals else ():
        syncs.add_metric([result], whole(totals, result))
    yield syncs
    yield _counter(report, "full_resyncs", "Full resyncs by cause", "full_causes", "cause", "count")
    yield _counter(report, "cuts", "Links cut, by cause", "cut_causes", "cause", "count")
    yield _counter(report, "forks", "Snapshot children for replicas", "costs", "node", "forks")
    yield _counter(report, "resent_bytes", "Bytes sent again by full resyncs", "costs", "node", "resent_bytes")
    yield _counter(
        report, "out_of_step_seconds", "Replica-seconds without the master's stream", "costs", "node", "out_s"
    )
    lines = CounterMetricFamily(f"{PREFIX}lines_not_understood", "Lines of logs, by why", labels=("why",))
    for why in ("unparsed", "unknown") if totals else ():
        lines.add_metric([why], whole(totals, f"{why}_lines"))
    yield lines


def _counter(report: Report, name: str, text: str, table: str, label: str, column: str) -> Metric:
    family = CounterMetricFamily(f"{PREFIX}{name}", text, labels=(label,))
    for row in report.rows(table):
        value = real(row, column)
        if value is not None:
            family.add_metric([word(row, label)], value)
    return family


def _durations(report: Report) -> Metric:
    """Of the newest syncs where there are very many."""
    family = HistogramMetricFamily(
        f"{PREFIX}sync_duration_seconds", "How long syncs took that ended well, by mode", labels=("mode",)
    )
    took: dict[str, list[float]] = defaultdict(list)
    for row in report.rows("syncs"):
        ms = real(row, "total_ms")
        if row.get("ok") and ms is not None:
            took[word(row, "mode")].append(ms / 1000)
    for mode, seconds in sorted(took.items()):
        family.add_metric([mode], *_buckets(seconds))
    return family


def _outages(report: Report) -> Metric:
    """Of the newest cuts where there are very many."""
    family = HistogramMetricFamily(
        f"{PREFIX}outage_duration_seconds", "From a cut to the next sync that ended well, by cause", labels=("cause",)
    )
    down: dict[str, list[float]] = defaultdict(list)
    rows: list[Row] = [row for row in report.rows("cuts") if real(row, "down_s") is not None]
    for row in rows:
        down[word(row, "cause")].append(real(row, "down_s") or 0.0)
    for cause, seconds in sorted(down.items()):
        family.add_metric([cause], *_buckets(seconds))
    return family


def _buckets(seconds: list[float]) -> tuple[list[tuple[str, float]], float]:
    """Counts up to each bound, and the sum."""
    ordered = sorted(seconds)
    bounds = [(str(bound), float(bisect_right(ordered, bound))) for bound in BUCKETS]
    return [*bounds, ("+Inf", float(len(seconds)))], sum(seconds)
