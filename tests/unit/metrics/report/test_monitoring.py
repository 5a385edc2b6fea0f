"""The dashboard and the alert rules: fresh, sound, and about metrics that there are."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from pyrepl.metrics.report.monitoring import ALERTS, PANELS, alerts, dashboard
from pyrepl.metrics.report.openmetrics import PREFIX, prometheus
from tests.peers import finder
from tests.unit.metrics.report.sample import report

CONF = Path(__file__).resolve().parents[4] / "conf"


def test_the_files_are_fresh() -> None:
    say = "python -m pyrepl.metrics.report.monitoring dashboard|alerts > conf/..."
    assert (CONF / "grafana-dashboard.json").read_text() == dashboard(), say
    assert (CONF / "prometheus-alerts.yml").read_text() == alerts(), say


def test_promtool_accepts_the_rules() -> None:
    done = subprocess.run([finder.promtool(), "check", "rules", CONF / "prometheus-alerts.yml"], capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(ALERTS)} rules found".encode() in done.stdout


def test_what_is_watched_is_told() -> None:
    text = "".join(prometheus(report()))
    told = {sample.name for family in text_string_to_metric_families(text) for sample in family.samples}
    told |= {family.name for family in text_string_to_metric_families(text)}
    for row in (*PANELS, *ALERTS):
        names = set(re.findall(rf"{PREFIX}\w+", row.expression))
        assert names and names <= told, row


def test_panels_do_not_overlap() -> None:
    places = [tuple(panel["gridPos"].values()) for panel in json.loads(dashboard())["panels"]]
    assert len(set(places)) == len(PANELS)
