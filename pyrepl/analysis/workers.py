"""The workers of a cluster are looked at before they are given work: do they see the files, and have what it takes?

Those that have not this package, or another one, are sent it: its sources, which run in the pure form. Libraries are
not sent; one line says which Python lacks what. On this machine alone there is nothing to look at.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyrepl
from pyrepl.analysis.failures import CannotRun
from pyrepl.analysis.needs import INSTALL

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NEEDED: Final = ("pyarrow", "polars")
"""Modules that tasks import."""
MOST_PATHS: Final = 20
"""So many of the logs are looked for on each worker."""


class Seen(NamedTuple):
    """What a worker has: its name, its Python, the modules and paths that it lacks, and a digest of its package; empty
    where it has none, or one that is packed."""

    host: str
    python: str
    missing: tuple[str, ...]
    absent: tuple[str, ...]
    package: str


@contextmanager
def fitted(spark: SparkSession, logs: Sequence[Path], tables: Path) -> Iterator[None]:
    """See to it that all workers can read `logs` and write to `tables`; what is sent to them stays until the end.

    Raises CannotRun, OSError.
    """
    tables.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=tables, prefix=".seen-") as mark:
        paths = [mark.name, *map(str, logs[:MOST_PATHS])]
        context = spark.sparkContext
        count = context.defaultParallelism
        found = context.parallelize(range(count), count).mapPartitions(look(NEEDED, paths)).collect()
        every = sorted({Seen(*one) for one in found})
        complaint = next(filter(None, (why_not(one, mark.name, tables) for one in every)), "")
    if complaint:
        raise CannotRun(complaint)
    (ours,) = look((), ())(())
    with TemporaryDirectory(prefix="pyrepl-metrics-") as folder:
        if any(one.package != Seen(*ours).package for one in every):
            context.addPyFile(str(packed(Path(folder))))
        yield


def look(needed: Sequence[str], paths: Sequence[str]) -> Callable[[Iterable[object]], Iterator[tuple[Any, ...]]]:
    """What makes a Seen, as a plain tuple, of whoever calls it. It runs where this package may be missing: a function
    within a function is sent as a whole, and it imports what it needs."""

    def seen(_rows: Iterable[object]) -> Iterator[tuple[Any, ...]]:
        import hashlib
        import importlib.util
        import platform
        import sys
        from pathlib import Path

        # Only found, not imported: a worker that is used again would keep it.
        spec = importlib.util.find_spec("pyrepl")
        folders = spec.submodule_search_locations if spec is not None else None
        sources = [one for folder in folders or () for one in sorted(Path(folder, "metrics").glob("*.py"))]
        whole = hashlib.sha256(b"".join(one.read_bytes() for one in sources)).hexdigest() if sources else ""
        missing = tuple(name for name in needed if importlib.util.find_spec(name) is None)
        absent = tuple(path for path in paths if not Path(path).exists())
        yield platform.node(), sys.executable, missing, absent, whole

    return seen


def why_not(seen: Seen, mark: str, tables: Path) -> str:
    """Why a worker cannot do the job, and what to do about it; empty if it can. `mark` is a file in the folder
    `tables`."""
    if seen.absent:
        path = tables if seen.absent[0] == mark else seen.absent[0]
        return (
            f"the worker on {seen.host} does not see {path}: the logs and the folder of --out must be on storage that"
            " all workers have under the same path"
        )
    if seen.missing:
        return (
            f"the Python of the worker on {seen.host}, {seen.python}, lacks {' and '.join(seen.missing)}: set"
            f" PYSPARK_PYTHON to one that has them ({INSTALL})"
        )
    return ""


def packed(folder: Path) -> Path:
    """A zip of this package's sources, for workers to import from, below the folder."""
    package = Path(pyrepl.__file__).parent
    path = folder / "pyrepl.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for source in sorted(package.rglob("*.py")):
            file.write(source, source.relative_to(package.parent))
    return path
