"""Where answers are kept, below the folder of tables; what is in them is keep.py's."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyrepl.metrics.parts import Bounds

FOLDER: Final = "answers"
BOUNDED: Final = "bounded"
DONE: Final = "counts"
"""The table that is written last: where it is, the others are."""
SHAPE: Final = 11
"""Of answers. Raised when the same parts are answered for in another way."""


def place(tables: Path, bounds: Bounds) -> Path:
    """The folder of answers to a question with these bounds."""
    return tables / (FOLDER if bounds == (None, None) else BOUNDED)


def of_answer(folder: Path, named: str, name: str) -> Path:
    """The file of one table."""
    return folder / name / f"{named}.parquet"


def forget(tables: Path) -> None:
    """All of it: the parts that come now may have the names of others that were there before."""
    for name in (FOLDER, BOUNDED):
        shutil.rmtree(tables / name, ignore_errors=True)
