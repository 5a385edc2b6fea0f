"""How the logs lay there when they were read last: while all of them lie so, nothing is new, and none is opened.

    tables/seen.json   the digests of the manifest and of all files' states

The state of a file is its path, inode, size, and the times of its last write and change: who writes, replaces or
renames one changes it. What stands here is good as long as the manifest is the one that it names. It is not written
where a file could not be read, as that may be mended without a trace; where it does not hold, the logs themselves are
looked at (plan.py).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from pyrepl.metrics import manifest as manifests
from pyrepl.temporary import SHARED, replacing

NAME: Final = "seen.json"


def state_of(files: Iterable[Path]) -> str:
    """A digest of all their states, in whatever order they come; empty where one of them has gone meanwhile."""
    made = hashlib.sha256()
    for path in sorted(files, key=str):
        try:
            there = path.stat()
        except OSError:
            return ""
        told = (str(path), there.st_ino, there.st_size, there.st_mtime_ns, there.st_ctime_ns)
        made.update(f"{told!r}\n".encode())
    return made.hexdigest()


def unchanged(tables: Path, files: str) -> str:
    """The digest of the manifest, if it was written for files of this state, as state_of() has it; else empty."""
    try:
        found = json.loads((tables / NAME).read_bytes())
    except (OSError, ValueError):
        return ""
    in_force = manifests.in_force(tables)
    return in_force if files and found == {"manifest": in_force, "files": files} else ""


def save(tables: Path, manifest: str, files: str) -> None:
    """All that is in files of this state is in the manifest of this digest. Raises OSError."""
    with replacing(tables / NAME, SHARED) as file:
        file.write(json.dumps({"manifest": manifest, "files": files}).encode())
