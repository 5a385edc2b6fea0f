"""The stream around the job: signals, its end, what a batch comes to; a whole run is in tests/fault."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
from pyspark.errors import PySparkException

from pyrepl.analysis import follow as metrics_follow
from pyrepl.analysis.asked import Asked
from pyrepl.analysis.failures import CannotRun
from pyrepl.metrics import follow as job
from pyrepl.metrics.ingest import Read
from pyrepl.metrics.report.model import Report


class Query:
    """As much of a StreamingQuery as is asked: it is active for a number of looks, or Java is gone then."""

    def __init__(self, looks: int = 1000, *, gone: bool = False, why: Exception | None = None) -> None:
        self.looks, self.gone, self.why = looks, gone, why
        self.stopped = False

    @property
    def isActive(self) -> bool:
        self.looks -= 1
        if self.looks < 0 and self.gone:
            raise ConnectionRefusedError
        return self.looks >= 0

    def exception(self) -> Exception | None:
        return self.why

    def stop(self) -> None:
        self.stopped = True
        raise RuntimeError("what Java says of a batch that is broken off")


class Batch:
    error: Exception | None = None


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_follow, "_LOOK_S", 0.001)
    monkeypatch.setattr(metrics_follow, "_GRACE_S", 0.001)


def run(monkeypatch: pytest.MonkeyPatch, query: Query, asked: SimpleQueue[int], error: Exception | None = None) -> None:
    monkeypatch.setattr(job, "follow", lambda *_: query)
    batch = Batch()
    batch.error = error
    given: Any = batch
    nothing: Any = None
    metrics_follow._run(nothing, given, Asked(("log",), Path("out")), asked)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_stream(monkeypatch: pytest.MonkeyPatch, number: signal.Signals) -> None:
    before = signal.getsignal(number)
    query = Query()
    with metrics_follow._noted() as asked:
        signal.raise_signal(number)
        run(monkeypatch, query, asked)
    assert query.stopped and signal.getsignal(number) is before


def test_java_that_is_ended_with_us_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service manager signals all processes of a service at once."""

    class Late(SimpleQueue[int]):
        def get(self, block: bool = True, timeout: float | None = None) -> int:
            if query.looks < 0:
                self.put(signal.SIGTERM)
            return super().get(block, timeout)

    query = Query(looks=2, gone=True)
    run(monkeypatch, query, Late())
    assert query.stopped


def test_what_ended_the_stream_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OSError, match="No space left"):
        run(monkeypatch, Query(3, why=ValueError("less")), SimpleQueue(), OSError(28, "No space left on device"))
    with pytest.raises(ValueError, match="checkpoint"):
        run(monkeypatch, Query(3, gone=True, why=ValueError("checkpoint")), SimpleQueue())
    with pytest.raises(CannotRun, match="does not say why"):
        run(monkeypatch, Query(0), SimpleQueue())


def report(last_us: int | None) -> Report:
    totals = {"syncs": 3, "partial_ok": 1, "full_ok": 1, "full_failed": 1, "unparsed_lines": 7}
    return Report(
        {"totals": [totals], "nodes": [{"last_us": last_us}]}, ("log",), 1795258584000000, "0", {}, frozenset()
    )


def test_what_a_batch_comes_to(tmp_path: Path) -> None:
    asked = Asked(("log",), tmp_path, late_s=60)
    one = report(1795258590000000)
    assert metrics_follow.batch_of(one, Read(2, 30, 1000, 7), asked) == (one, 2, 1795258530000000)
    assert json.loads((tmp_path / "follow.json").read_text()) == {
        "made_at_us": 1795258584000000, "final_before_us": 1795258530000000,
    }  # fmt: skip
    assert metrics_follow.batch_of(report(None), Read(0, 0, 0, 0), asked).final_us is None
    assert json.loads((tmp_path / "follow.json").read_text())["final_before_us"] is None


def test_a_damaged_checkpoint_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether Spark notices at once or in its first batch."""
    damaged = PySparkException("[STREAMING_CHECKPOINT] the metadata file is missing")

    def refused(*_: Any) -> Query:
        raise damaged

    with pytest.raises(CannotRun, match="missing") as later:
        run(monkeypatch, Query(0, why=damaged), SimpleQueue())
    monkeypatch.setattr(job, "follow", refused)
    nothing: Any = None
    given: Any = Batch()
    with pytest.raises(CannotRun, match="missing") as at_once:
        metrics_follow._run(nothing, given, Asked(("log",), Path("out")), SimpleQueue())
    assert str(later.value) == str(at_once.value)
    assert str(later.value).endswith(f"Its own notes in out/checkpoint may be damaged: {metrics_follow.REMOVE_IT}")


def test_a_java_that_is_gone_is_no_damaged_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConnectionRefusedError):
        run(monkeypatch, Query(0, why=ConnectionRefusedError()), SimpleQueue())


def test_a_plan_that_failed_is_no_damaged_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    why = "Traceback (most recent call last):\n  at\npyrepl.errors.ConfigError: tables is of another version\n\nJVM"
    with pytest.raises(PySparkException, match="ConfigError"):
        run(monkeypatch, Query(0, why=PySparkException(why)), SimpleQueue())


def test_a_source_that_is_late_is_started_again_for_some_times(monkeypatch: pytest.MonkeyPatch) -> None:
    late = PySparkException("Python worker failed to connect back.")
    queries = [Query(0, why=late), Query(0, why=late), Query(0, why=ValueError("checkpoint"))]
    starts: list[str] = []

    def started(*asked: Any) -> Query:
        starts.append(asked[3])
        return queries[len(starts) - 1]

    nothing: Any = None
    given: Any = Batch()
    monkeypatch.setattr(job, "follow", started)
    with pytest.raises(ValueError, match="checkpoint"):
        metrics_follow._run(nothing, given, Asked(("log",), Path("out")), SimpleQueue())
    assert len(set(starts)) == 3
    with pytest.raises(PySparkException, match="connect back"):
        run(monkeypatch, Query(0, why=late), SimpleQueue())
