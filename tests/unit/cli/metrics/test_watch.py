"""What is being done, on a terminal and elsewhere."""

from __future__ import annotations

import io
import os
import pty
import threading

import pytest

from cli.metrics.watch import Lines, Watch
from pyrepl.analysis.progress import Tasks


def test_lines_as_a_step_begins_and_while_it_lasts() -> None:
    file = io.StringIO()
    lines = Lines(file)
    lines.start()
    lines.step("prepare")
    lines.step("start Spark")
    for now in (100.0, 109.9, 110.0, 115.0):
        lines.look(now)
    lines.detail(1, 4, "1/4 tasks in 1 stage")
    lines.look(120.5)
    lines.step("analyse")
    lines.look(121.0)
    lines.look(130.9)
    lines.stop()
    assert file.getvalue().splitlines() == [
        "pyrepl metrics: prepare",
        "pyrepl metrics: start Spark",
        "pyrepl metrics: start Spark, for 10 s now",
        "pyrepl metrics: start Spark, 1/4 tasks in 1 stage, for 20 s now",
        "pyrepl metrics: analyse",
    ]


def test_elsewhere_than_on_a_terminal_it_says_lines(capfd: pytest.CaptureFixture[str]) -> None:
    with Watch(quiet=False) as watch:
        watch.step("prepare")
        watch.stop()
        watch.step("never shown")
    assert capfd.readouterr() == ("", "pyrepl metrics: prepare\n")


def test_quiet_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with Watch(quiet=True) as watch:
        watch.step("prepare")
    assert capfd.readouterr() == ("", "")


def test_a_bar_on_a_terminal_which_goes_without_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    ours, theirs = pty.openpty()
    kept = os.dup(2)
    try:
        os.dup2(theirs, 2)
        watch = Watch(quiet=False)
    finally:
        os.dup2(kept, 2)
        os.close(kept)
    asked = threading.Semaphore(0)

    def tasks() -> Tasks:
        asked.release()
        return Tasks(1, 2, 1)

    with watch:
        watch.step("read")
        watch.ask(tasks)
        assert asked.acquire(timeout=60) and asked.acquire(timeout=60), "what was told first is shown by then"
    os.close(theirs)
    shown = b""
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:
            break
        if not data:
            break
        shown += data
    os.close(ours)
    text = shown.decode()
    assert "read" in text and "1/2 tasks in 1 stage" in text and "pyrepl metrics:" not in text
    assert text.rstrip().endswith("\x1b[2K"), "the line is erased"


def test_whoever_has_closed_standard_error_does_not_want_to_know() -> None:
    class Closed(io.StringIO):
        def flush(self) -> None:
            raise BrokenPipeError

    Lines(Closed()).step("prepare")
