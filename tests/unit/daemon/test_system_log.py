"""What the syslog daemon gets of an event: priority, ident and text; and that nobody misses the daemon."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from pyrepl.daemon.clock import Clock
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.system_log import SystemLog
from pyrepl.observability import events
from pyrepl.observability.event import Level

_LOCAL3 = 19 * 8
_USER = 1 * 8
_WARNING, _NOTICE = 4, 5


def daemon(path: Path) -> socket.socket:
    taking = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    taking.bind(str(path))
    taking.settimeout(10)
    return taking


@pytest.mark.parametrize(("facility", "number"), [("local3", _LOCAL3), ("user", _USER)])
def test_priority_ident_and_text(tmp_path: Path, facility: str, number: int) -> None:
    with daemon(tmp_path / "log") as taking:
        system = SystemLog("north", facility, str(tmp_path / "log"))
        system(events.ServerInitialized())
        system(events.CannotFork("100%s of memory"))
        head = f"north[{os.getpid()}]: "
        assert taking.recv(1000).rstrip(b"\0").decode() == f"<{number + _NOTICE}>{head}Server initialized"
        warning = taking.recv(1000).rstrip(b"\0").decode()
        assert warning == f"<{number + _WARNING}>{head}{events.CannotFork('100%s of memory').text()}"
        system.close()


def test_without_a_daemon_lines_are_lost_until_it_comes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    system = SystemLog("north", "local0", str(tmp_path / "log"))
    system(events.ServerInitialized())
    with daemon(tmp_path / "log") as taking:
        system(events.ServerInitialized())
        assert taking.recv(1000).rstrip(b"\0").endswith(b"Server initialized")
    system(events.ServerInitialized())
    system.close()
    assert capfd.readouterr() == ("", "")


def test_the_text_log_sends_what_its_level_lets_through(tmp_path: Path) -> None:
    with daemon(tmp_path / "log") as taking:
        log = Log(Clock(), lambda: "M")
        log.open(str(tmp_path / "file"), "warning")
        log.system = SystemLog("north", "local0", str(tmp_path / "log"))
        log(events.ServerInitialized())
        log(events.CannotFork("no memory"))
        assert taking.recv(1000).rstrip(b"\0").endswith(events.CannotFork("no memory").text().encode())
        assert log.level is Level.WARNING
        assert "no memory" in (tmp_path / "file").read_text()
        log.system = None
        log.open("", "notice")
