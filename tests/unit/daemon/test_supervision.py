"""What systemd is told: the datagrams in a socket of our own, and the sentence that `systemctl status` shows."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyrepl.daemon.supervision import Supervision, condition
from pyrepl.node.persistence import Loading
from tests.unit.daemon.rig import bare_node, in_loop, running, until


class Listener:
    """systemd's end: each datagram as its lines."""

    def __init__(self, address: str) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind(address)
        self.sock.setblocking(False)
        self.heard: list[list[str]] = []

    def hear(self) -> list[list[str]]:
        try:
            while True:
                self.heard.append(self.sock.recv(4096).decode().split("\n"))
        except BlockingIOError:
            return self.heard


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[tuple[Listener, dict[str, str]]]:
    path = str(tmp_path / "notify")
    listener = Listener(path)
    yield listener, {"NOTIFY_SOCKET": path}
    listener.sock.close()


READY = "Ready to accept connections; master of 0 replicas"


class TestWhoIsTold:
    @pytest.mark.parametrize("mode", ["systemd", "auto"])
    def test_systemd(self, systemd: tuple[Listener, dict[str, str]], mode: str) -> None:
        listener, environment = systemd
        node = bare_node(supervised=mode)
        supervision = Supervision(node, environment)
        assert node.process.supervised == "systemd" and not supervision.missing
        supervision.ready(0.0)
        supervision.stop()
        assert listener.hear() == [["READY=1", f"STATUS={READY}"], ["STOPPING=1", "STATUS=Shutting down"]]

    @pytest.mark.parametrize("mode", ["no"])
    def test_nobody_when_it_is_not_wanted(self, systemd: tuple[Listener, dict[str, str]], mode: str) -> None:
        listener, environment = systemd
        node = bare_node(supervised=mode)
        supervision = Supervision(node, environment)
        supervision.ready(0.0)
        supervision.tick(0.0)
        supervision.stop()
        assert listener.hear() == [] and node.process.supervised == "no" and not supervision.missing

    @pytest.mark.parametrize(("mode", "missing"), [("systemd", True), ("auto", False)])
    @pytest.mark.parametrize("environment", [{}, {"NOTIFY_SOCKET": "relative/path"}, {"NOTIFY_SOCKET": ""}])
    def test_no_socket(self, mode: str, missing: bool, environment: dict[str, str]) -> None:
        node = bare_node(supervised=mode)
        supervision = Supervision(node, environment)
        assert supervision.missing is missing and node.process.supervised == "no"
        supervision.ready(0.0)

    def test_an_abstract_address(self) -> None:
        listener = Listener("\0pyrepl-test-supervision")
        try:
            Supervision(bare_node(supervised="auto"), {"NOTIFY_SOCKET": "@pyrepl-test-supervision"}).stop()
            assert listener.hear() == [["STOPPING=1", "STATUS=Shutting down"]]
        finally:
            listener.sock.close()

    def test_a_supervisor_that_is_gone_or_does_not_read(self, systemd: tuple[Listener, dict[str, str]]) -> None:
        listener, environment = systemd
        supervision = Supervision(bare_node(supervised="systemd"), environment)
        for _ in range(1000):
            supervision.stop()
        assert 0 < len(listener.hear()) < 1000
        Supervision(bare_node(supervised="systemd"), {"NOTIFY_SOCKET": environment["NOTIFY_SOCKET"] + "-gone"}).ready(
            0.0
        )


class TestStates:
    def test_a_state_is_told_once(self, systemd: tuple[Listener, dict[str, str]]) -> None:
        listener, environment = systemd
        node = bare_node(supervised="systemd")
        supervision = Supervision(node, environment)
        supervision.ready(0.0)
        supervision.tick(0.0)
        node.persistence.loading = Loading(1.0, 100, 200, asynchronous=False)
        supervision.tick(0.0)
        supervision.tick(0.0)
        assert listener.hear()[1:] == [["STATUS=Loading the dataset in memory: 0%"]]

    def test_a_long_load_is_no_start_that_hangs(self, systemd: tuple[Listener, dict[str, str]]) -> None:
        listener, environment = systemd
        node = bare_node(supervised="systemd")
        supervision = Supervision(node, environment)
        node.persistence.loading = Loading(1.0, 100, 200, asynchronous=False)
        node.persistence.loading.loaded_bytes = 100
        supervision.tick(0.0)
        supervision.tick(0.0)
        told = ["EXTEND_TIMEOUT_USEC=30000000", "STATUS=Loading the dataset in memory: 50%"]
        assert listener.hear() == [told, told]

    def test_units_that_need_us_wait_for_what_is_awaited(self, systemd: tuple[Listener, dict[str, str]]) -> None:
        listener, environment = systemd
        awaited = "3 gates are being shut"
        supervision = Supervision(bare_node(supervised="systemd"), environment, lambda now: awaited)
        supervision.ready(0.0)
        assert supervision.next_deadline(0.0) < 1.0
        supervision.tick(0.0)
        told = ["EXTEND_TIMEOUT_USEC=30000000", "STATUS=3 gates are being shut"]
        assert listener.hear() == [told, told]
        awaited = ""
        supervision.tick(0.0)
        awaited = "something else"
        supervision.tick(0.0)
        assert listener.hear()[2:] == [["READY=1", f"STATUS={READY}"]] and supervision.next_deadline(0.0) == 1.0

    @in_loop
    async def test_of_a_replica(self, tmp_path: Path) -> None:
        (tmp_path / "m").mkdir()
        (tmp_path / "r").mkdir()
        async with (
            running(tmp_path / "m", repl_diskless_sync_delay=0) as master,
            running(tmp_path / "r", replicaof=("127.0.0.1", master.port)) as replica,
        ):
            address = f"127.0.0.1:{master.port}"
            in_sync = f"Ready to accept connections; replica of {address}, in sync"
            await until(lambda: condition(replica.app.node) == in_sync, in_sync)
            assert condition(master.app.node) == "Ready to accept connections; master of 1 replica"
            await master.stop()
            down = f"Ready to accept connections; replica of {address}, "
            await until(lambda: "next try in" in condition(replica.app.node), "a pause")
            assert condition(replica.app.node).startswith(down + "link down (")


@in_loop
async def test_a_whole_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listener = Listener(str(tmp_path / "notify"))
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    async with running(tmp_path, supervised="auto") as node:
        await until(listener.hear, "READY")
        assert ["READY=1", f"STATUS={READY}"] in listener.heard
        assert b"process_supervised:systemd" in await node.say("INFO server")
        assert await node.say("CONFIG GET supervised") == [b"supervised", b"auto"]
    assert listener.hear()[-1] == ["STOPPING=1", "STATUS=Shutting down"]
    listener.sock.close()


@in_loop
async def test_systemd_that_is_not_there_is_told_in_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    async with running(tmp_path, supervised="systemd") as node:
        assert node.logged("systemd supervision requested, but NOTIFY_SOCKET not found")
        await asyncio.sleep(0)
        assert await node.say("PING") == "PONG"
