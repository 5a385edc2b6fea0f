"""Spark around an analysis: where it runs, signals and what Java says while it starts, why it did not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pyrepl.analysis import spark as metrics_spark
from pyrepl.analysis.asked import Asked
from tests.unit.analysis.test_needs import fake_java


def test_why_spark_did_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    fake_java(tmp_path, 'openjdk version "11.0.2"')
    assert "this is Java 11" in metrics_spark._why_no_start("local[1]", RuntimeError("gone"), "")
    monkeypatch.delenv("JAVA_HOME")
    chatter = "WARN this\n26/11/21 ERROR Worker: cannot bind\nmore"
    assert metrics_spark._why_no_start("spark://x:1", RuntimeError("gone\nand more"), chatter) == (
        "Spark did not start on spark://x:1: gone\n  26/11/21 ERROR Worker: cannot bind"
    )


@pytest.mark.parametrize("number", metrics_spark.SIGNALS)
def test_a_signal_waits_until_java_has_started(number: signal.Signals) -> None:
    before = signal.signal(number, signal.default_int_handler)
    done = []
    try:
        with pytest.raises(KeyboardInterrupt), metrics_spark._held_back():
            signal.raise_signal(number)
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # as Spark takes it
            done.append("started")
        assert done == ["started"]
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, before)


def test_where_spark_runs() -> None:
    assert metrics_spark.master_of(Asked(("log",)), {}) == "local[*]"
    elsewhere = {"spark.master": "yarn"}
    assert metrics_spark.master_of(Asked(("log",)), elsewhere) == "", "as Spark was told"
    assert metrics_spark.master_of(Asked(("log",), master="spark://x:1"), elsewhere) == "spark://x:1"


def test_how_much_there_is_to_read(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "a").write_bytes(b"12345")
    (tmp_path / "deep" / "er" / "b").write_bytes(b"123")
    assert metrics_spark.bytes_in((str(tmp_path / "deep"), str(tmp_path / "deep" / "a"), str(tmp_path / "none"))) == 13


def test_what_a_program_says_is_kept_aside(capfd: pytest.CaptureFixture[str]) -> None:
    with metrics_spark._hushed() as said:
        subprocess.run([sys.executable, "-c", "import os; os.write(2, b'noi'); os.write(1, b'se')"], check=True)
        assert said() == "noise"
    os.write(2, b"heard")
    os.write(1, b"too")
    assert capfd.readouterr() == ("too", "heard")
