"""`pyrepl metrics` around the job: what is missing is said plainly, times, progress, and one run from logs on."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from cli.metrics import run as metrics
from cli.metrics.options import Options
from cli.metrics.run import moment, show
from pyrepl.analysis import needs, spark
from pyrepl.analysis import run as analysis
from pyrepl.analysis.asked import Asked
from pyrepl.analysis.failures import DISK_FULL
from pyrepl.analysis.queries import Answer

NOW_US = 1795258584000000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-21", 1795219200000000),
        ("2026-11-21T10:56:24", NOW_US),
        ("2026-11-21 10:56:24.5", NOW_US + 500_000),
        ("2026-11-21T11:56:24+01:00", NOW_US),
        ("2026-11-21T10:56:24Z", NOW_US),
        ("90s", NOW_US - 90_000_000),
        ("2h", NOW_US - 7_200_000_000),
        ("7d", NOW_US - 604_800_000_000),
    ],
)
def test_moments(text: str, expected: int) -> None:
    assert moment(text, NOW_US) == expected


@pytest.mark.parametrize("text", ["yesterday", "2h ago", "7 days", "21.11.2026"])
def test_what_is_no_moment(text: str) -> None:
    with pytest.raises(ValueError):
        moment(text, NOW_US)


def test_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert show(Options(Asked(("log",)))) == 2
    said = capsys.readouterr().err
    assert said.startswith("pyrepl metrics: Spark runs on Java, 17 or later, and there is none here.")
    assert "apt-get install default-jre-headless" in said


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(needs, "NEEDED", ("json", "no_such_module"))
    assert show(Options(Asked(("log",)))) == 2
    assert capsys.readouterr().err == (
        "pyrepl metrics: needs more than the daemon does, no_such_module is missing here. "
        "Install it: pip install 'pyrepl-server[metrics]'\n"
    )


def test_logs_that_are_not_there_are_told_before_spark_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_spark(*_: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(spark, "spark_for", no_spark)
    (tmp_path / "here.log").touch()
    logs = tuple(str(tmp_path / name) for name in ("a", "here.log", "b.log"))
    for follow in (False, True):
        assert show(Options(Asked(logs, tmp_path / "out"), follow=follow)) == 2
        assert capsys.readouterr().err == f"pyrepl metrics: {tmp_path}/a, {tmp_path}/b.log: no such file or folder\n"
    assert not (tmp_path / "out").exists()


def test_what_is_elsewhere_is_asked_of_spark_and_not_followed() -> None:
    logs = ("hdfs://namenode/logs", "s3a://bucket/logs")
    assert metrics.why_not_there(logs, follow=False) == ""
    assert metrics.why_not_there(logs, follow=True) == (
        "hdfs://namenode/logs, s3a://bucket/logs: --follow reads what this machine sees: mount it"
    )


def test_a_full_disk_is_told_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(metrics, "why_not", lambda: "")
    monkeypatch.setattr(metrics, "_once", full)
    assert show(Options(Asked((str(tmp_path),)))) == 2
    assert capsys.readouterr().err == f"pyrepl metrics: {DISK_FULL}\n"


@pytest.mark.parametrize("follow", [False, True])
def test_a_folder_that_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], follow: bool
) -> None:
    monkeypatch.setattr(metrics, "why_not", lambda: "")
    (tmp_path / "file").touch()
    out = tmp_path / "file" / "out"
    assert show(Options(Asked((str(tmp_path),), out), follow=follow, quiet=True)) == 2
    assert capsys.readouterr().err == (
        f"pyrepl metrics: cannot write to the folder {out}: Not a directory."
        " Give --out a folder that this user may make and write to\n"
    )


def test_no_error_is_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "/out/metrics.json")

    monkeypatch.setattr(metrics, "why_not", lambda: "")
    monkeypatch.setattr(metrics, "_once", refused)
    assert show(Options(Asked((str(tmp_path),)), quiet=True)) == 2
    assert capsys.readouterr().err == "pyrepl metrics: /out/metrics.json: Permission denied\n"


def test_progress_begins_before_what_takes_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    seen: list[str] = []
    monkeypatch.setattr(metrics, "why_not", lambda: "")
    monkeypatch.setattr(metrics, "_work", lambda *_: seen.append(capfd.readouterr().err))
    assert show(Options(Asked((str(tmp_path),)))) == show(Options(Asked((str(tmp_path),)), quiet=True)) == 0
    assert seen == ["pyrepl metrics: prepare\n", ""]
    heavy = "import sys, cli.metrics.run; sys.exit(any(m in sys.modules for m in ('polars', 'pyarrow', 'pyspark')))"
    assert subprocess.run([sys.executable, "-c", heavy], check=False).returncode == 0


@pytest.mark.parametrize("logs", [True, False])
def test_answers_are_printed_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], logs: bool
) -> None:
    """From logs, and of an earlier run."""

    def run(*given: Any, tell: Callable[[Answer], None], **_: Any) -> tuple[None, None]:
        tell(Answer(("n",), iter([(1,), (2,)])))
        return None, None

    monkeypatch.setattr(metrics, "why_not", lambda: "")
    monkeypatch.setattr(analysis, "run", run)
    monkeypatch.setattr(analysis, "query", lambda _asked, _watch, tell: run(tell=tell))
    asked = Asked((str(tmp_path),) if logs else (), tmp_path / "out", sql=("SELECT",))
    assert show(Options(asked, "json", quiet=True)) == 0
    assert capsys.readouterr().out == '{"n": 1}\n{"n": 2}\n'


def line(seq: int, at_s: float, event: str, **fields: Any) -> str:
    head = {"v": 1, "at_us": NOW_US + int(at_s * 1e6), "mono_us": int(at_s * 1e6), "seq": seq, "node": "cache-1"}
    head |= {"run": "f" * 40, "role": "master", "replid": "a" * 40, "offset": 100}
    return json.dumps({**head, "event": event, **fields}) + "\n"


@pytest.mark.spark
@pytest.mark.timeout(1800)
def test_from_logs_to_everything(tmp_path: Path) -> None:
    """One partial resync in an event log, as its master told it; and a line that nobody understands."""
    sync = {"end": "master", "sync": "10.0.0.2:4000/aaaaaaaa:90", "peer": "10.0.0.2:6379"}
    asked = {"replica": "10.0.0.2:6379", "conn": "10.0.0.2:4000", "asked_replid": "a" * 40, "asked_offset": 90}
    log = tmp_path / "logs" / "events.jsonl"
    log.parent.mkdir()
    log.write_text(
        line(1, 0, "node_started", version="0.1.0", pid=1, port=6379)
        + line(2, 1, "psync_asked", **sync, **asked)
        + line(3, 1, "psync_decided", **sync, verdict="continue", missing_bytes=10)
        + line(4, 1.5, "online", **sync, mode="continue", sync_ms=500)
        + "{broken\n"
    )
    out = tmp_path / "out"
    command = [str(Path(sys.executable).with_name("pyrepl")), "metrics", str(log.parent), "--out", str(out)]
    done = subprocess.run(
        [*command, "--format", "json", "--master", "local[1]"], capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0
    # Elsewhere than on a terminal, progress comes in lines.
    said = done.stderr.splitlines()
    assert said[0] == "pyrepl metrics: prepare" and "pyrepl metrics: write" in said
    assert all(line.startswith("pyrepl metrics: ") for line in said)
    told = json.loads(done.stdout)
    assert (told["syncs"], told["partial_ok"], told["full_ok"], told["unparsed_lines"]) == (1, 1, 0, 1)
    assert told["modes"]["continue"] == 1 and [node["node"] for node in told["nodes"]] == ["cache-1"]
    written = json.loads((out / "metrics.json").read_text())
    assert written["tables"]["syncs"] == told["tables"]["syncs"]
    assert "window.vegaEmbed" in (out / "report.html").read_text()
    assert "pyrepl_metrics_totals_syncs 1.0\n" in (out / "metrics.prom").read_text()
    (part,) = (out / "results" / "syncs" / "day=2026-11-21").glob("*.parquet")
    assert pq.read_table(part, partitioning=None).num_rows == 1
