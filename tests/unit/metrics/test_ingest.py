"""A second run reads only what is new; damaged files are told and the rest is read."""

from __future__ import annotations

from pathlib import Path

from pyrepl.metrics.ingest import news
from pyrepl.metrics.manifest import NAME
from pyrepl.metrics.places import FOLDER
from tests.unit.metrics.conftest import LOGS, Analysed
from tests.unit.metrics.inline import read, told


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
