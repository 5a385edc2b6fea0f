"""Where a snapshot goes: files that appear whole or not at all, sockets of which some fail and the others go on."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pyrepl.daemon.disk.shared_seconds import SharedSeconds
from pyrepl.daemon.disk.snapshot_sinks import FileSink, NobodyWaits, PacedSink, ReplicasSink
from tests.unit.daemon.rig import open_fds

MARK = b"m" * 40
BLOCK = b"0123456789" * 50_000
"""More than a socket takes at once."""


class TestFileSink:
    def test_the_file_appears_when_it_is_complete(self, tmp_path: Path) -> None:
        path = tmp_path / "dump.rdb"
        sink = FileSink(path)
        sink.write(b"one")
        assert not path.exists()
        sink.write(b"two")
        sink.finish()
        assert path.read_bytes() == b"onetwo"
        assert os.listdir(tmp_path) == ["dump.rdb"]

    def test_until_then_the_old_one_is_there(self, tmp_path: Path) -> None:
        path = tmp_path / "dump.rdb"
        path.write_bytes(b"old")
        sink = FileSink(path, sync=False)
        sink.write(b"new")
        assert path.read_bytes() == b"old"
        sink.finish()
        assert path.read_bytes() == b"new"

    def test_abandoned_it_leaves_nothing(self, tmp_path: Path) -> None:
        path = tmp_path / "dump.rdb"
        path.write_bytes(b"old")
        before = open_fds()
        sink = FileSink(path)
        sink.write(b"half")
        sink.abandon()
        assert os.listdir(tmp_path) == ["dump.rdb"] and path.read_bytes() == b"old"
        assert open_fds() <= before

    def test_a_name_without_a_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        sink = FileSink(Path("dump.rdb"))
        sink.write(b"one")
        sink.finish()
        assert os.listdir(tmp_path) == ["dump.rdb"] and (tmp_path / "dump.rdb").read_bytes() == b"one"

    def test_a_name_that_cannot_be_taken(self, tmp_path: Path) -> None:
        (tmp_path / "dump.rdb").mkdir()
        sink = FileSink(tmp_path / "dump.rdb")
        with pytest.raises(IsADirectoryError):
            sink.finish()
        sink.abandon()
        assert os.listdir(tmp_path) == ["dump.rdb"]

    def test_no_directory(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            FileSink(tmp_path / "no" / "dump.rdb")

    def test_a_full_disk(self) -> None:
        sink = FileSink.__new__(FileSink)
        sink._fd = os.open("/dev/full", os.O_WRONLY)
        try:
            with pytest.raises(OSError, match="No space left"):
                sink.write(b"x")
        finally:
            os.close(sink._fd)


class Replica:
    """The far end of a socket that a sink writes to; it reads what comes, or nothing."""

    def __init__(self, *, reads: bool = True) -> None:
        self.near, self.far = socket.socketpair()
        self.near.setblocking(False)
        self.received = bytearray()
        self._thread = threading.Thread(target=self._read, daemon=True)
        if reads:
            self._thread.start()

    @property
    def fd(self) -> int:
        return self.near.fileno()

    def finish(self) -> bytes:
        self.near.close()
        self._thread.join(5)
        return bytes(self.received)

    def _read(self) -> None:
        while data := self.far.recv(65536):
            self.received += data


class TestReplicasSink:
    @pytest.fixture
    def lost(self) -> Iterator[list[tuple[int, str]]]:
        yield []

    def sink(
        self,
        lost: list[tuple[int, str]],
        *replicas: Replica,
        timeout_s: float = 60.0,
        head: bytes = b"",
        now: Callable[[], float] = time.monotonic,
    ) -> ReplicasSink:
        heads = {replica.fd: head + b"%d\r\n" % index for index, replica in enumerate(replicas)}
        return ReplicasSink(heads, MARK, SharedSeconds(timeout_s), lambda fd, why: lost.append((fd, why)), now)

    def test_all_get_all_after_heads_of_their_own(self, lost: list[tuple[int, str]]) -> None:
        replicas = [Replica() for _ in range(3)]
        sink = self.sink(lost, *replicas, head=b"+FULLRESYNC ")
        sink.write(BLOCK)
        sink.write(b"")
        sink.write(BLOCK)
        sink.finish()
        for index, replica in enumerate(replicas):
            head = b"+FULLRESYNC %d\r\n$EOF:" % index
            assert replica.finish() == head + MARK + b"\r\n" + BLOCK + BLOCK + MARK
        assert lost == []

    def test_a_dead_one_is_dropped(self, lost: list[tuple[int, str]]) -> None:
        dead, alive = Replica(reads=False), Replica()
        sink = self.sink(lost, dead, alive)
        dead.far.close()
        for _ in range(3):
            sink.write(BLOCK)
        sink.finish()
        assert alive.finish().endswith(BLOCK + MARK)
        assert lost == [(dead.fd, "Broken pipe")]

    def test_a_timeout_that_is_lowered_meanwhile(self, lost: list[tuple[int, str]]) -> None:
        stalled, timeout = Replica(reads=False), SharedSeconds(1000.0)
        looks = 0

        def now() -> float:
            """Ten seconds pass with each look; the operator comes before the third."""
            nonlocal looks
            looks += 1
            if looks == 3:
                timeout.seconds = 4.0
            return looks * 10.0

        sink = ReplicasSink({stalled.fd: b""}, MARK, timeout, lambda fd, why: lost.append((fd, why)), now)
        with pytest.raises(NobodyWaits):
            sink.write(BLOCK)
        assert lost == [(stalled.fd, "timeout")] and looks == 3

    def test_a_stalled_one_is_dropped_after_the_timeout(self, lost: list[tuple[int, str]]) -> None:
        stalled, alive = Replica(reads=False), Replica()
        began = time.monotonic()

        def now() -> float:
            """Time passes once the other one has it all."""
            has_all = len(alive.received) == len(b"1\r\n$EOF:\r\n" + MARK + BLOCK)
            return time.monotonic() - began if has_all else 0.0

        sink = self.sink(lost, stalled, alive, timeout_s=0.1, now=now)
        sink.write(BLOCK)
        assert time.monotonic() - began > 0.1
        sink.finish()
        assert lost == [(stalled.fd, "timeout")]
        assert alive.finish().endswith(BLOCK + MARK)

    def test_a_slow_one_that_moves_is_not(self, lost: list[tuple[int, str]]) -> None:
        """The timeout is for taking no byte at all, not for taking long."""
        slow = Replica(reads=False)
        slow.far.setblocking(False)
        looks = 0

        def now() -> float:
            """From one look at the clock to the next ten seconds pass, in which it takes what there is."""
            nonlocal looks
            looks += 1
            with suppress(BlockingIOError):
                slow.far.recv(1 << 20)
            return looks * 10.0

        sink = self.sink(lost, slow, timeout_s=40.0, now=now)
        sink.write(BLOCK)
        sink.write(BLOCK)
        sink.finish()
        assert now() > 60.0
        assert lost == []

    def test_the_last_one_gone_ends_it(self, lost: list[tuple[int, str]]) -> None:
        one, other = Replica(reads=False), Replica(reads=False)
        sink = self.sink(lost, one, other)
        one.far.close()
        other.far.close()
        with pytest.raises(NobodyWaits):
            sink.write(BLOCK)
        assert [fd for fd, _ in lost] == [one.fd, other.fd]

    def test_a_descriptor_that_is_none(self, lost: list[tuple[int, str]]) -> None:
        alive, gone = Replica(), Replica(reads=False)
        fd = gone.fd
        heads = {alive.fd: b"", fd: b""}
        gone.near.close()
        sink = ReplicasSink(heads, MARK, SharedSeconds(1.0), lambda fd, why: lost.append((fd, why)), time.monotonic)
        sink.finish()
        assert lost == [(fd, "Bad file descriptor")]


def test_a_paced_sink_takes_its_time() -> None:
    written: list[bytes] = []
    slept: list[float] = []
    clock = 0.0

    class Kept:
        def write(self, block: bytes) -> None:
            written.append(block)

        def finish(self) -> None:
            written.append(b"end")

    def sleep(seconds: float) -> None:
        nonlocal clock
        clock += seconds
        slept.append(seconds)

    sink = PacedSink(Kept(), 1000, lambda: clock, sleep)
    sink.write(b"x" * 2500)
    sink.finish()
    assert b"".join(written) == b"x" * 2500 + b"end"
    assert clock == pytest.approx(2.5) and max(slept) == pytest.approx(0.1)
