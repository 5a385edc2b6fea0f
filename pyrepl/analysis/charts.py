"""The library that draws the charts of report.html, kept ready in a file: to put it together takes a second.

It is the same for one version of vl-convert and of pyrepl. Where it cannot be kept, or is not whole, it is put together
anew each time.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pyrepl import VERSION
from pyrepl.analysis.cache import cache_folder

END: Final = "\n/* whole */\n"
"""Written last, so that a file without it is not finished."""


def library_of_charts(environment: Mapping[str, str]) -> str:
    """The JavaScript, from below XDG_CACHE_HOME, else ~/.cache, if it is there; else it is put there."""
    path = _place(environment)
    if path is not None:
        with contextlib.suppress(OSError, UnicodeDecodeError):
            kept = path.read_text()
            if kept.endswith(END):
                return kept
    from pyrepl.metrics.report.library import bundle

    made = bundle() + END
    if path is not None:
        with contextlib.suppress(OSError):
            _keep(path, made)
    return made


def _place(environment: Mapping[str, str]) -> Path | None:
    folder = cache_folder(environment)
    return folder and folder / f"charts-{VERSION}-{importlib.metadata.version('vl-convert-python')}.js"


def _keep(path: Path, made: str) -> None:
    """Two runs that write at once write the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for old in set(path.parent.glob("charts-*.js")) - {path}:
        old.unlink(missing_ok=True)
    path.write_text(made)
