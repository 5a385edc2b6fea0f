"""Rows of the canonical tables come back from their files as they went in."""

from __future__ import annotations

from pathlib import Path

from pyrepl.metrics import manifest
from pyrepl.metrics.parts import pieces
from pyrepl.metrics.rows import Rows
from pyrepl.metrics.tables import EVENTS
from tests.unit.metrics.inline import read

LINES = (
    "7:M 21 Nov 2026 23:59:59.900 * Replica h:1 asks for synchronization\n"
    "7:M 22 Nov 2026 00:00:00.100 * Full resync requested by replica h:1\n"
)


def test_node_and_day_come_from_the_path(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "m=1.log").write_text(LINES)
    read(tmp_path / "logs", tmp_path / "tables")
    (piece,) = pieces(manifest.load(tmp_path / "tables"))
    found = Rows(tmp_path / "tables").of(EVENTS, piece.node, piece.rows)
    assert tuple(found.columns) == EVENTS.names
    assert found.select("node", "day", "event").rows() == [
        ("m=1", "2026-11-21", "psync_asked"), ("m=1", "2026-11-22", "psync_decided")
    ]  # fmt: skip


def test_of_no_files(tmp_path: Path) -> None:
    found = Rows(tmp_path).of(EVENTS, "m", [])
    assert found.is_empty() and tuple(found.columns) == EVENTS.names
