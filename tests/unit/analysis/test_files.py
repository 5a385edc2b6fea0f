"""The files of an analysis."""

from __future__ import annotations

from pathlib import Path

from pyrepl.analysis.files import replace


def test_a_file_is_replaced_at_once(tmp_path: Path) -> None:
    path = tmp_path / "metrics.json"
    path.write_text("old")
    replace(path, b"new")
    assert path.read_bytes() == b"new" and [one.name for one in tmp_path.iterdir()] == ["metrics.json"]
