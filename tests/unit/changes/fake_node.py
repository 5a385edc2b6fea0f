"""A node for tests of subscribers: serves one stream from a list, through the codec, and fails as it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Final, Self, TypeAlias

from pyrepl.changes.codec import LineSplitter, parse_line, render
from pyrepl.changes.rows import Json, encode_row
from pyrepl.changes.verbs import Auth, Error, History, LineCommand, Name, Ping, Position, Rdata, Replicate, Server, Side

HOST: Final = "127.0.0.1"
REPLID: Final = "8371445ee67f9ab1c2d3e4f5061728394a5b6c7d"

Log: TypeAlias = Sequence[tuple[int, Sequence[Json]]]
"""Tokens and their rows."""


class FakeNode:
    """Listens on `port` while in its `async with`. Tokens after `oldest` are kept in `log`."""

    def __init__(
        self, log: Sequence[tuple[int, Sequence[Json]]] = (), *, name: str = "node-a", password: str = ""
    ) -> None:
        self.log = list(log)
        self.name = name
        self.password = password
        self.history = REPLID
        self.oldest = 0
        self.cut_after_bytes: list[int] = []
        """For the next connections, one each: so much is sent, then it is closed."""
        self.pings = True
        self.said: list[LineCommand] = []
        """What subscribers have said."""
        self.connections = 0
        self.most_unsent_bytes = 0
        self.port = 0
        self._grown = asyncio.Event()
        self._listener: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    async def __aenter__(self) -> Self:
        self._listener = await asyncio.start_server(self._serve, HOST, self.port)
        self.port = self._listener.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Listen no more, close all."""
        assert self._listener is not None
        self._listener.close()
        self.cut()
        await self._listener.wait_closed()

    def cut(self) -> None:
        """Every connection is closed, without a word."""
        for writer in self._open:
            writer.transport.abort()

    def append(self, token: int, *rows: Json) -> None:
        """One more fact."""
        self.log.append((token, rows))
        self._grown.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open.add(writer)
        limit = self.cut_after_bytes.pop(0) if self.cut_after_bytes else None
        try:
            out = _Out(writer, limit)
            out.send(Server(self.name))
            if self.pings:
                out.send(Ping("1490197665618"))
            asked = await self._asked(reader, out)
            if isinstance(asked, Replicate):
                following = asyncio.current_task()
                assert following is not None
                leaving = asyncio.create_task(_end_with(reader, following))
                try:
                    await self._follow(out, asked)
                finally:
                    leaving.cancel()
            else:
                out.send(asked)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(writer)
            with suppress(ConnectionError):
                writer.close()

    async def _asked(self, reader: asyncio.StreamReader, out: _Out) -> Replicate | Error:
        splitter = LineSplitter(1000)
        is_known = not self.password
        while data := await reader.read(1000):
            for line in splitter.feed(data):
                command = parse_line(line, Side.CLIENT)
                self.said.append(command)
                if isinstance(command, Auth):
                    if command.password != self.password:
                        return Error("WRONGPASS another password is wanted")
                    is_known = True
                if isinstance(command, Replicate):
                    return command if is_known else Error("NOAUTH a password is wanted")
                if isinstance(command, History) and is_known:
                    out.send(History(self.history))
                assert isinstance(command, Name | Ping | Auth | History)
        raise ConnectionResetError

    async def _follow(self, out: _Out, asked: Replicate) -> None:
        assert asked.stream is not None
        held = asked.token
        if held is None:
            held = self.log[-1][0] if self.log else 0
        if held < self.oldest:
            out.send(Error(f"TOOOLD {self.oldest} token {held} is older"))
            return
        if asked.replid and asked.replid != self.history:
            out.send(Error("FORKED 0 another history"))
            return
        while True:
            self._grown.clear()
            for token, rows in [fact for fact in self.log if fact[0] > held]:
                for row in rows[:-1]:
                    out.send(Rdata(asked.stream, None, encode_row(row)))
                for row in rows[-1:]:
                    out.send(Rdata(asked.stream, token, encode_row(row)))
                held = token
                self.most_unsent_bytes = max(self.most_unsent_bytes, await out.drain())
            out.send(Position(asked.stream, held))
            await out.drain()
            await self._grown.wait()


async def _end_with(reader: asyncio.StreamReader, following: asyncio.Task[None]) -> None:
    """When a subscriber leaves, whoever serves it does too."""
    with suppress(ConnectionError):
        while await reader.read(1000):
            pass
    following.cancel()


class _Out:
    """A connection that is closed after so many bytes."""

    def __init__(self, writer: asyncio.StreamWriter, limit: int | None) -> None:
        self._writer = writer
        self._left = limit

    def send(self, command: LineCommand) -> None:
        data = render(command)
        if self._left is not None and len(data) >= self._left:
            self._writer.write(data[: self._left])
            raise ConnectionResetError
        if self._left is not None:
            self._left -= len(data)
        self._writer.write(data)

    async def drain(self) -> int:
        """Wait while too much is unsent; how much was."""
        unsent = self._writer.transport.get_write_buffer_size()
        await self._writer.drain()
        return unsent
