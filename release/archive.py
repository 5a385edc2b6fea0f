"""The same bytes from the same sources: setuptools writes times, owners and order into an sdist as it finds them."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path


def repack(path: Path, epoch: int) -> None:
    """The same files, by name, all of `epoch` (Unix seconds) and of nobody."""
    packed = io.BytesIO()
    with tarfile.open(path) as old, tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname = epoch, 0, 0, "", ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    path.write_bytes(gzip.compress(packed.getvalue(), mtime=epoch))


def same_bytes(one: Path, other: Path) -> bool:
    """Are these two files the same?"""
    return one.name == other.name and one.read_bytes() == other.read_bytes()
