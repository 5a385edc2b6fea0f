"""The process of Spark's from which the Python workers of this machine are forked: it imports once what each one needs.

    spark.python.daemon.module = pyrepl.analysis.forks

Spark's own (pyspark.daemon) forks workers that know nothing: each imports Spark's half, pandas and Arrow anew. Python
keeps no compiled form of Spark's half, as it comes from a zip. All that takes longer than most tasks do.

No thread may run when a process is forked, as its child would not have it. So Arrow's memory allocator is told to do
without its own, numpy starts none where OMP_NUM_THREADS is 1, as Spark sets it, and Polars, which starts one that it
does not tell of, is left to the workers.

Other processes of Spark's, as the one that plans for a stream, come from a daemon of their own and need less. What a
worker does is Spark's and reading.py's, asking.py's, stored.py's, parquet.py's.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

TASKS: Final = "pyspark.worker"
"""What Spark names as the module of workers that run tasks."""
IMPORTED: Final = (
    TASKS, "pandas", "pyarrow.parquet", "pyarrow.compute",
    "pyrepl.metrics.textlines", "pyrepl.metrics.jsonlines", "pyrepl.metrics.wrappers", "pyrepl.metrics.quicklines",
    "pyrepl.metrics.story", "pyrepl.metrics.candidates", "pyrepl.metrics.results",
)  # fmt: skip
_ALLOCATOR: Final = "JE_ARROW_MALLOC_CONF"
_ZIPS: Final = Path("python", "lib")
"""Where below its package Spark has itself once more, as zips for machines that lack it."""


def main(arguments: Sequence[str]) -> None:
    """Import and fork until Spark closes our standard input. `arguments` are the module of the workers."""
    sys.path[:] = [path for path in sys.path if not is_there_unpacked(Path(path))]
    if TASKS in arguments:
        os.environ.setdefault(_ALLOCATOR, "background_thread:false")
        for name in IMPORTED:
            import_module(name)
        # What is imported is garbage in no process.
        gc.freeze()
    import_module("pyspark.daemon").manager()


def is_there_unpacked(path: Path) -> bool:
    """Is it one of the zips of an installed pyspark, and is that itself where Python looks for modules?"""
    home = path.parent.parent.parent
    is_its_zip = path.suffix == ".zip" and path.parent == home / _ZIPS and home.name == "pyspark"
    return is_its_zip and str(home.parent) in sys.path


if __name__ == "__main__":
    main(sys.argv[1:])
