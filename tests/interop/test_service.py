"""A node as systemd runs it: what it tells the supervisor, pidfile and logfile; and that it stays in the foreground."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.peers.lab import Lab, pyrepl_command, wait_until


class Systemd:
    """The other end of NOTIFY_SOCKET: every line it was told."""

    def __init__(self, path: Path) -> None:
        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._sock.bind(str(path))
        self._sock.setblocking(False)
        self._lines: list[str] = []

    def heard(self) -> list[str]:
        try:
            while True:
                self._lines += self._sock.recv(4096).decode().splitlines()
        except BlockingIOError:
            return self._lines

    def close(self) -> None:
        self._sock.close()


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Systemd]:
    path = tmp_path / "notify"
    monkeypatch.setenv("NOTIFY_SOCKET", str(path))
    listener = Systemd(path)
    yield listener
    listener.close()


@pytest.mark.parametrize("supervised", ["auto", "systemd"])
def test_a_service_from_start_to_end(lab: Lab, tmp_path: Path, systemd: Systemd, supervised: str) -> None:
    pidfile, logfile = tmp_path / "node.pid", tmp_path / "node.log"
    master = lab.start("redis7")
    directives = {"supervised": supervised, "pidfile": str(pidfile), "logfile": str(logfile)}
    node = lab.start("pyrepl", master, directives=directives)
    wait_until("it is ready", lambda: "READY=1" in systemd.heard())
    assert pidfile.read_text() == f"{node.process.pid}\n"
    assert node.info("server")["process_supervised"] == "systemd"
    address = f"127.0.0.1:{master.port}"
    wait_until("the state is told", lambda: any(f"replica of {address}, in sync" in line for line in systemd.heard()))
    master.kill()
    wait_until("the loss is told", lambda: "in sync" not in systemd.heard()[-1])
    assert address in systemd.heard()[-1]
    assert node.terminate() == 0
    assert systemd.heard()[-2:] == ["STOPPING=1", "STATUS=Shutting down"]
    assert not pidfile.exists()
    assert "bye bye" in logfile.read_text() and not node.log()


def test_without_a_supervisor(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """`auto` finds none; `systemd` says what is missing. Both serve."""
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    for supervised in ("auto", "systemd"):
        node = lab.start("pyrepl", directives={"supervised": supervised})
        assert node.info("server")["process_supervised"] == "no"
        assert ("NOTIFY_SOCKET" in node.log()) is (supervised == "systemd")


@pytest.mark.parametrize("words", [["--daemonize", "yes"], ["{file}"]])
def test_it_stays_in_the_foreground(tmp_path: Path, words: list[str]) -> None:
    """`daemonize yes` is refused with a line that says what to do instead."""
    file = tmp_path / "node.conf"
    file.write_text("port 0\ndaemonize yes\n")
    command = [*pyrepl_command(), "master", *(word.format(file=file) for word in words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    (line,) = (done.stdout + done.stderr).strip().splitlines()
    assert done.returncode == 1
    assert "daemonize" in line and "systemd" in line
