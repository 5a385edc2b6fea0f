"""The console script `pyrepl`: makes sure that it found our package, not its namesake, then runs the command line."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from .pages import TROUBLE

SHADOWED = (
    "pyrepl: another package named 'pyrepl' hides this one (found at {where}). Debuggers' completers install it on "
    "Python below 3.13. Install pyrepl-server in an environment of its own: pipx install pyrepl-server"
)
DAMAGED = (
    "pyrepl: another package named 'pyrepl' was installed or removed in this environment, and took a file of this one "
    "with it ({where}). Heal it: pip uninstall -y pyrepl; pip install --force-reinstall --no-deps pyrepl-server"
)
_MARK = "\nVERSION = "
"""Stands in our `pyrepl/__init__.py`, the one file that both packages have."""


def why_not_ours() -> str | None:
    """The message when `import pyrepl` would not give our package, or None."""
    spec = importlib.util.find_spec("pyrepl")
    places = spec.submodule_search_locations if spec is not None else None
    origin = spec.origin if spec is not None else None
    if not any((Path(place) / "daemon" / "app.py").exists() for place in places or ()):
        return SHADOWED.format(where=origin or "nowhere")
    if origin is None or _MARK not in Path(origin).read_text(errors="replace"):
        return DAMAGED.format(where=origin or next(iter(places or ())))
    return None


def main() -> None:
    """Entry point of the console script."""
    complaint = why_not_ours()
    if complaint is not None:
        sys.stderr.write(complaint + "\n")
        sys.exit(TROUBLE)
    from pyrepl.kernels import why_not_fresh

    complaint = why_not_fresh()
    if complaint is not None:
        sys.stderr.write(f"pyrepl: {complaint}\n")
        sys.exit(TROUBLE)
    from .commands import cli

    cli(prog_name="pyrepl")


if __name__ == "__main__":
    main()
