"""Rows of what is watched, and from them a dashboard for Grafana and alert rules for Prometheus.

`python -m pyrepl.metrics.report.monitoring dashboard > conf/grafana-dashboard.json`, and `alerts` for
conf/prometheus-alerts.yml; a house test tells when the files are stale.
"""

from __future__ import annotations

import json
import sys
from typing import Any, Final, NamedTuple

from pyrepl.metrics.report.openmetrics import PREFIX


class Panel(NamedTuple):
    """One graph: its expression, the legend of its lines, the unit as Grafana names it."""

    title: str
    expression: str
    legend: str
    unit: str


class Alert(NamedTuple):
    """One rule: when it fires, for how long before, how grave it is, what it says and what to do."""

    name: str
    expression: str
    lasting: str
    severity: str
    summary: str
    description: str


PANELS: Final = (
    Panel("Replicas out of step now", f"sum({PREFIX}costs_out_now) by (node)", "{{node}}", "short"),
    Panel("Open outages", f"{PREFIX}availability_open_outage_seconds", "{{node}} → {{replica}}", "s"),
    Panel(
        "Full resyncs by cause, an hour",
        f"sum(increase({PREFIX}full_resyncs_total[1h])) by (cause)",
        "{{cause}}",
        "short",
    ),
    Panel("Links cut by cause, an hour", f"sum(increase({PREFIX}cuts_total[1h])) by (cause)", "{{cause}}", "short"),
    Panel("Sent again", f"sum(rate({PREFIX}resent_bytes_total[15m])) by (node)", "{{node}}", "Bps"),
    Panel("Forks for replicas, an hour", f"sum(increase({PREFIX}forks_total[1h])) by (node)", "{{node}}", "short"),
    Panel(
        "Full syncs, 90th percentile",
        f"histogram_quantile(0.9, sum(increase({PREFIX}sync_duration_seconds_bucket[1h])) by (le, mode))",
        "{{mode}}",
        "s",
    ),
    Panel("Lag, 99th percentile", f"{PREFIX}availability_lag_bytes_p99", "{{node}} → {{replica}}", "bytes"),
    Panel("What the backlog covers at p99", f"{PREFIX}write_rate_cover_p99_seconds", "{{node}}", "s"),
)
"""The dashboard, in order."""

ALERTS: Final = (
    Alert(
        "PyreplReplicaOutOfStep",
        f"{PREFIX}availability_open_outage_seconds > 60",
        "1m",
        "critical",
        "{{ $labels.replica }} has not had the stream of {{ $labels.node }} for {{ $value | humanizeDuration }}",
        "See Broken now in the report: it names the last cause, and what to do.",
    ),
    Alert(
        "PyreplSyncLoop",
        f"{PREFIX}loops_open_seconds > 0",
        "1m",
        "critical",
        "Syncs of {{ $labels.replica }} with {{ $labels.node }} fail over and over ({{ $labels.reason }})",
        "It does not mend itself: see the report for the cause, and stop the replica if the master suffers.",
    ),
    Alert(
        "PyreplAvoidableFullResyncs",
        f'sum(increase({PREFIX}full_resyncs_total{{cause=~"out_of_backlog|output_buffer"}}[1h])) > 0',
        "5m",
        "warning",
        "{{ $value }} full resyncs in an hour that a larger backlog or output buffer would have spared",
        "The report names the size, with headroom.",
    ),
    Alert(
        "PyreplBacklogCoversLittle",
        f"{PREFIX}write_rate_cover_p99_seconds < 10",
        "15m",
        "warning",
        "The backlog of {{ $labels.node }} covers {{ $value | humanizeDuration }} of heavy writes",
        "A replica that is away for longer needs a full resync: raise repl-backlog-size.",
    ),
    Alert(
        "PyreplLinesNotUnderstood",
        f'increase({PREFIX}lines_not_understood_total{{why="unknown"}}[1d]) > 0',
        "5m",
        "warning",
        "Lines that speak of replication are not understood",
        "All numbers may be low: see the table unparsed.",
    ),
)
"""The rules, the gravest first."""
_WIDE: Final = 12
_HIGH: Final = 8


def dashboard() -> str:
    """Grafana's JSON, two panels in a row, with a variable for the data source."""
    panels = [_panel(place, panel) for place, panel in enumerate(PANELS)]
    source: dict[str, Any] = {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    made = {
        "uid": "pyrepl-metrics",
        "title": "Replication (pyrepl metrics)",
        "schemaVersion": 39,
        "editable": True,
        "time": {"from": "now-24h", "to": "now"},
        "refresh": "1m",
        "templating": {"list": [source]},
        "panels": panels,
    }
    return json.dumps(made, indent=2, ensure_ascii=False) + "\n"


def _panel(place: int, panel: Panel) -> dict[str, Any]:
    source = {"type": "prometheus", "uid": "${source}"}
    return {
        "id": place + 1,
        "type": "timeseries",
        "title": panel.title,
        "datasource": source,
        "gridPos": {"x": place % 2 * _WIDE, "y": place // 2 * _HIGH, "w": _WIDE, "h": _HIGH},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [{"refId": "A", "datasource": source, "expr": panel.expression, "legendFormat": panel.legend}],
    }


def alerts() -> str:
    """Prometheus's YAML. Texts are quoted as JSON quotes them, which YAML reads alike."""
    lines = ["groups:", "  - name: pyrepl", "    rules:"]
    for alert in ALERTS:
        lines += [
            f"      - alert: {alert.name}",
            f"        expr: {_quoted(alert.expression)}",
            f"        for: {alert.lasting}",
            "        labels:",
            f"          severity: {alert.severity}",
            "        annotations:",
            f"          summary: {_quoted(alert.summary)}",
            f"          description: {_quoted(alert.description)}",
        ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


if __name__ == "__main__":
    sys.stdout.write({"dashboard": dashboard, "alerts": alerts}[sys.argv[1]]())
