"""A PostgreSQL server of a test's own (finder.py has the programs), on a free port, in a folder that goes with it.

It refuses to run as root, so then another user runs it, `postgres` or `nobody`; and a copy of it where its own folder
is not for others to read. Ended with the `with`, and by the kernel when the test process is killed.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tests.peers import finder
from tests.peers.lab import LabError, die_with_parent, wait_until
from tests.peers.ports import HOST, free_port

USER: Final = "postgres"
_STOP_S: Final = 20


class Postgres:
    """One running server; `url` is what clients connect to."""

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"postgresql://{USER}@{HOST}:{self.port}/postgres"
        self._folder = Path(tempfile.mkdtemp(prefix="pyrepl-postgres-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._as: dict[str, Any] = {}
        self._programs = finder.postgres()
        if os.geteuid() == 0:
            owner = _other_user()
            os.chown(self._folder, owner.pw_uid, owner.pw_gid)
            self._as = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
            self._programs = _readable(self._programs, self._folder)
        self.data = self._folder / "data"

    def __enter__(self) -> Self:
        command = [self._programs / "initdb", "-D", self.data, "-U", USER, "--auth=trust", "--no-sync", "-E", "UTF8"]
        try:
            done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd="/", **self._as)
            if done.returncode:
                raise LabError(f"initdb: {done.stdout}{done.stderr}")
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def start(self) -> None:
        """Run it, and wait until it accepts connections."""
        settings = {"listen_addresses": HOST, "port": self.port, "unix_socket_directories": "", "fsync": "off"}
        command = [
            self._programs / "postgres",
            "-D",
            self.data,
            *(f"--{name}={value}" for name, value in settings.items()),
        ]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                list(map(str, command)), stdout=log, stderr=log, cwd="/", preexec_fn=die_with_parent, **self._as
            )
        wait_until("PostgreSQL accepts connections", self._is_ready)

    def stop(self) -> None:
        """End it as `pg_ctl stop -m fast` does; its data stays."""
        self._end(signal.SIGINT)

    def close(self) -> None:
        """End it, and remove its data."""
        self._end(signal.SIGINT)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _is_ready(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise LabError(f"PostgreSQL ended with {self._process.returncode}: {(self._folder / 'log').read_text()}")
        command = [str(self._programs / "pg_isready"), "-q", "-h", HOST, "-p", str(self.port)]
        return subprocess.run(command, check=False).returncode == 0

    def _end(self, number: int) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        ways: list[Callable[[], None]] = [lambda: process.send_signal(number), process.kill]
        for way in ways:
            way()
            try:
                process.wait(_STOP_S)
                return
            except subprocess.TimeoutExpired:
                continue


def _other_user() -> pwd.struct_passwd:
    """Who runs it for root: whom PostgreSQL's package makes, or whom every system has."""
    try:
        return pwd.getpwnam(USER)
    except KeyError:
        return pwd.getpwnam("nobody")


def _readable(programs: Path, folder: Path) -> Path:
    """The programs where any user may run them: Debian's are; a wheel's may be below root's own folder, so copied."""
    if programs.is_relative_to("/usr"):
        return programs
    package = programs.parents[1]
    copied = folder / "programs"
    for part in (package, package.with_name(f"{package.name}.libs")):
        shutil.copytree(part, copied / part.name)
    return copied / programs.relative_to(package.parent)
