"""The command line: help, what it refuses and how, and that the words reach the node."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cli.addresses import parse_target
from cli.commands import cli
from pyrepl import VERSION
from pyrepl.kernels import form
from tests.peers.ports import free_port

ROOT = Path(__file__).parents[3]


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, words, prog_name="pyrepl")


def run_process(*words: str, timeout_s: float = 120) -> subprocess.CompletedProcess[str]:
    """The command as a process of its own; for what ends before it serves anybody."""
    return subprocess.run(
        [sys.executable, "-m", "cli.main", *words], capture_output=True, text=True, cwd=ROOT, timeout=timeout_s
    )


class TestHelp:
    def test_the_two_commands(self) -> None:
        shown = run("--help").output
        assert "master" in shown and "replica" in shown and "pyrepl replica --master 127.0.0.1:6379" in shown

    @pytest.mark.parametrize("name", ["master", "replica"])
    def test_of_each(self, name: str) -> None:
        result = run(name, "-h")
        assert result.exit_code == 0
        assert "--config" in result.output and "Every directive of redis.conf is an option too" in result.output
        assert ("--master HOST:PORT" in result.output) is (name == "replica")
        words = " ".join(result.output.split())
        assert "Replication, with the defaults:" in words and "Change streams, with the defaults:" in words
        assert "--repl-backlog-size 1mb" in words and "--port 6379 TCP port; 0 opens none." in words
        assert "--key-load-delay" not in words, "for testers"

    def test_version(self) -> None:
        assert run("--version").output == f"pyrepl, version {VERSION} ({form()})\n"


class TestAddress:
    @pytest.mark.parametrize(
        "text", ["", "host", ":6379", "host:", "host:x", "host:0", "host:65536", "host:-1", "[]:1"]
    )
    def test_bad(self, text: str) -> None:
        assert parse_target(text) is None
        result = run("replica", "--master", text)
        assert result.exit_code != 0
        assert "expected HOST:PORT, for example 127.0.0.1:6379" in result.output


class TestRefusals:
    """One line on stderr that says what is wrong, and exit 1."""

    def refused(self, *words: str) -> str:
        result = run_process(*words)
        assert result.returncode == 1 and result.stdout == ""
        assert result.stderr.startswith("pyrepl: ") and result.stderr.count("\n") == 1
        return result.stderr

    def test_an_unknown_directive(self) -> None:
        assert "unknown directive 'prot'; did you mean 'port'?" in self.refused("master", "--prot", "1")

    def test_a_bad_value(self) -> None:
        assert "--port" in self.refused("master", "--port", "70000")

    def test_no_such_file(self, tmp_path: Path) -> None:
        line = self.refused("master", "--config", str(tmp_path / "no.conf"))
        assert "cannot read the configuration file" in line and "No such file or directory" in line

    def test_a_mistake_in_the_file(self, tmp_path: Path) -> None:
        (tmp_path / "a.conf").write_text("port 1\nhz lots\n")
        assert "a.conf, line 2" in self.refused("master", str(tmp_path / "a.conf"))

    def test_a_replica_of_nobody(self) -> None:
        assert "no master to follow: give --master HOST:PORT" in self.refused("replica", "--port", "7000")

    @pytest.mark.parametrize("to_a_file", [False, True])
    def test_a_port_in_use(self, tmp_path: Path, to_a_file: bool) -> None:
        """Why is said once on the terminal, and once in a log file."""
        log = tmp_path / "log"
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            words = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(tmp_path)]
            result = run_process("master", *words, *(["--logfile", str(log)] if to_a_file else []))
        why = f"Could not create server TCP listening socket 127.0.0.1:{port}: bind: Address already in use"
        assert result.returncode == 1
        assert result.stderr == f"pyrepl: {why}; another process listens there: stop it, or choose another --port\n"
        logged = log.read_text() if to_a_file else result.stdout
        assert f"# Failed listening on port {port} (tcp), aborting.\n" in logged
        assert logged.count(why) == to_a_file

    def test_a_bad_directory(self, tmp_path: Path) -> None:
        assert "Can't chdir to" in self.refused("master", "--dir", str(tmp_path / "no"))


@pytest.mark.parametrize("by_option", [True, False])
def test_what_is_given_is_in_force(tmp_path: Path, by_option: bool) -> None:
    """The file by --config or as redis-server takes it, the command line over the file, the master over both."""
    path = tmp_path / "a.conf"
    path.write_text(f"port 1\nhz 33\ndir {tmp_path}\nreplicaof elsewhere 1\n")
    port = free_port()
    with socket.create_server(("127.0.0.1", 0)) as master:
        config = ["--config", str(path)] if by_option else [str(path)]
        address = f"127.0.0.1:{master.getsockname()[1]}"
        words = ["replica", *config, "--port", str(port), "--save", "", "--master", address]
        with subprocess.Popen(
            [sys.executable, "-m", "cli.main", *words], stdout=subprocess.PIPE, text=True, cwd=ROOT
        ) as node:
            assert node.stdout is not None
            try:
                master.settimeout(120)
                connection, _ = master.accept()
                with connection, socket.create_connection(("127.0.0.1", port)) as client:
                    client.sendall(b"CONFIG GET hz\r\nCONFIG GET replicaof\r\n")
                    expected = b"*2\r\n$2\r\nhz\r\n$2\r\n33\r\n*2\r\n$9\r\nreplicaof\r\n"
                    got = b""
                    while len(got) < len(expected) + 20:
                        got += client.recv(1000)
                    assert got.startswith(expected) and address.replace(":", " ").encode() in got
            finally:
                node.terminate()
                node.stdout.read()
                assert node.wait(60) == 0
    assert "dump.rdb" not in os.listdir(tmp_path)
