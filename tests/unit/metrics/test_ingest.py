"""A second run reads only what is new; damaged files are told and the rest is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyrepl.metrics import ingest as ingesting
from pyrepl.metrics import seen
from pyrepl.metrics.ingest import ingest, news
from pyrepl.metrics.manifest import NAME, in_force
from pyrepl.metrics.places import FOLDER
from tests.unit.metrics.conftest import LOGS, Analysed
from tests.unit.metrics.inline import read, read_by_tasks, told


def test_a_second_run_reads_nothing(corpora: dict[str, Analysed]) -> None:
    first, second = corpora["text"].tables["runs"]
    assert (first["files"], first["unparsed"]) == (51, 0)
    assert second == {"files": 0, "lines": 0, "bytes": 0, "unparsed": 0}


def test_every_line_is_accounted_for(corpora: dict[str, Analysed]) -> None:
    for name in ("text", "events"):
        for row in corpora[name].tables["files"]:
            assert row["lines"] == row["events"] + row["ignored"] + row["unparsed"], row


def test_damaged_files_are_told(corpora: dict[str, Analysed]) -> None:
    files = {row["file"].rpartition("/damaged/")[2]: row for row in corpora["events"].tables["files"]}
    assert files["binary.log"]["error"] == "binary, no log: not read"
    assert files["empty.log"]["form"] == "empty"
    assert "end-of-stream" in files["cut.log.gz"]["error"]
    assert files["cut.log.gz"]["unparsed"] > 1000
    assert (files["huge.log"]["lines"], files["huge.log"]["unparsed"]) == (3, 3)
    assert (files["wrong.jsonl"]["events"], files["wrong.jsonl"]["unparsed"]) == (1, 6)
    why = sorted(row["why"] for row in corpora["events"].tables["unparsed"] if row["file"].endswith("wrong.jsonl"))
    assert why == ["encoding", "json", "json", "schema", "schema", "text"]


def test_what_was_worked_out_of_tables_that_are_gone_is_forgotten(tmp_path: Path) -> None:
    logs, tables = LOGS / "events" / "pyrepl-pair", tmp_path / "tables"
    read(logs, tables)
    told(tables)
    news([logs], tables)
    assert list((tables / FOLDER).iterdir())
    (tables / NAME).unlink()
    news([logs], tables)
    assert not (tables / FOLDER).exists()


def test_while_logs_lie_as_they_did_none_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, tables = tmp_path / "a.log", tmp_path / "tables"
    log.write_bytes(b"1:M 21 Nov 2026 10:00:00.000 * Connection with replica 10.0.0.2:6379 lost.\nhalf a l")
    done = ingest(lambda splits, tables, _: read_by_tasks(splits, tables), [log], tables)
    assert done.lines == 2
    with monkeypatch.context() as patched:
        patched.setattr(ingesting, "planned", None)
        found = news([log], tables)
    assert not found.splits and found.loaded is None and found.manifest == in_force(tables)
    assert [entry.path for entry in found.known.entries.values()] == [str(log)]
    with log.open("ab") as more:
        more.write(b"ine\n")
    found = news([log], tables)
    assert [(split.start, split.end) for split in found.splits] == [(75, 87)]


def test_logs_of_which_one_cannot_be_read_are_looked_at_again(tmp_path: Path) -> None:
    log, tables = tmp_path / "a.log", tmp_path / "tables"
    log.write_bytes(bytes(range(256)))
    ingest(lambda splits, tables, _: read_by_tasks(splits, tables), [log], tables)
    assert not (tables / seen.NAME).exists()
