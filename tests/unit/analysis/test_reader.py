"""A process that reads: an answer for each range, also where it cannot write; it ends with its input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from pyrepl.metrics.part import Split, Told, read_split

LOG = Path(__file__).resolve().parents[2] / "data" / "logs" / "events" / "pyrepl-output-buffer" / "master.jsonl"
SPLIT = Split(str(LOG), "id", 0, LOG.stat().st_size, "n", False)


def answers(tables: Path, *splits: Split) -> list[dict[str, object]]:
    command = [sys.executable, "-m", "pyrepl.analysis.reader", str(tables), "UTC"]
    asked = "".join(f"{json.dumps(split)}\n" for split in splits)
    done = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=120, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_it_answers_what_is_read_here(tmp_path: Path) -> None:
    told = read_split(SPLIT, str(tmp_path / "here"), "UTC")
    assert [Told(**one) for one in answers(tmp_path / "apart", SPLIT, SPLIT)] == [told, told]  # type: ignore[arg-type]


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "events").write_bytes(b"in the way")
    (answer,) = answers(tmp_path, SPLIT)
    assert str(answer["cannot_write"]).startswith(f"{tmp_path}/events/day=")
