"""The folder of an analysis: says where its tables go, and locks it, so that two processes do not write there at
once."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pyrepl.analysis.failures import CannotRun
from pyrepl.temporary import open_kept


@contextlib.contextmanager
def tables_of(out: Path | None) -> Iterator[Path]:
    """The folder of the canonical tables: below `out`, where the next run goes on with them, or without `out` a
    temporary one, which is removed at the end. Raises CannotRun."""
    if out is not None:
        with _alone(out):
            # Workers of a cluster stand in folders of their own.
            yield out.absolute() / "tables"
        return
    rough = tempfile.mkdtemp(prefix="pyrepl-metrics-")
    try:
        yield Path(rough) / "tables"
    finally:
        shutil.rmtree(rough, ignore_errors=True)


@contextlib.contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Lock the folder, making it if need be: two processes that write the same tables would remove each other's parts.

    The lock ends with the process. Raises CannotRun if another process holds it, or if the folder cannot be made or
    written to.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        held = os.fdopen(open_kept(out / ".lock"), "a")
    except OSError as error:
        raise CannotRun(
            f"cannot write to the folder {out}: {error.strerror or error}. Give --out a folder that this user may make"
            " and write to"
        ) from None
    with held as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CannotRun(f"another pyrepl metrics writes to {out}: end it first, or give another --out") from None
        yield
