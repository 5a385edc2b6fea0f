"""A file that is there twice counts once, whichever of the two grows."""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path

import pytest

from pyrepl.metrics import copies as module
from pyrepl.metrics import manifest
from pyrepl.metrics.copies import copies
from tests.unit.metrics import inline
from tests.unit.metrics.conftest import LOGS

REAL = LOGS / "text" / "redis7-disk"
LINE = b"1:M 21 Nov 2026 11:09:41.858 * Ready to accept connections %04d\n"
LONG = b"".join(LINE % number for number in range(200))
SHORT = LONG[: 100 * len(LINE % 1) + 7]


def of(folder: Path, known: dict[str, module.Copy] | None = None) -> dict[str, str]:
    """Name -> the name of what it is a copy of."""
    found = copies(sorted(folder.iterdir()), known or {})
    return {Path(path).name: Path(copy["of"]).name for path, copy in found.items()}


def write(folder: Path, **files: bytes) -> None:
    for name, data in files.items():
        (folder / name).write_bytes(data)


def test_copies_of_all_kinds(tmp_path: Path) -> None:
    write(tmp_path, a=LONG, copy=LONG, begin=SHORT, packed=gzip.compress(LONG), torn=gzip.compress(LONG)[:-60])
    write(tmp_path, other=LONG.replace(b"1:M", b"2:M"), apart=SHORT + b"another end\n" * 90, empty=b"", twin=b"")
    os.link(tmp_path / "a", tmp_path / "linked")
    (tmp_path / "symlink").symlink_to(tmp_path / "a")
    assert of(tmp_path) == dict.fromkeys(("copy", "begin", "packed", "torn", "linked", "symlink"), "a")


def test_the_longest_is_the_one_that_counts(tmp_path: Path) -> None:
    write(tmp_path, a=SHORT, longer=LONG, b=SHORT)
    assert of(tmp_path) == {"a": "longer", "b": "longer"}


def test_what_was_compared_is_not_read_again_until_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, a=LONG, copy=LONG)
    known = copies(sorted(tmp_path.iterdir()), {})
    compared: list[Path] = []
    true = module._shorter

    def shorter(one: Path, other: Path) -> Path | None:
        compared.append(one)
        return true(one, other)

    monkeypatch.setattr(module, "_shorter", shorter)
    assert of(tmp_path, known) == {"copy": "a"} and not compared
    write(tmp_path, a=LONG + LINE % 200)
    assert of(tmp_path, known) == {"copy": "a"} and not compared, "a log grows"
    write(tmp_path, copy=LONG + LINE % 999)
    assert of(tmp_path, known) == {} and compared
    (tmp_path / "a").unlink()
    assert of(tmp_path, known) == {}


def counted(logs: Path, tables: Path) -> tuple[int, list[str], list[tuple[str, str]]]:
    """Syncs, the nodes, and the files that are copies of which."""
    inline.read(logs, tables)
    found = inline.told(tables)
    copied = [
        (Path(row["file"]).relative_to(logs).as_posix(), Path(row["copy_of"]).relative_to(logs).as_posix())
        for row in found["files"] if row["copy_of"]
    ]  # fmt: skip
    return found["totals"][0]["syncs"], [row["node"] for row in found["nodes"]], copied


def test_a_backup_beside_the_logs_counts_for_nothing(tmp_path: Path) -> None:
    logs, tables = tmp_path / "logs", tmp_path / "tables"
    shutil.copytree(REAL, logs)
    assert counted(logs, tables) == (3, ["master", "replica"], [])
    shutil.copytree(REAL, logs / "backup")
    (logs / "backup" / "master.log.gz").write_bytes(gzip.compress((REAL / "master.log").read_bytes()))
    twice = [("backup/master.log", "master.log"), ("backup/master.log.gz", "master.log"),
             ("backup/replica.log", "replica.log")]  # fmt: skip
    assert counted(logs, tables) == (3, ["master", "replica"], twice)
    assert counted(logs, tables) == (3, ["master", "replica"], twice)


def test_a_log_that_outgrows_its_backup_goes_on_where_that_ended(tmp_path: Path) -> None:
    """The backup was there first; it is the log that grows."""
    logs, tables = tmp_path / "logs", tmp_path / "tables"
    whole = (REAL / "master.log").read_bytes()
    cut = whole.index(b"\n", len(whole) // 2) + 1
    logs.mkdir()
    shutil.copyfile(REAL / "replica.log", logs / "replica.log")
    (logs / "old").mkdir()
    (logs / "old" / "master.log").write_bytes(whole[:cut])
    counted(logs, tables)
    (logs / "master.log").write_bytes(whole[:cut])
    assert counted(logs, tables)[2] == [("old/master.log", "master.log")]
    (logs / "master.log").write_bytes(whole)
    syncs, nodes, _ = counted(logs, tables)
    assert (syncs, len(nodes)) == (3, 2)
    assert len(manifest.load(tables).entries) == 2


def test_what_was_counted_twice_before_it_was_known_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs, tables = tmp_path / "logs", tmp_path / "tables"
    shutil.copytree(REAL, logs / "a")
    shutil.copytree(REAL, logs / "b")
    with monkeypatch.context() as blind:
        blind.setattr("pyrepl.metrics.plan.copies", lambda _found, _known: {})
        assert counted(logs, tables)[0] == 6
    assert counted(logs, tables)[:2] == (3, ["a/master", "a/replica"])
