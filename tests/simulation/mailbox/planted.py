"""A planted bug, against the modules as they are written: `python -m tests.simulation.mailbox.planted NAME`.

Bugs are planted by patches, which what mypyc compiled does not take. So a process of its own loads the sources of
`pyrepl.mailbox`, whichever form is installed; both forms do the same. Its status is 0 if the bug is found, 1 if not: it
is when the invariant is violated that it breaks.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Final

ROOM: Final = "pyrepl.mailbox"
MOST_SEEDS: Final = 1000


class AsWritten(MetaPathFinder):
    """Finds the sources of a room's modules, before anybody else finds what was compiled of them."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        room, _, name = fullname.rpartition(".")
        sources = [Path(folder) / f"{name}.py" for folder in path or () if room == ROOM]
        source = next((source for source in sources if source.exists()), None)
        if source is None:
            return None
        return spec_from_file_location(fullname, source, loader=SourceFileLoader(fullname, str(source)))


def main(name: str) -> int:
    """Plant the bug of this name in this process; 0 if a seed finds it."""
    sys.meta_path.insert(0, AsWritten())
    # Only now, so that they are found as they are written.
    import pytest

    from tests.simulation.mailbox.bugs import BESIDE_DOVECOTS, BUGS
    from tests.simulation.mailbox.history import run
    from tests.simulation.mailbox.violation import Violation

    with pytest.MonkeyPatch.context() as patch:
        bug = (BUGS | BESIDE_DOVECOTS)[name]
        bug.plant(patch)
        for seed in (bug.seed, *range(MOST_SEEDS)):
            try:
                run(seed, gates=name in BESIDE_DOVECOTS)
            except Violation as error:
                if error.name == bug.breaks:
                    print(f"seed {seed}: {error}")
                    return 0
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
