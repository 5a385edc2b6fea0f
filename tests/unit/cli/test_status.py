"""`pyrepl status` as a command: what it refuses, prints and returns, with one node scripted and the rest away."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

from cli.status import picture
from tests.unit.topology.infos import GOOD, info, replica_info, tree_of

ROOT = Path(__file__).parents[3]


class Peer(socketserver.ThreadingTCPServer):
    """Answers each connection with +OK for AUTH and the text for INFO."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, text: str) -> None:
        self.text = text
        self.answers = b""
        """Said instead, if it is set."""
        self.heard: list[bytes] = []
        super().__init__(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()


class Handler(socketserver.BaseRequestHandler):
    server: Peer

    def handle(self) -> None:
        data = self.request.recv(1000)
        self.server.heard.append(data)
        if self.server.answers:
            self.request.sendall(self.server.answers)
            return
        text = self.server.text.encode()
        self.request.sendall(b"+OK\r\n" * (b"AUTH" in data) + b"$%d\r\n%s\r\n" % (len(text), text))


@pytest.fixture
def master() -> Iterator[Peer]:
    peer = Peer(info("m"))
    yield peer
    peer.shutdown()
    peer.server_close()


def status(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cli.main", "status", "--timeout", "60", *words],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
        env={**os.environ, **environment},
    )


def test_all_is_well(master: Peer) -> None:
    done = status(master.address)
    assert done.returncode == 0 and done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0].split()[:3] == ["node", "role", "link"]
    assert lines[1].split() == [master.address, "master", "100", "0B/s", "redis", "7.0.15"]
    assert lines[-1] == "in sync: 1 node"


def test_json(master: Peer) -> None:
    done = status("--json", master.address)
    document = json.loads(done.stdout)
    assert done.returncode == 0
    assert (document["status"], document["nodes"][0]["run_id"]) == ("ok", "m")


def test_something_is_wrong(master: Peer) -> None:
    master.text = replica_info("r", 1, master_host="127.0.0.1", master_link_status="down")
    done = status(master.address)
    assert done.returncode == 1
    assert "! 127.0.0.1:1: cannot be asked: Connection refused" in done.stdout
    assert f"! {master.address}: link down" in done.stdout


def test_the_first_node_is_away() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    done = status(address)
    assert done.returncode == 2 and "cannot be asked: Connection refused" in done.stdout
    assert json.loads(status("--json", address).stdout)["status"] == "unreachable"


def test_a_refused_password_is_not_unreachable(master: Peer) -> None:
    master.answers = (
        b"-WRONGPASS invalid username-password pair or user is disabled.\r\n-NOAUTH Authentication required.\r\n"
    )
    done = status(master.address, PYREPL_PASSWORD="geheim")
    assert done.returncode == 2 and "unreachable" not in done.stdout
    assert done.stdout.splitlines()[1].split()[2] == "refused"
    assert f"! {master.address}: refuses to be asked: WRONGPASS invalid username-password pair" in done.stdout
    assert "see PYREPL_PASSWORD, --password and --user" in done.stdout and "geheim" not in done.stdout
    document = json.loads(status("--json", master.address, PYREPL_PASSWORD="geheim").stdout)
    assert (document["status"], document["problems"][0]["code"]) == ("refused", "refused")


def test_the_password_is_sent_and_never_shown(master: Peer) -> None:
    by_option = status("--user", "bob", "--password", "geheim", master.address)
    by_environment = status("--json", master.address, PYREPL_PASSWORD="geheim")
    assert all(b"AUTH" in data and b"geheim" in data for data in master.heard)
    assert b"$3\r\nbob" in master.heard[0]
    for done in (by_option, by_environment, status("--help", PYREPL_PASSWORD="geheim")):
        assert done.returncode == 0 and "geheim" not in done.stdout + done.stderr


@pytest.mark.parametrize("words", [("nohost",), ("h:0",), ("--timeout", "0", "h:1"), ("--max-lag", "-1", "h:1"), ()])
def test_what_is_refused(words: tuple[str, ...]) -> None:
    done = status(*words)
    assert done.returncode == 2 and "Usage: " in done.stderr


@pytest.mark.parametrize("as_json", [False, True])
def test_watch_until_ctrl_c(master: Peer, as_json: bool) -> None:
    words = ["status", "--timeout", "60", "--watch", *(["--json"] if as_json else []), master.address]
    with subprocess.Popen(
        [sys.executable, "-m", "cli.main", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        # What a script runs in the background has it ignored, and so have its children.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    ) as process:
        try:
            while len(master.heard) < 3:
                assert process.poll() is None
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, err) == (0, "")
    if as_json:
        looks = [json.loads(line) for line in out.splitlines()]
        assert len(looks) >= 2 and looks[-1]["nodes"][0]["write_bytes_per_s"] == 0.0
    else:
        assert out.rstrip().endswith("in sync: 1 node")


def test_a_narrow_screen_shows_what_matters() -> None:
    shown = []
    for width in (80, 200):
        console = Console(file=io.StringIO(), width=width)
        console.print(picture(tree_of(1, GOOD), 10, width))
        assert isinstance(console.file, io.StringIO)
        shown.append(console.file.getvalue())
    narrow, wide = shown
    assert "│  └─ 10.0.0.1:4  replica  up" in narrow and "…" not in narrow
    assert "software" not in narrow.splitlines()[0] and "redis 7.0.15" not in narrow
    assert "left out at 80 columns: writes, software (105 show them)" in narrow
    assert "software" in wide and "redis 7.0.15" in wide and "left out" not in wide
