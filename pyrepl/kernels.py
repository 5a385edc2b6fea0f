"""Which form of the hot modules runs: compiled, or as they are written. Both do the same.

What is compiled is listed in pyproject.toml, [tool.pyrepl.kernels]; setup.py does it and leaves a record of the
sources it used. Compiled modules win over the `.py` files beside them, so in a checkout they must not outlive a change.
"""

from __future__ import annotations

import hashlib
import json
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path
from typing import Final

COMPILED: Final = "compiled"
PURE: Final = "pure"
RECORD: Final = "kernels.json"

_WITNESS: Final = "pyrepl.resp.parser"
"""One of the compiled modules: setup.py compiles all or none."""


def form() -> str:
    """COMPILED or PURE."""
    spec = find_spec(_WITNESS)
    origin = spec.origin if spec is not None else None
    return COMPILED if origin is not None and origin.endswith(tuple(EXTENSION_SUFFIXES)) else PURE


def stale_sources(package: Path) -> list[str]:
    """Sources below the folder `package` that are not what was compiled, as paths from there; [] for the pure form."""
    record = package / RECORD
    if not record.exists():
        return []
    digests: dict[str, str] = json.loads(record.read_text())
    return [name for name, digest in digests.items() if _digest(package / name) != digest]


def why_not_fresh() -> str | None:
    """The message when compiled modules would run in place of newer sources, or None."""
    stale = stale_sources(Path(__file__).parent)
    if not stale:
        return None
    return (
        f"compiled modules are not those of their sources ({', '.join(stale)}): run `make build`, "
        "`make build PYREPL_PURE=1` for none, or install again"
    )


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""
