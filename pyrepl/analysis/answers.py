"""Answers in threads of this process: for a run that goes on from the one before and finds little that is new.

Spark's start alone takes longer than such a run; what it would be asked for is the same (pyrepl.metrics.answers), so
that what comes out is. Polars works in threads that do not hold each other up.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyrepl.analysis.failures import CannotRun
from pyrepl.analysis.readers import size_of

if TYPE_CHECKING:
    from pyrepl.metrics.answers import Answering
    from pyrepl.metrics.ingest import News
    from pyrepl.metrics.packing import Frames
    from pyrepl.metrics.parts import Sources

LITTLE_BYTES: Final = 256 << 20
"""More than that takes longer to read than Spark to start, beside it."""


def is_little(news: News) -> bool:
    """Is there little to read, and an answer to go on from?"""
    return not news.is_first and sum(map(size_of, news.splits)) <= LITTLE_BYTES


def here(count: int) -> Answering:
    """`count` groups of nodes at a time."""
    return partial(_here, count)


def _here(count: int, groups: Sequence[Sources], tables: Path) -> list[Frames]:
    """Raises CannotRun where files of the tables are damaged."""
    import polars as pl
    import pyarrow as pa

    from pyrepl.metrics.answers import kept_or_made

    try:
        with ThreadPoolExecutor(count, "metrics-answers") as pool:
            return list(pool.map(partial(kept_or_made, tables), groups))
    except (pl.exceptions.PolarsError, pa.ArrowInvalid) as error:
        first = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise CannotRun(f"{tables} is damaged ({first}): remove the folder, and all logs are read anew") from None
