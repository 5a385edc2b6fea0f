"""A TCP proxy on loopback that holds back everything for a while, as a network between two towns does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self, final

from tests.peers.ports import HOST, free_port


@final
class DelayedLink:
    """Listens on `port` and forwards each connection to `target`. Ended at the end of its `with`."""

    def __init__(self, target: int, delay_s: float) -> None:
        """`delay_s`: of each direction."""
        self.port: Final = free_port()
        self.delay_s: Final = delay_s
        self._target: Final = target
        self._loop: Final = asyncio.new_event_loop()
        self._thread: Final = threading.Thread(target=self._loop.run_forever, name="delayed link", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        started = self._loop.create_server(lambda: _End(self._forward), HOST, self.port)
        asyncio.run_coroutine_threadsafe(started, self._loop).result(10)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def later(self, what: Callable[..., object], *words: object) -> None:
        """In the order in which it is said."""
        self._loop.call_later(self.delay_s, what, *words)

    def _forward(self, end: _End) -> None:
        """A connection came: make the other half."""
        end.later = self.later
        self._loop.create_task(self._join(end))

    async def _join(self, end: _End) -> None:
        _, other = await self._loop.create_connection(lambda: _End(lambda other: None), HOST, self._target)
        other.later = self.later
        end.join(other)
        other.join(end)


@final
class _End(asyncio.Protocol):
    """One socket of a connection: what comes here goes to the other, later."""

    def __init__(self, made: Callable[[_End], None]) -> None:
        self.later: Callable[..., object] = lambda *words: None
        self.transport: asyncio.Transport | None = None
        self._made: Final = made
        self._other: _End | None = None
        self._early: Final[list[bytes]] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._made(self)

    def join(self, other: _End) -> None:
        self._other = other
        for data in self._early:
            self.later(other.write, data)
        self._early.clear()

    def data_received(self, data: bytes) -> None:
        if self._other is None:
            self._early.append(data)
        else:
            self.later(self._other.write, data)

    def connection_lost(self, error: Exception | None) -> None:
        if self._other is not None:
            self.later(self._other.end)

    def write(self, data: bytes) -> None:
        if self.transport is not None:
            self.transport.write(data)

    def end(self) -> None:
        if self.transport is not None:
            self.transport.close()
