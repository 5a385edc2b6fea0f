"""The text log: where lines go, which are left out, and that a log that cannot be written ends nothing."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from pyrepl.daemon.clock import Clock
from pyrepl.daemon.log_sink import Log
from pyrepl.errors import ConfigError
from pyrepl.observability import events
from pyrepl.observability.event import Event, Level

NOTICE = events.ServerInitialized()
WARNING = events.CannotFork("no memory")


def make(role: str = "M") -> Log:
    return Log(Clock(), lambda: role)


def test_on_stdout_by_default_as_redis_writes_it(capfd: pytest.CaptureFixture[str]) -> None:
    make("S")(NOTICE)
    line = capfd.readouterr().out
    assert re.fullmatch(rf"{os.getpid()}:S \d\d \w{{3}} \d{{4}} \d\d:\d\d:\d\d\.\d{{3}} \* Server initialized\n", line)


def test_into_a_file_at_once(tmp_path: Path) -> None:
    log = make()
    log.open(str(tmp_path / "log"), "notice")
    for _ in range(2):
        log(NOTICE)
    assert (tmp_path / "log").read_text().count("Server initialized\n") == 2
    log.open("", "notice")


def test_a_file_is_added_to(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("before\n")
    log = make()
    log.open(str(tmp_path / "log"), "notice")
    log(NOTICE)
    log.open("", "notice")
    assert (tmp_path / "log").read_text().startswith("before\n")


def test_the_other_file_is_closed(tmp_path: Path) -> None:
    log = make()
    before = len(os.listdir("/proc/self/fd"))
    for name in ("a", "b", "b", "c"):
        log.open(str(tmp_path / name), "notice")
    assert len(os.listdir("/proc/self/fd")) == before + 1
    log.open("", "notice")
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    log = make()
    with pytest.raises(ConfigError, match=r"Can't open the log file .*/no/log: No such file or directory"):
        log.open(str(tmp_path / "no" / "log"), "notice")


def test_a_link_to_where_logs_are_kept_is_followed(tmp_path: Path) -> None:
    log, kept = make(), tmp_path / "kept"
    (tmp_path / "log").symlink_to(kept)
    log.open(str(tmp_path / "log"), "notice")
    log(NOTICE)
    log.tick(0.0)
    assert "Server initialized" in kept.read_text() and (tmp_path / "log").is_symlink()
    log.open("", "notice")


def test_a_file_that_was_moved_away(tmp_path: Path) -> None:
    """logrotate renames it; a new one of the old name is begun."""
    log, path = make(), tmp_path / "log"
    log.open(str(path), "notice")
    log(NOTICE)
    log.tick(0.0)
    path.rename(tmp_path / "log.1")
    log(WARNING)
    log.tick(0.0)
    log(NOTICE)
    assert "no memory" in (tmp_path / "log.1").read_text() and "no memory" not in path.read_text()
    assert path.read_text().count("Server initialized") == 1
    path.unlink()
    tmp_path.joinpath("log").mkdir()
    log.tick(0.0)
    log(NOTICE)
    assert log.lost_lines == 0
    log.open("", "notice")


@pytest.mark.parametrize(
    ("level", "written"), [("debug", 2), ("verbose", 2), ("notice", 2), ("warning", 1), ("nothing", 0)]
)
def test_levels(level: str, written: int) -> None:
    log = make()
    lines: list[str] = []
    log.printer = lines.append
    log.level = Level.named(level)
    for event in (NOTICE, WARNING):
        log(event)
    assert len(lines) == written


def test_a_log_that_cannot_be_written(tmp_path: Path) -> None:
    """A full disk: the line is lost and counted, and the node goes on."""
    log = make()
    log.open("/dev/full", "notice")
    log(NOTICE)
    log(NOTICE)
    assert log.lost_lines == 2
    log.open("", "notice")


def test_one_line_whatever_a_peer_chose() -> None:
    log = make()
    lines: list[str] = []
    log.printer = lines.append
    event: Event = events.CannotFork("a\nb\x1b[31m\udcff")
    log(event)
    assert len(lines) == 1 and lines[0].isprintable()
