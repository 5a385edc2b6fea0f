"""A whole node in this process, in a uvloop loop of the test's own, and a small client for it.

Nothing is replaced: sockets, files and forked children are real. A test function marked `@in_loop` runs in a loop.
"""

from __future__ import annotations

import asyncio
import functools
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final, ParamSpec, Self

import uvloop

from pyrepl.commands.engine.effects import SaveMode
from pyrepl.config.settings import Settings
from pyrepl.daemon.app import App
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.log_sink import Log
from pyrepl.keyspace.snapshot import SnapshotJob
from pyrepl.node.node import Node, Process
from pyrepl.node.replication import Replication
from pyrepl.observability.event import Event
from pyrepl.rdb.settings import PackingSettings
from pyrepl.rdb.versions import numbered
from pyrepl.replication.roster import RosterOptions
from pyrepl.units import ReplId
from tests.peers.ports import free_port
from tests.peers.wire import ErrorReply, Word, encode

P = ParamSpec("P")
PATIENCE_S: Final = 60.0
"""Far more than anything takes, as the machine may be busy with other things: only what fails takes so long."""


def in_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run an async test in a uvloop loop; a callback that raises in it fails the test."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        faults: list[dict[str, Any]] = []

        async def watched() -> None:
            asyncio.get_running_loop().set_exception_handler(lambda loop, context: faults.append(context))
            await test(*args, **kwargs)

        here = os.getcwd()
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(watched())
        finally:
            os.chdir(here)
        assert faults == []

    return run


async def until(true: Callable[[], object], what: str = "the condition") -> None:
    """Let the loop run until `true()`; AssertionError after PATIENCE_S."""
    limit = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < limit, f"waited in vain for {what}"
        await asyncio.sleep(0.005)


async def soon(awaited: Awaitable[Any]) -> Any:
    """The result, TimeoutError after PATIENCE_S."""
    return await asyncio.wait_for(awaited, PATIENCE_S)


def open_fds() -> set[str]:
    """What this process has open, as `number target`; without libuv's spare descriptor for a full table, and without
    what keeps ports for tests (tests/peers/ports.py)."""
    found = set()
    for fd in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found.add(f"{fd} {os.readlink(f'/proc/self/fd/{fd}')}")
    return {item for item in found if not item.endswith(" /dev/null") and "/pyrepl-test-ports/" not in item}


def children() -> list[int]:
    """Pids of what this process forked, zombies included; not of programs that it runs (Spark's, for its tests)."""
    text = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return [pid for pid in map(int, text.split()) if _program(pid) == _program(os.getpid())]


def _program(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text()


def bare_node(**settings: object) -> Node:
    """A node without anything around it."""
    replication = Replication(1 << 20, RosterOptions(), lambda: ReplId("a" * 40), 1.0)
    return Node(Settings(**settings), Process(os.getpid(), "b" * 40, 100, 1.0), replication)


def job_of(node: Node, **how: Any) -> SnapshotJob:
    return SnapshotJob(node.keyspace, (), numbered(10), PackingSettings(), **how)


class KeptLog:
    """A Log whose lines are kept: `texts` are their sentences."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.log = Log(Clock(), lambda: "M")
        self.log.printer = self.lines.append

    def has(self, text: str) -> bool:
        return any(text in line for line in self.lines)


class Peer:
    """One client connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def to(cls, port: int, host: str = "127.0.0.1") -> Self:
        return cls(*await asyncio.open_connection(host, port))

    @classmethod
    async def to_unix(cls, path: str) -> Self:
        return cls(*await asyncio.open_unix_connection(path))

    def send(self, *words: Word) -> None:
        self.writer.write(encode(words))

    def write(self, data: bytes) -> None:
        self.writer.write(data)

    async def call(self, *words: Word) -> Any:
        """The reply to one command; an error is returned, not raised."""
        self.send(*words)
        return await self.read()

    async def say(self, line: str) -> Any:
        """`call` on words separated by spaces."""
        return await self.call(*line.split())

    async def error(self, line: str) -> str:
        """The text of the error that a command must answer."""
        reply = await self.say(line)
        assert isinstance(reply, ErrorReply), reply
        return str(reply)

    async def read(self) -> Any:
        return await soon(self._read())

    async def exactly(self, count: int) -> bytes:
        return bytes(await soon(self.reader.readexactly(count)))

    async def some(self) -> bytes:
        """At least one byte. Raises EOFError when the other end has closed."""
        data = bytes(await soon(self.reader.read(1 << 20)))
        if not data:
            raise EOFError
        return data

    async def line(self) -> bytes:
        return bytes(await soon(self.reader.readline()))

    async def rest(self) -> bytes:
        """What comes until the other end closes."""
        try:
            return bytes(await soon(self.reader.read()))
        except ConnectionResetError:
            return b""

    async def rest_after(self, line: str) -> bytes:
        """What comes after a command until the other end closes."""
        self.send(*line.split())
        return await self.rest()

    async def is_silent(self, span_s: float = 0.05) -> bool:
        """Does nothing come for a while, not even the end?"""
        try:
            data = await asyncio.wait_for(self.reader.read(1), span_s)
        except TimeoutError:
            return True
        raise AssertionError(f"{data!r} came")

    def close(self) -> None:
        self.writer.close()

    async def _read(self) -> Any:
        line = await self.reader.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError(f"closed after {line!r}")
        mark, rest = line[:1], line[1:-2]
        match mark:
            case b"+":
                return rest.decode()
            case b"-":
                return ErrorReply(rest.decode())
            case b":":
                return int(rest)
            case b"$":
                size = int(rest)
                return None if size < 0 else (await self.reader.readexactly(size + 2))[:-2]
            case b"*" | b">":
                return None if rest == b"-1" else [await self._read() for _ in range(int(rest))]
            case b"%":
                return {await self._read(): await self._read() for _ in range(int(rest))}
            case b"_":
                return None
        raise ConnectionError(f"not a reply: {line!r}")


class RunningNode:
    """An App that lives in this loop; its log is kept in `lines`."""

    def __init__(self, folder: Path, config_file: Path | None = None, **settings: object) -> None:
        self.folder = folder
        self.port = int(str(settings.setdefault("port", free_port())))
        settings.setdefault("save", ())
        settings.setdefault("bind", ("127.0.0.1",))
        settings.setdefault("shutdown_timeout", 0)
        settings.setdefault("repl_diskless_sync_delay", 0)
        self.app = App(Settings(dir=str(folder), **settings), config_file)
        self.lines: list[str] = []
        self.app.log.printer = self.lines.append
        self.life: asyncio.Task[None] | None = None
        self._peers: list[Peer] = []

    async def start(self, *notices: Event) -> None:
        """Raises what Life.run raised if it could not start."""
        self.life = asyncio.get_running_loop().create_task(self.app.life.run(list(notices)))
        await until(lambda: self.life is None or self.life.done() or self.logged("Ready to accept"), "a node")
        if self.life.done():
            await self.life

    async def stop(self) -> None:
        if self.life is None:
            return
        if not self.life.done():
            self.app.ending.begin(SaveMode.NOSAVE, now=True, force=True)
        for peer in self._peers:
            peer.close()
        try:
            await asyncio.wait_for(self.life, PATIENCE_S)
        finally:
            self.life = None
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)

    async def peer(self) -> Peer:
        """A client of this node."""
        peer: Peer = await soon(Peer.to(self.port))
        self._peers.append(peer)
        return peer

    async def say(self, line: str) -> Any:
        """The reply to one command of a client of its own."""
        peer = await soon(Peer.to(self.port))
        try:
            return await peer.say(line)
        finally:
            peer.close()

    async def info(self, field: str) -> str:
        """One field of INFO."""
        text: str = (await self.say("INFO everything")).decode()
        return next(line.partition(":")[2] for line in text.splitlines() if line.startswith(field + ":"))

    def logged(self, text: str) -> bool:
        return any(text in line for line in self.lines)


@asynccontextmanager
async def running(folder: Path, config_file: Path | None = None, **settings: object) -> AsyncIterator[RunningNode]:
    """A node that lives as long as the block. Its folder is made if it is not there yet."""
    folder.mkdir(exist_ok=True)
    node = RunningNode(folder, config_file, **settings)
    try:
        await node.start()
        yield node
    finally:
        await node.stop()


async def link_up(node: RunningNode) -> None:
    """Wait until a replica's link stands."""
    await until(lambda: node.app.node.replication.link_is_up, "the link")


async def same_data(master: RunningNode, replica: RunningNode) -> None:
    """Wait until the replica holds what the master holds."""
    end = master.app.node.replication.backlog
    await until(lambda: replica.app.node.replication.backlog.end >= end.end, "the stream")
    assert await master.say("DEBUG DIGEST") == await replica.say("DEBUG DIGEST")
