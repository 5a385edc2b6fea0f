"""`python -m manual.picture OUT.svg`: what `pyrepl status` prints of real servers that follow each other, as a picture.

The servers are those of the tests (`make peers`). A client writes meanwhile.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from tests.peers.lab import Lab, Node, pyrepl_command, wait_until
from tests.peers.ports import HOST

WIDTH: Final = 108
DIRECTIVES: Final = {"repl-backlog-size": "4mb"}
_FETCHED_FONTS: Final = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def picture(printed: str, title: str) -> str:
    """What a terminal shows of `printed`, which may hold ANSI colours, as SVG that fetches nothing."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(printed.rstrip("\n")))
    return _FETCHED_FONTS.sub("", console.export_svg(title=title, unique_id="pyrepl"))


def session(folder: Path) -> str:
    """A Redis, a pyrepl that follows it, a Valkey and an older Redis behind that; what `pyrepl status` prints."""
    with Lab(folder) as lab:
        first = lab.start("redis86", port=6379)
        middle = lab.start("pyrepl", first, DIRECTIVES, port=6380)
        middle.wait_link_up()
        for port, kind in enumerate(("valkey91", "redis7"), 6381):
            lab.start(kind, middle, port=port).wait_link_up()
        return _status(first, len(lab.nodes))


def _status(first: Node, nodes: int) -> str:
    """After some writes, and when all nodes are in sync."""
    command = [*pyrepl_command(), "status", f"{HOST}:{first.port}"]
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH)}
    with first.connect() as wire:
        wire.pipeline([("SET", f"key:{number}", "x" * 100) for number in range(2000)])
    seen = ""

    def look() -> bool:
        nonlocal seen
        seen = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False).stdout
        return f"in sync: {nodes} nodes" in re.sub(r"\x1b\[[0-9;]*m", "", seen)

    wait_until("all are in sync", look)
    return f"$ pyrepl status {HOST}:{first.port}\n{seen}"


def main(out: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(out).write_text(picture(session(Path(folder)), "pyrepl status"))


if __name__ == "__main__":
    main(*sys.argv[1:])
