"""Plays the commands of a page, in their order, in one folder, with real servers in the path.

`redis-server` is Redis 8.6, `valkey-server` Valkey 9.1. Ports are exchanged for free ones, in commands and in what they
print. `redis-cli` prints as on a terminal. What a command prints is compared without regard to blanks and empty lines;
`...` stands for any text within a line, and as a line of its own for any lines. A command that prints something else is
run again until it prints what the page says, as replicas are behind for a moment.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.documents.blocks import ROOT, Block
from tests.peers import finder
from tests.peers.lab import die_with_parent, wait_until
from tests.peers.ports import free_port
from tests.peers.wire import ErrorReply, Wire

COMMAND_S: Final = 120.0
MATCH_S: Final = 60.0
END_S: Final = 20.0
_PORT: Final = re.compile(r"\b(?:63[789]\d|73[789]\d|26379)\b")
_PROMPT: Final = "$ "


class Player:
    """One page's folder, ports and servers. Ends what it started at the end of its `with`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "page"
        self.folder.mkdir()
        (self.folder / "examples").symlink_to(ROOT / "examples")
        self._ports: dict[str, int] = {}
        self._running: list[subprocess.Popen[bytes]] = []
        self._logs = folder / "logs"
        self._logs.mkdir()
        self._environment = {"PATH": _path(folder / "bin"), "HOME": str(folder), "LC_ALL": "C.UTF-8", "COLUMNS": "160"}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for process in reversed(self._running):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def play(self, block: Block) -> None:
        """Run it, and compare what it prints with the page. Raises AssertionError that names the command."""
        text = self._here(block.text)
        if block.goes_on:
            self._start(block, text)
        elif block.language == "console":
            for command, printed in dialogue(text):
                self._run(command, printed)
        else:
            self._run(text, None)

    def _here(self, text: str) -> str:
        """`text` with the ports of this test."""
        return _PORT.sub(lambda found: str(self._port(found[0])), text)

    def _port(self, written: str) -> int:
        return self._ports.setdefault(written, free_port())

    def _start(self, block: Block, text: str) -> None:
        log = self._logs / f"line-{block.line}"
        with log.open("wb") as out:
            process = subprocess.Popen(
                ["bash", "-euc", text],
                cwd=self.folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=die_with_parent,
            )
        self._running.append(process)
        for port in block.ports:
            where = self._port(str(port))
            try:
                wait_until(f"port {port} answers", lambda where=where: process.poll() is None and is_ready(where))  # type: ignore[misc]
            except AssertionError as error:
                raise AssertionError(f"line {block.line}: {error}\n{text}\n{log.read_text()[-2000:]}") from None

    def _run(self, command: str, printed: str | None) -> None:
        """Once; or, where the page says what it prints, until it prints that."""
        end = time.monotonic() + MATCH_S
        while True:
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", command],
                cwd=self.folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=COMMAND_S,
                check=False,
            )
            out = done.stdout.decode(errors="replace")
            if (done.returncode == 0) if printed is None else matches(printed, out):
                return
            if printed is None or time.monotonic() > end:
                raise AssertionError(f"$ {command}\nstatus {done.returncode}, printed:\n{out}\nthe page:\n{printed}")
            time.sleep(0.2)


def dialogue(text: str) -> list[tuple[str, str | None]]:
    """Commands and what the page says that each prints, None for nothing said."""
    found: list[tuple[str, str | None]] = []
    for line in text.splitlines():
        if line.startswith(_PROMPT):
            found.append((line.removeprefix(_PROMPT), None))
        else:
            assert found, "a console block begins with a command"
            command, printed = found[-1]
            if printed is None and command.endswith("\\"):
                found[-1] = (f"{command}\n{line}", None)
            else:
                found[-1] = (command, line if printed is None else f"{printed}\n{line}")
    return found


def matches(wanted: str, printed: str) -> bool:
    """Is it what the page says, but for blanks, empty lines, and what `...` stands for?"""
    pattern = "".join(
        r"(?:[^\n]*\n)*?" if line.strip() == "..." else _line(line) + r"\n"
        for line in wanted.splitlines()
        if line.strip()
    )
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in lines if line)) is not None


def _line(wanted: str) -> str:
    return r"[^\n]*".join(re.escape(part) for part in " ".join(wanted.split()).split("..."))


def is_ready(port: int) -> bool:
    """Does it answer there, if it is a replica with its link up?"""
    try:
        with Wire(port, timeout_s=5) as wire:
            said = wire.call("INFO", "replication").decode()
    except ErrorReply as error:
        return str(error).startswith("NOAUTH")
    except (OSError, ConnectionError):
        return False
    return "role:slave" not in said or "master_link_status:up" in said


def _path(folder: Path) -> str:
    """A folder with the servers by their common names, then what pyrepl is installed with."""
    folder.mkdir()
    cli = f"{shlex.quote(str(finder.tool('redis-cli')))} --no-raw"
    servers = {"redis-server": finder.server("redis86"), "valkey-server": finder.server("valkey91")}
    for name, command in {"redis-cli": cli, **{name: shlex.quote(str(path)) for name, path in servers.items()}}.items():
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        script.chmod(0o755)
    return f"{folder}:{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
