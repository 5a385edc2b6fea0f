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


def why_not_ours() -> str | None:
    """The message when `import pyrepl` would not give our package, or None."""
    spec = importlib.util.find_spec("pyrepl")
    places = spec.submodule_search_locations if spec is not None else None
    if any((Path(place) / "daemon" / "app.py").exists() for place in places or ()):
        return None
    return SHADOWED.format(where=spec.origin if spec is not None else "nowhere")


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
