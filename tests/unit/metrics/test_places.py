"""Where answers stand, and that all of them go."""

from __future__ import annotations

from pathlib import Path

from pyrepl.metrics.places import DONE, forget, of_answer, place

BOUNDS = ((None, None), (1, None))


def kept(tables: Path, name: str) -> None:
    for bounds in BOUNDS:
        path = of_answer(place(tables, bounds), "key", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_all_is_forgotten(tmp_path: Path) -> None:
    kept(tmp_path, DONE)
    (tmp_path / "manifest.json").touch()
    forget(tmp_path)
    forget(tmp_path)
    assert list(tmp_path.iterdir()) == [tmp_path / "manifest.json"]
