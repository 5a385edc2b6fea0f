"""The OpenMetrics file, read back by the parsers of both formats."""

from __future__ import annotations

import subprocess

from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_prometheus

from pyrepl.metrics.report.model import Row
from pyrepl.metrics.report.openmetrics import BUCKETS, LABELS, openmetrics, prometheus
from pyrepl.metrics.results import RESULTS
from tests.peers import finder
from tests.unit.metrics.report.sample import empty, report


def samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in read_openmetrics(text)  # type: ignore[no-untyped-call]
        for sample in family.samples
    }


def test_both_parsers_read_the_same() -> None:
    text = "".join(openmetrics(report()))
    told = samples(text)
    assert text.endswith("# EOF\n")
    assert len(told) > 100
    again = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in read_prometheus("".join(prometheus(report())))
        for sample in family.samples
    }
    assert again == told


def test_counters_and_histograms() -> None:
    families = {family.name: family for family in read_openmetrics("".join(openmetrics(report())))}  # type: ignore[no-untyped-call]
    assert families["pyrepl_metrics_full_resyncs"].type == "counter"
    told = samples("".join(openmetrics(report())))
    assert told[("pyrepl_metrics_syncs_total", (("result", "partial_ok"),))] == 22
    assert told[("pyrepl_metrics_cuts_total", (("cause", "connection_lost"),))] == 24
    assert told[("pyrepl_metrics_out_of_step_seconds_total", (("node", "cache-1:6379"),))] == 3969
    name, mode = "pyrepl_metrics_sync_duration_seconds", ("mode", "continue")
    counts = [told[(f"{name}_bucket", (("le", str(bound)), mode))] for bound in BUCKETS]
    assert counts == sorted(counts) and counts[0] == 22
    assert told[(f"{name}_count", (mode,))] == 22
    outages = "pyrepl_metrics_outage_duration_seconds_bucket"
    assert told[(outages, (("cause", "timeout"), ("le", "60.0")))] == 1


def test_promtool_has_no_remarks() -> None:
    done = subprocess.run(
        [finder.promtool(), "check", "metrics"], input="".join(prometheus(report())).encode(), capture_output=True
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, b"")


def test_values_and_labels_are_those_of_the_rows() -> None:
    told = samples("".join(openmetrics(report())))
    assert told[("pyrepl_metrics_totals_syncs", ())] == 43
    assert told[("pyrepl_metrics_modes_cases", (("mode", "continue"),))] == 22
    pair = (("node", "cache-1:6379"), ("replica", "cache-4:6379"))
    assert told[("pyrepl_metrics_availability_availability", pair)] == 0.9612
    phase = (("mode", "full_disk"), ("phase", "total"), ("share", "0.5"))
    assert 60 < told[("pyrepl_metrics_sync_phase_seconds", phase)] < 70


def test_what_is_not_told_has_no_sample() -> None:
    assert samples("".join(openmetrics(empty()))) == {}
    rows: list[Row] = [{"node": "m", "cover_mean_s": float("inf"), "backlog_size": None}]
    assert not [name for name, labels in samples("".join(openmetrics(report(write_rate=rows)))) if "write_rate" in name]


def test_a_text_cannot_break_a_line() -> None:
    rows: list[Row] = [{"cause": 'a"b\nc\\', "count": 3}]
    told = samples("".join(openmetrics(report(cut_causes=rows))))
    assert told[("pyrepl_metrics_cut_causes_cases", (("cause", 'a"b\nc\\'),))] == 3


def test_labels_are_columns() -> None:
    columns = {table.name: set(table.names) for table in RESULTS}
    assert [name for name, labels in LABELS.items() if not columns[name].issuperset(labels)] == []
