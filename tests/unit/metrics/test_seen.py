"""The state of files is noticed to change whatever is done to one of them; what was noted holds for one manifest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pyrepl.metrics import manifest as manifests
from pyrepl.metrics.manifest import Manifest
from pyrepl.metrics.seen import NAME, save, state_of, unchanged


def _append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"x")


def _write_as_many(path: Path) -> None:
    path.write_bytes(b"other")


def _replace(path: Path) -> None:
    path.with_name("new").write_bytes(path.read_bytes())
    path.with_name("new").replace(path)


def _swap(path: Path) -> None:
    other, rough = path.with_name("two.log"), path.with_name("rough")
    path.rename(rough)
    other.rename(path)
    rough.rename(other)


def _lock(path: Path) -> None:
    path.chmod(0)


@pytest.fixture
def logs(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "one.log", tmp_path / "two.log"]
    for path in paths:
        path.write_bytes(b"lines")
    return paths


def test_the_order_of_files_does_not_matter(logs: list[Path]) -> None:
    assert state_of(logs) == state_of(reversed(logs)) != state_of(logs[:1])


@pytest.mark.parametrize("change", [_append, _write_as_many, _replace, _swap, _lock])
def test_a_change(logs: list[Path], change: Callable[[Path], None]) -> None:
    before = state_of(logs)
    change(logs[0])
    assert state_of(logs) != before


def test_a_file_that_has_gone(logs: list[Path]) -> None:
    logs[0].unlink()
    assert state_of(logs) == ""


def test_it_holds_for_one_manifest_and_one_state(tmp_path: Path) -> None:
    manifests.save(tmp_path, Manifest())
    named = manifests.in_force(tmp_path)
    assert unchanged(tmp_path, "state") == ""
    save(tmp_path, named, "state")
    assert unchanged(tmp_path, "state") == named == manifests.digest(Manifest())
    assert unchanged(tmp_path, "other") == ""
    manifests.save(tmp_path, Manifest(refused={"a.log": "binary"}))
    assert unchanged(tmp_path, "state") == ""


def test_files_of_which_one_has_gone_have_no_state_that_holds(tmp_path: Path) -> None:
    manifests.save(tmp_path, Manifest())
    save(tmp_path, manifests.in_force(tmp_path), "")
    assert unchanged(tmp_path, "") == ""


@pytest.mark.parametrize("content", [b"", b"[1]", b"{", b"{}"])
def test_a_damaged_file_holds_nothing(tmp_path: Path, content: bytes) -> None:
    manifests.save(tmp_path, Manifest())
    (tmp_path / NAME).write_bytes(content)
    assert unchanged(tmp_path, "state") == ""
