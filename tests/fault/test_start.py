"""What keeps a node from starting: one clear line, exit status 1, nothing left behind."""

from __future__ import annotations

import ctypes
import socket
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.peers.lab import Lab, pyrepl_command
from tests.peers.ports import HOST, free_port

_libc = ctypes.CDLL(None)
_PR_CAPBSET_DROP = 24


def start(*args: object) -> tuple[int, str]:
    """Exit status and all it printed; a node that does start is ended and fails the test."""
    command = [*pyrepl_command(), "master", "--save", "", "--bind", HOST, *map(str, args)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=tempfile.gettempdir(),
        preexec_fn=_without_superuser_rights,
    )
    return done.returncode, done.stdout + done.stderr


def assert_one_line(result: tuple[int, str], *words: str) -> None:
    """Exit 1 and exactly one line that tells what is wrong; the lines of a normal start may precede it."""
    status, output = result
    assert status == 1, output
    assert "Traceback" not in output, output
    complaints = [line for line in output.splitlines() if all(word.lower() in line.lower() for word in words)]
    assert len(complaints) == 1, output


def test_port_in_use() -> None:
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
        assert_one_line(start("--port", port), str(port), "address already in use")


def test_folder_is_missing(tmp_path: Path) -> None:
    assert_one_line(start("--port", free_port(), "--dir", tmp_path / "missing"), "missing", "no such file or directory")


def test_folder_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert_one_line(start("--port", free_port(), "--dir", tmp_path / "file"), "file", "not a directory")


def _without_superuser_rights() -> None:
    """Let permissions bind root too: of the capabilities, drop those that pass over them (Linux, before exec)."""
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


def test_folder_must_not_be_entered(tmp_path: Path) -> None:
    folder = tmp_path / "private"
    folder.mkdir(mode=0)
    try:
        assert_one_line(start("--port", free_port(), "--dir", folder), "private", "permission denied")
    finally:
        folder.chmod(0o700)


def test_unix_socket_in_a_missing_folder(tmp_path: Path) -> None:
    result = start("--port", free_port(), "--unixsocket", tmp_path / "missing" / "s", "--dir", tmp_path)
    assert_one_line(result, "missing", "no such file or directory")


def test_address_of_another_machine(tmp_path: Path) -> None:
    result = start("--port", free_port(), "--bind", "203.0.113.1", "--dir", tmp_path)
    assert_one_line(result, "203.0.113.1")


def test_unknown_directive_is_named_with_the_nearest(tmp_path: Path) -> None:
    config = tmp_path / "node.conf"
    config.write_text("port 0\n\nrepl-backlog-sice 1mb\n")
    assert_one_line(start("--config", config), "node.conf", "3", "repl-backlog-sice", "repl-backlog-size")


def test_bad_value_is_named_with_its_line(tmp_path: Path) -> None:
    config = tmp_path / "node.conf"
    config.write_text("maxclients many\n")
    assert_one_line(start("--config", config), "node.conf", "1", "maxclients", "many")


def test_configuration_file_is_missing(tmp_path: Path) -> None:
    assert_one_line(start("--config", tmp_path / "missing.conf"), "missing.conf", "no such file or directory")


@pytest.mark.parametrize("user_given", ["repl-backlog-sice", "no-such-directive"])
def test_unknown_option_on_the_command_line(user_given: str) -> None:
    assert_one_line(start(f"--{user_given}", "1"), user_given)


CORRUPTIONS: dict[str, Callable[[bytes], bytes]] = {
    "cut short": lambda data: data[: len(data) // 2],
    "one bit": lambda data: data[:50] + bytes([data[50] ^ 4]) + data[51:],
    "another magic": lambda data: b"NOTREDIS!" + data[9:],
    "a later version": lambda data: b"REDIS0099" + data[9:],
    "empty": lambda data: b"",
}


@pytest.mark.parametrize("what", CORRUPTIONS)
def test_corrupt_dump_is_refused_and_kept(lab: Lab, tmp_path: Path, what: str) -> None:
    """It says file and byte, starts nothing, and leaves the file for whoever can mend it."""
    real = lab.start("redis7")
    for number in range(50):
        real.call("RPUSH", f"list:{number}", *range(number + 1))
    real.call("SAVE")
    folder = tmp_path / "corrupt"
    folder.mkdir()
    dump = folder / "dump.rdb"
    dump.write_bytes(CORRUPTIONS[what]((real.folder / "dump.rdb").read_bytes()))
    before = dump.read_bytes()
    status, output = start("--port", free_port(), "--dir", folder)
    assert status == 1, output
    assert "Traceback" not in output
    assert "dump.rdb" in output
    assert dump.read_bytes() == before
    assert [path.name for path in folder.iterdir()] == ["dump.rdb"]
