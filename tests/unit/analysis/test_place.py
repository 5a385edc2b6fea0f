"""The folder of an analysis."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyrepl.analysis.failures import CannotRun
from pyrepl.analysis.place import tables_of


def test_the_folder_is_the_same_wherever_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of a cluster stand in folders of their own."""
    monkeypatch.chdir(tmp_path)
    with tables_of(Path("out")) as tables:
        assert tables == tmp_path / "out" / "tables"


def test_two_do_not_write_to_one_folder(tmp_path: Path) -> None:
    with tables_of(tmp_path) as tables:
        assert tables == tmp_path / "tables"
        with pytest.raises(CannotRun, match="another pyrepl metrics writes to"):
            tables_of(tmp_path).__enter__()
    with tables_of(tmp_path):
        pass
