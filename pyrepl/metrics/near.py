"""Which files' nodes the last run answered for together (shares.py): what is new of these is read together (ranges.py).

    tables/near.json   files by their ids -> a number, the same one for those of one share

A task that answers then finds what is new of its nodes in one file. Whatever stands here, the answers are the same: so
it may be old, or lost.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pyrepl.temporary import SHARED, replacing

NAME: Final = "near.json"


def load(tables: Path) -> dict[str, int]:
    """Of a folder of tables; nothing where nobody has answered from it."""
    try:
        found = json.loads((tables / NAME).read_bytes())
        return {str(file_id): int(number) for file_id, number in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def save(tables: Path, near: Mapping[str, int]) -> None:
    """For the next run. Raises OSError."""
    tables.mkdir(parents=True, exist_ok=True)
    with replacing(tables / NAME, SHARED) as file:
        file.write(json.dumps(near).encode())
