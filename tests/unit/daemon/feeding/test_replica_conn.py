"""What goes out to a replica: a snapshot file and the stream, no more at once than its socket takes."""

from __future__ import annotations

import asyncio
import gc
import random
from pathlib import Path

import pytest

from pyrepl.daemon.feeding.replica_conn import BATCH_BYTES, BATCH_S, HIGH_WATER_BYTES, ReplicaConn
from pyrepl.replication.psync import Request
from pyrepl.units import Offset
from tests.unit.daemon.rig import Peer, RunningNode, in_loop, open_fds, running, until


class Bench:
    """A replica that continues at 0 on a real connection, apart from the node's own pump."""

    def __init__(self, node: RunningNode, peer: Peer) -> None:
        replication = node.app.node.replication
        self.backlog = replication.backlog
        self.backlog.resize(1 << 26)
        self.backlog.create()
        (conn,) = node.app.clients.conns.values()
        self.now = node.app.clock.now()
        self.session = replication.roster.open_session(999, "h", self.now)
        self.replica = ReplicaConn(conn, self.session, self.backlog, node.app.replicas, lambda: self.now)
        self.roster = replication.roster
        self.replid = replication.history.replid
        self.peer = peer

    def go_online(self) -> None:
        self.roster.request_sync(self.session, Request(self.replid, Offset(0)), self.now)


async def bench(node: RunningNode) -> Bench:
    peer = await node.peer()
    assert await peer.say("PING") == "PONG"
    return Bench(node, peer)


class TestStream:
    @in_loop
    async def test_what_the_session_says_then_the_stream(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            subject = await bench(node)
            subject.go_online()
            subject.backlog.append(b"stream")
            assert subject.replica.push() == 6
            assert (await subject.peer.line()).startswith(b"+CONTINUE")
            assert await subject.peer.exactly(6) == b"stream"
            assert subject.replica.push() == 0

    @in_loop
    async def test_no_more_than_the_high_water_mark_waits(self, tmp_path: Path) -> None:
        """The rest stays in the backlog, which is one for all replicas."""
        async with running(tmp_path) as node:
            subject = await bench(node)
            subject.go_online()
            data = random.Random(1).randbytes(20_000_000)
            subject.backlog.append(data)
            assert 0 < subject.replica.push() < len(data)
            assert subject.session.unsent_bytes <= HIGH_WATER_BYTES + 100
            assert len(data) // 2 < subject.session.pending_bytes(subject.backlog.end) < len(data)
            assert (await subject.peer.line()).startswith(b"+CONTINUE")
            received = bytearray()
            while len(received) < len(data):
                subject.replica.push()
                received += await subject.peer.some()
            assert received == data
            assert subject.replica.is_flushed

    @in_loop
    async def test_nothing_for_a_connection_that_ends(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            subject = await bench(node)
            subject.go_online()
            subject.backlog.append(b"stream")
            subject.replica.conn.transport.abort()
            assert subject.replica.push() == 0
            assert not subject.replica.is_flushed, "no child may write to it"
            await until(lambda: not node.app.clients.conns)


class TestBehindASnapshot:
    """While the replica loads the snapshot of its other connection."""

    @in_loop
    async def test_in_batches_until_the_snapshot_is_out(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            subject = await bench(node)
            at_s = 0.0
            replica = ReplicaConn(
                subject.replica.conn, subject.session, subject.backlog, node.app.replicas, lambda: at_s
            )
            subject.session.stream_behind_snapshot(subject.backlog.attach(Offset(0)), subject.now)
            subject.backlog.append(b"a" * 10)
            assert replica.push() == 0, "few and fresh"
            at_s += BATCH_S
            assert replica.push() == 10, "few, but they have waited"
            subject.backlog.append(b"b" * (BATCH_BYTES - 1))
            assert replica.push() == 0
            subject.backlog.append(b"b")
            assert replica.push() == BATCH_BYTES, "many"
            subject.session.rdb_channel_done(subject.now)
            subject.backlog.append(b"c")
            assert replica.push() == 1, "the replica applies them now"
            sent = b"a" * 10 + b"b" * BATCH_BYTES + b"c"
            assert await subject.peer.exactly(len(sent)) == sent


class TestFile:
    @pytest.mark.parametrize("size", [0, 1, 5_000_000])
    def test_whole_and_closed(self, tmp_path: Path, size: int) -> None:
        @in_loop
        async def run() -> None:
            data = random.Random(1).randbytes(size)
            (tmp_path / "file").write_bytes(data)
            async with running(tmp_path) as node:
                subject = await bench(node)
                before = open_fds()
                subject.replica.open_file(tmp_path / "file")
                assert subject.replica.is_sending_file
                received = bytearray()
                while subject.replica.is_sending_file:
                    assert subject.replica.push() == 0
                    if not subject.replica.file_is_out():
                        received += await subject.peer.some()
                received += await subject.peer.exactly(size - len(received))
                assert received == data and subject.replica.sent_bytes == size
                assert open_fds() <= before
                assert not subject.replica.file_is_out(), "told once"

        run()

    @in_loop
    async def test_the_open_file_is_sent_whatever_takes_its_name(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"old" * 100)
        async with running(tmp_path) as node:
            subject = await bench(node)
            subject.replica.open_file(tmp_path / "file")
            (tmp_path / "new").write_bytes(b"new")
            (tmp_path / "new").rename(tmp_path / "file")
            subject.replica.push()
            assert await subject.peer.exactly(300) == b"old" * 100

    @in_loop
    async def test_at_a_pace(self, tmp_path: Path) -> None:
        """A tenth of a second's worth at a time, never more than is due."""
        (tmp_path / "file").write_bytes(bytes(2500))
        async with running(tmp_path) as node:
            subject = await bench(node)
            subject.replica.open_file(tmp_path / "file", 1000)
            sent: list[int] = []
            while not subject.replica.file_is_out() and len(sent) < 100:
                subject.replica.push()
                sent.append(subject.replica.sent_bytes)
                subject.now += 0.5
            assert sent == [0, 500, 1000, 1500, 2000, 2500]

    @in_loop
    async def test_no_file(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            subject = await bench(node)
            with pytest.raises(FileNotFoundError):
                subject.replica.open_file(tmp_path / "no")
            assert not subject.replica.is_sending_file

    @pytest.mark.parametrize("flush", [True, False])
    def test_closed_with_the_connection(self, tmp_path: Path, flush: bool) -> None:
        @in_loop
        async def run() -> None:
            (tmp_path / "file").write_bytes(b"x" * 10_000_000)
            async with running(tmp_path) as node:
                subject = await bench(node)
                gc.disable()
                try:
                    subject.replica.open_file(tmp_path / "file")
                    subject.replica.push()
                    subject.replica.close(flush=flush)
                finally:
                    gc.enable()
                assert not any(item.endswith("/file") for item in open_fds())
                assert len(await subject.peer.rest()) < 10_000_000
                await asyncio.sleep(0)

        run()
