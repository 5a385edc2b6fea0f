"""Mail that is delivered by LMTP is at another node before the mail server is told so."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from inotify_simple import INotify

from pyrepl.daemon.mailbox import lmtp_port as room
from pyrepl.daemon.mailbox.keeper import NAME
from pyrepl.daemon.mailbox.lmtp_port import LINGER_S, MOST_UNSENT, LmtpConn
from tests.peers.ports import free_port
from tests.unit.daemon.mailbox.mail_rig import MailProcess, links, members, settings_of, texts
from tests.unit.daemon.rig import Peer, RunningNode, in_loop, running, soon, until

TEXT = b"Subject: x\r\n\r\nhello\r\n"
DELIVERY = b"LHLO x\r\nMAIL FROM:<x@example.org>\r\nRCPT TO:<alice>\r\nDATA\r\n"


class Backend:
    """In place of a Dovecot: it puts every text into alice's new/."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "lmtp"
        self.saved = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 ready\r\n")
        while line := await reader.readline():
            if line == b"DATA\r\n":
                writer.write(b"354 go on\r\n")
                text = await reader.readuntil(b"\r\n.\r\n")
                self.saved += 1
                (self.folder / "mail" / "alice" / "new" / f"{self.saved}.x").write_bytes(text[:-3])
            writer.write(b"221 bye\r\n" if line == b"QUIT\r\n" else b"250 ok %d\r\n" % self.saved)
        writer.close()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Where keepers may have their sockets; they end when these are removed."""
    yield tmp_path
    for name in "ab":
        (tmp_path / name / NAME).unlink(missing_ok=True)


class Pair:
    """Two nodes, of which a has a port for LMTP."""

    def __init__(self, folder: Path, nodes: dict[str, RunningNode], backend: Backend, port: int) -> None:
        self.folder = folder
        self.nodes = nodes
        self.backend = backend
        self.port = port

    async def begun(self, greeting: bytes = b"220 ready\r\n") -> Peer:
        """A mail server that was greeted."""
        peer = await Peer.to(self.port)
        assert await soon(peer.reader.readline()) == greeting
        return peer

    async def deliver(self, peer: Peer) -> bytes:
        """What it is told of one mail."""
        peer.write(DELIVERY)
        lines = [await soon(peer.reader.readline()) for _ in range(4)]
        if not lines[-1].startswith(b"354"):
            return bytes(lines[-1])
        peer.write(TEXT + b".\r\n")
        return bytes(await soon(peer.reader.readline()))


@asynccontextmanager
async def pair(folder: Path, names: str = "ab", **more: object) -> AsyncIterator[Pair]:
    nodes, port = members("ab"), free_port()
    backend = Backend(folder / "a")
    async with AsyncExitStack() as stack:
        found = {}
        for name in names:
            lmtp = {"mailbox_lmtp_port": port, "mailbox_lmtp_backend": str(backend.path)} if name == "a" else {}
            settings = settings_of(folder / name, name, nodes, mailbox_gate="on", **lmtp, **more)
            found[name] = await stack.enter_async_context(running(folder / name, **settings))
        await until(lambda: links(found["a"]) == len(names) - 1, "links")
        made = Pair(folder, found, backend, port)
        process = await MailProcess.of(folder / "a")
        if len(names) > 1:
            assert (await process.ask("CREATE alice INBOX")).endswith("acks=1")
        server = await asyncio.start_unix_server(backend.serve, str(backend.path))
        yield made
        server.close()


@in_loop
async def test_a_delivery_is_told_when_another_node_has_it(folder: Path) -> None:
    async with pair(folder) as made:
        peer = await made.begun()
        for number in range(1, 4):
            assert await made.deliver(peer) == b"250 ok %d\r\n" % number
            assert len(texts(folder / "b")) == number, "before it was told"
        peer.write(b"QUIT\r\n")
        assert await soon(peer.reader.read()) == b"221 bye\r\n"
        assert texts(folder / "b") == [TEXT] * 3 and not made.nodes["a"].logged("single_copy")


@in_loop
async def test_alone_it_is_told_and_noted_or_refused(folder: Path) -> None:
    async with pair(folder, "a") as made:
        (folder / "a" / "mail" / "alice" / "new").mkdir(parents=True)
        assert await made.deliver(await made.begun()) == b"250 ok 1\r\n"
        assert made.nodes["a"].logged("single_copy")
    async with pair(folder, "a", mailbox_single_copy="refuse") as made:
        peer = await made.begun()
        assert (await made.deliver(peer)).startswith(b"451 4.3.2 ") and made.backend.saved == 0
        peer.write(b"NOOP\r\n")
        assert await soon(peer.reader.readline()) == b"250 ok 0\r\n"


@in_loop
async def test_without_a_backend_mail_servers_come_again(folder: Path) -> None:
    async with pair(folder) as made:
        made.backend.path.unlink()
        for _ in range(2):
            peer = await made.begun(b"421 4.3.0 The mail server behind this one cannot be reached\r\n")
            assert await soon(peer.reader.read()) == b""
        assert len([line for line in made.nodes["a"].lines if "cannot be reached, so mail servers" in line]) == 1


@in_loop
async def test_a_machine_that_begins_again_takes_no_stored_mail_back(folder: Path) -> None:
    async with pair(folder) as made:
        mailboxes = made.nodes["a"].app.mailboxes
        assert mailboxes is not None
        peer = await made.begun()
        assert await made.deliver(peer) == b"250 ok 1\r\n"
        node = mailboxes.conns.keeping.driver.node if mailboxes.conns.keeping is not None else None
        assert node is not None and node.deliveries is not None
        node.deliveries.wait = lambda *args: None  # type: ignore[method-assign]
        peer.write(DELIVERY)
        for _ in range(4):
            await soon(peer.reader.readline())
        peer.write(TEXT + b".\r\n")
        await until(lambda: made.backend.saved == 2)
        mailboxes.conns.drop_all("a test")
        assert await soon(peer.reader.readline()) == b"250 ok 2\r\n" and made.nodes["a"].logged("single_copy")


@in_loop
async def test_a_round_that_waits_for_a_disk_does_not_hold_up_the_answer(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "GRACE_S", -5.0)  # The time is over at once.
    late: list[Callable[[], None]] = []
    async with pair(folder) as made:
        mailboxes = made.nodes["a"].app.mailboxes
        assert mailboxes is not None
        monkeypatch.setattr(mailboxes.conns, "delivered", lambda addr, stored, then: late.append(then))
        peer = await made.begun()
        assert await made.deliver(peer) == b"250 ok 1\r\n" and made.nodes["a"].logged("single_copy a delivery of")
        first = late.pop()
        first()
        peer.write(DELIVERY)
        for _ in range(4):
            await soon(peer.reader.readline())
        first()
        peer.write(TEXT + b".\r\n")
        assert await soon(peer.reader.readline()) == b"250 ok 2\r\n"
        first()
        peer.write(b"QUIT\r\n")
        assert await soon(peer.reader.read()) == b"221 bye\r\n"


@in_loop
async def test_a_delivery_waits_for_the_look_at_what_a_crash_left(folder: Path) -> None:
    async with pair(folder) as made:
        mailboxes = made.nodes["a"].app.mailboxes
        assert mailboxes is not None and mailboxes.conns.keeping is not None
        driver = mailboxes.conns.keeping.driver
        driver.is_settled = False
        told = asyncio.ensure_future(made.deliver(await made.begun()))
        await until(lambda: made.backend.saved == 1)
        rounds = driver.rounds
        driver.wake()
        await until(lambda: driver.rounds > rounds)
        driver.is_settled = True
        driver.wake()
        assert await told == b"250 ok 1\r\n"
        assert texts(folder / "b") == [TEXT]


@in_loop
async def test_more_connections_than_may_be_are_told_to_come_again(folder: Path) -> None:
    async with pair(folder, mailbox_maxclients=2) as made:
        first, second = await made.begun(), await made.begun()
        await made.begun(b"421 4.3.2 Too many connections (mailbox-maxclients): come again\r\n")
        first.close()
        second.close()


@in_loop
async def test_a_delivery_into_a_mailbox_that_the_kernel_does_not_watch_is_at_another_node_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, maildir = INotify.add_watch, os.fsencode(folder / "a" / "mail" / "alice")

    def full(self: INotify, path: bytes, mask: int) -> int:
        if path.startswith(maildir):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        watch: int = real(self, path, mask)
        return watch

    monkeypatch.setattr(INotify, "add_watch", full)
    async with pair(folder) as made:
        await until(lambda: made.nodes["a"].logged("watches_run_out"))
        assert await made.deliver(await made.begun()) == b"250 ok 1\r\n"
        assert texts(folder / "b") == [TEXT] and not made.nodes["a"].logged("single_copy")


class FakeSocket:
    """An end of which nothing leaves."""

    def __init__(self) -> None:
        self.unsent = 0
        self.is_read = True
        self.ended: list[str] = []

    def write(self, pieces: list[bytes]) -> None:
        self.unsent += sum(map(len, pieces))

    def read_on(self, wanted: bool) -> None:
        self.is_read = wanted

    def close(self) -> None:
        self.ended.append("closed")

    def abort(self) -> None:
        self.ended.append("cut")


class FakeConns:
    """What a connection needs of the node, which has nothing."""

    keeping = None
    news = 0
    time = 0.0

    def now(self) -> float:
        return self.time


class Reading:
    """A mail server that reads nothing, and what its connection does."""

    def __init__(self, *, has_backend: bool = True) -> None:
        self.client, self.backend, self.conns = FakeSocket(), FakeSocket(), FakeConns()
        ends = [self.client, self.backend]
        self.ends: list[Any] = []

        def add(wire: object, end: object) -> FakeSocket:
            self.ends.append(end)
            return ends[len(self.ends) - 1]

        sockets: Any = SimpleNamespace(add=add)
        wire: Any = None
        conns: Any = self.conns
        self.over: list[LmtpConn] = []
        self.conn = LmtpConn(conns, "somebody", self.over.append, 60.0, accepts_single=True)
        self.conn.enter(sockets, wire)
        if has_backend:
            self.conn.reached(sockets, wire)


def test_who_does_not_read_replies_is_not_read() -> None:
    one = Reading()
    one.ends[1].data_received(b"220 ready\r\n")
    assert one.client.is_read
    one.client.unsent = MOST_UNSENT
    one.ends[0].data_received(b"NOOP\r\n")
    assert not one.client.is_read
    one.client.unsent = 0
    one.ends[0].resume_writing()
    assert one.client.is_read


@pytest.mark.parametrize("has_backend", [True, False])
def test_who_does_not_read_the_last_reply_is_cut(has_backend: bool) -> None:
    one = Reading(has_backend=has_backend)
    if has_backend:
        one.ends[0].data_received(b"\n" * 1000)
    else:
        one.conn.refuse(b"421 come again\r\n")
    assert one.client.ended == ["closed"]
    one.conns.time = LINGER_S / 2
    one.conn.tick(one.conns.time)
    assert "cut" not in one.client.ended and one.over == []
    one.conns.time = LINGER_S
    one.conn.tick(one.conns.time)
    assert one.client.ended[-1] == "cut" and one.over == [one.conn]
