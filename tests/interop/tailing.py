"""`pyrepl tail` as a process, and what it wrote."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pyarrow.parquet

from tests.peers.lab import die_with_parent, pyrepl_command, wait_until
from tests.peers.ports import HOST
from tests.peers.stream_judge import offset_of


def start(*arguments: object, log: Path) -> subprocess.Popen[bytes]:
    """A process; whoever starts it ends it."""
    with log.open("ab") as out:
        return subprocess.Popen(
            [*pyrepl_command(), "tail", *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            preexec_fn=die_with_parent,
        )


def address(port: int) -> str:
    return f"{HOST}:{port}"


def end(process: subprocess.Popen[bytes]) -> int:
    """SIGTERM; its exit status."""
    process.terminate()
    return process.wait(60)


def names(folder: Path) -> list[str]:
    """Finished files, in order."""
    return sorted(name for name in os.listdir(folder) if not name.startswith(".")) if folder.exists() else []


def last_token(folder: Path) -> int:
    """How far the finished files reach."""
    found = names(folder)
    return int(found[-1].split("-")[2].split(".")[0]) if found else 0


def records(folder: Path) -> list[dict[str, Any]]:
    """All rows of all finished files, in the order of the files."""
    found: list[dict[str, Any]] = []
    for name in names(folder):
        if name.endswith(".parquet"):
            found += pyarrow.parquet.read_table(folder / name).to_pylist()
        else:
            found += [json.loads(line) for line in (folder / name).read_bytes().splitlines()]
    return found


def commands(folder: Path) -> list[tuple[int, int, Any]]:
    """Records of the stream `commands` as the judge gives them."""
    return [
        (offset_of(record["token"]), record["part"], [record["db"], _words(record["words"], record["words_base64"])])
        for record in records(folder)
    ]


def _words(texts: list[str | None], others: list[str | None] | None) -> list[Any]:
    if others is None:
        return list(texts)
    return [text if other is None else {"base64": other} for text, other in zip(texts, others, strict=True)]


def wait_for(folder: Path, token: int, process: subprocess.Popen[bytes]) -> None:
    """Until finished files reach this token."""

    def reached() -> bool:
        assert process.poll() is None, "it ended"
        return last_token(folder) >= token

    wait_until(f"the files reach token {token}", reached)
