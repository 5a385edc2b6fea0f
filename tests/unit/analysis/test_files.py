"""The files of an analysis."""

from __future__ import annotations

import os
from concurrent.futures import Future
from pathlib import Path

import pytest

from pyrepl.analysis.files import FILES, WRITTEN, replace, still_stand, write_files
from pyrepl.metrics.report.model import Report

LOGS = ("logs",)


def test_a_file_is_replaced_at_once(tmp_path: Path) -> None:
    path = tmp_path / "metrics.json"
    path.write_text("old")
    replace(path, ["n", "ew"])
    assert path.read_bytes() == b"new" and [one.name for one in tmp_path.iterdir()] == ["metrics.json"]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    library: Future[str] = Future()
    library.set_result("draws")
    write_files(Report({}, LOGS, 1, "0.1.0"), tmp_path, "digest", library)
    return tmp_path


def test_files_stand_while_they_are_what_was_written(out: Path) -> None:
    for name in FILES:
        os.utime(out / name, (0, 0))
    assert still_stand(out, "digest", LOGS)
    assert all((out / name).stat().st_mtime > 0 for name in FILES)
    assert not still_stand(out, "other", LOGS) and not still_stand(out, "digest", ("logs", "more"))


@pytest.mark.parametrize("name", [*FILES, WRITTEN])
@pytest.mark.parametrize("content", [None, b"", b"[]"])
def test_files_that_somebody_has_changed_do_not_stand(out: Path, name: str, content: bytes | None) -> None:
    (out / name).unlink() if content is None else (out / name).write_bytes(content)
    assert not still_stand(out, "digest", LOGS)
