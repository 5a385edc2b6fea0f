"""An sdist is the same bytes whenever and wherever it is packed."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

from release.archive import repack, same_bytes

EPOCH = 1_700_000_000


def pack(folder: Path, names: list[str], at: int) -> Path:
    """An archive of these files in this order, last written `at` that time."""
    folder.mkdir()
    path = folder / "x.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            file = folder / name
            file.write_text(f"of {name}")
            file.chmod(0o640)
            os.utime(file, (at, at))
            archive.add(file, name)
    return path


def test_order_and_times_do_not_matter(tmp_path: Path) -> None:
    one, other = pack(tmp_path / "a", ["x", "y"], 1000), pack(tmp_path / "b", ["y", "x"], 2000)
    assert not same_bytes(one, other)
    repack(one, EPOCH)
    repack(other, EPOCH)
    assert same_bytes(one, other)
    with tarfile.open(one) as archive:
        assert [(member.name, member.mtime, member.mode, member.uid) for member in archive] == [
            ("x", EPOCH, 0o644, 0),
            ("y", EPOCH, 0o644, 0),
        ]
        file = archive.extractfile("x")
        assert file is not None and file.read() == b"of x"


def test_other_content_is_other_bytes(tmp_path: Path) -> None:
    one, other = pack(tmp_path / "a", ["x"], 1000), pack(tmp_path / "b", ["x"], 1000)
    (tmp_path / "b" / "x").write_text("changed")
    with tarfile.open(other, "w:gz") as archive:
        archive.add(tmp_path / "b" / "x", "x")
    repack(one, EPOCH)
    repack(other, EPOCH)
    assert not same_bytes(one, other)
