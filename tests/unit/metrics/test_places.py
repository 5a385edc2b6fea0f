"""Where answers stand, and that all of them go."""

from __future__ import annotations

from pathlib import Path

from pyrepl.metrics.places import DONE, forget, is_kept, of_answer, place

BOUNDS = ((None, None), (1, None))


def kept(tables: Path, name: str) -> None:
    for bounds in BOUNDS:
        path = of_answer(place(tables, bounds), "key", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_an_answer_that_was_not_finished_is_none(tmp_path: Path) -> None:
    kept(tmp_path, "syncs")
    assert not any(is_kept(place(tmp_path, bounds), "key") for bounds in BOUNDS)
    kept(tmp_path, DONE)
    assert all(is_kept(place(tmp_path, bounds), "key") for bounds in BOUNDS)


def test_all_is_forgotten(tmp_path: Path) -> None:
    kept(tmp_path, DONE)
    (tmp_path / "manifest.json").touch()
    forget(tmp_path)
    forget(tmp_path)
    assert list(tmp_path.iterdir()) == [tmp_path / "manifest.json"]
