"""All change streams of a node in one place: what there is, reads on demand, news to whoever follows live.

Connections are `conn`'s, the sources' answers are `streams`. Two rules keep the node's other clients fast:

- Nothing is done for a write. News is decoded once for all subscribers, and so seldom that it costs a small part of
  the time: after a pump that took t seconds, the next one begins 1 / _SHARE * t later at the earliest.
- Whoever catches up is served piece by piece, one in each turn of the loop.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Final, Protocol, final

from pyrepl.changes.block import Block
from pyrepl.changes.replicated_source import PUMP_BYTES, ReplicatedSource
from pyrepl.changes.source import Source
from pyrepl.changes.subscription import Wanted
from pyrepl.changes.unavailable import Unavailable
from pyrepl.daemon.changes.conn import StreamConn
from pyrepl.daemon.clock import Clock

WANT_BYTES: Final = 48 * 1024
"""About how much of a stream is read for a subscriber that catches up, before others have their turn."""
_SHARE: Final = 0.2
_SLICE_S: Final = 0.01
_MAX_DELAY_S: Final = 0.1
_CACHED_BLOCKS: Final = 16
_CACHED_BYTES: Final = 4 * WANT_BYTES
"""A block of more of the stream, one with a very large row, is not kept."""


class Facts(Protocol):
    """What applications write, which may take waiting to be read."""

    def look_in_place(self) -> None: ...

    def has(self, stream: str) -> bool: ...

    def read(self, stream: str, writer: str | None, after: int, done: Callable[[Block | Exception], None]) -> None: ...


@final
class StreamHub:
    """The Catalog of every subscription.

    Invariant: a turn is planned while `_wanted` is not empty; a pump is planned while `_pump_timer` is set.
    """

    def __init__(self, name: str, replicated: ReplicatedSource, clock: Clock) -> None:
        self.name = name
        self.replicated = replicated
        self.sources: list[Source] = [replicated]
        self.built_in: frozenset[str] = frozenset()
        """Streams that the node makes, whose names applications cannot take."""
        self.facts: Facts | None = None
        self.conns: dict[int, StreamConn] = {}
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._wanted: deque[tuple[StreamConn, Wanted]] = deque()
        self._turn_planned = False
        self._pump_timer: asyncio.Handle | None = None
        self._next_pump_at = 0.0
        self._blocks: OrderedDict[tuple[str, str | None, int], Block] = OrderedDict()
        """Whole blocks read last: subscribers that were cut together come back with the same tokens."""

    # ------------------------------------------------------------------ Catalog

    @property
    def replid(self) -> str:
        return self.replicated.replid

    def streams(self) -> list[str]:
        return [stream for source in self.sources for stream in source.streams()]

    def writers(self, stream: str) -> list[str]:
        source = self._source(stream)
        return [] if source is None else source.writers(stream)

    def head(self, stream: str, writer: str | None) -> int | None:
        source = self._source(stream)
        if source is None and self.facts is not None:
            self.facts.look_in_place()
            source = self._source(stream)
        return None if source is None else source.head(stream, writer)

    def token_at(self, stream: str, at: int) -> int:
        source = self._source(stream)
        return at if source is None else source.token_at(at)

    def at(self, stream: str, token: int) -> int:
        source = self._source(stream)
        return token if source is None else source.at(token)

    def why_not(self, stream: str, writer: str | None, token: int | None, replid: str) -> str | None:
        source = self._source(stream)
        if source is None:
            return "there is no such stream"
        return source.why_not(stream, writer, token, replid)

    # ------------------------------------------------------------------ reads on demand

    def want(self, conn: StreamConn, wanted: Wanted) -> None:
        """`conn` is to get rows; it is answered in a later turn of the loop."""
        self._wanted.append((conn, wanted))
        self._plan_turn()

    def _plan_turn(self) -> None:
        if not self._turn_planned:
            self._turn_planned = True
            self._loop.call_soon(self._take_turn)

    def _take_turn(self) -> None:
        self._turn_planned = False
        conn, wanted = self._wanted.popleft()
        if self._wanted:
            self._plan_turn()
        if not conn.subscription.wants(wanted):
            return
        if self.facts is not None and self.facts.has(wanted.stream):
            self.facts.read(
                wanted.stream, wanted.writer, wanted.after, lambda result: self._answer(conn, wanted, result)
            )
            return
        try:
            block = self._read(wanted)
        except Unavailable as error:
            conn.refused(wanted, str(error))
            return
        conn.rows(block, wanted.writer)
        self.review_live(wanted.stream)

    def _answer(self, conn: StreamConn, wanted: Wanted, result: Block | Exception) -> None:
        if conn.subscription.ended:
            return
        if isinstance(result, Block):
            conn.rows(result, wanted.writer)
        else:
            conn.refused(wanted, str(result))

    def _read(self, wanted: Wanted) -> Block:
        key = (wanted.stream, wanted.writer, wanted.after)
        block = self._blocks.get(key)
        if block is not None:
            return block
        source = self._source(wanted.stream)
        if source is None:
            raise Unavailable(f"there is no stream {wanted.stream} any more")
        block = source.read(wanted.stream, wanted.writer, wanted.after, WANT_BYTES)
        is_whole = block.upto < (source.head(wanted.stream, wanted.writer) or 0)
        if block.facts and is_whole and block.upto - block.previous <= _CACHED_BYTES:
            self._blocks[key] = block
            if len(self._blocks) > _CACHED_BLOCKS:
                self._blocks.popitem(last=False)
        return block

    # ------------------------------------------------------------------ news

    def review_live(self, stream: str) -> None:
        """Somebody may have caught up with `stream`: from here on it is pumped."""
        if stream in self.replicated.makers and not self.replicated.is_pumped and self._live_streams():
            self.replicated.go_live()

    def plan_pump(self) -> None:
        """There may be news for those who follow live."""
        if self._pump_timer is None and self.replicated.lag_bytes:
            now = self._clock.now()
            if now >= self._next_pump_at:
                self._pump_timer = self._loop.call_soon(self._pump_planned)
            else:
                self._pump_timer = self._loop.call_later(self._next_pump_at - now, self._pump_planned)

    def _pump_planned(self) -> None:
        self._pump_timer = None
        if self.replicated.is_outrun:
            self._give_up_live()
            return
        began_at = now = self._clock.now()
        while self.pump(None) and now < began_at + _SLICE_S:
            now = self._clock.now()
        now = self._clock.now()
        # Sharing the time must not let what waits grow.
        is_behind = self.replicated.lag_bytes > PUMP_BYTES
        self._next_pump_at = now if is_behind else now + min(_MAX_DELAY_S, (now - began_at) * (1 / _SHARE - 1))
        self.plan_pump()

    def _give_up_live(self) -> None:
        """The stream outruns us: what is held for live subscribers must not grow, so they catch up from the backlog."""
        self.replicated.stop_live()
        streams = self.replicated.streams()
        for conn in list(self.conns.values()):
            conn.fall_behind(streams)

    def pump(self, upto: int | None) -> bool:
        """Hand out the next piece of news, not beyond the cut `upto` if one is given; False if there is none."""
        streams = self._live_streams()
        if not streams:
            self.replicated.stop_live()
            return False
        try:
            blocks = self.replicated.pump(streams, upto)
        except Unavailable as error:
            self.history_lost(str(error))
            return False
        for block in blocks:
            self.hand_out(block)
        return bool(blocks)

    def hand_out(self, block: Block) -> None:
        """A block of a stream whose order is the same with and without named writers."""
        for conn in list(self.conns.values()):
            conn.live(block)

    def hand_out_to(self, block: Block, writer: str | None) -> None:
        """A block for those who follow its stream in this form alone."""
        for conn in list(self.conns.values()):
            conn.live_in(block, writer)

    def live_keys(self, streams: list[str]) -> dict[tuple[str, str | None], int]:
        """What is followed live of these streams, with the least token of those who do."""
        found: dict[tuple[str, str | None], int] = {}
        for conn in self.conns.values():
            subscription = conn.subscription
            for key in subscription.followed:
                at = subscription.where(*key)
                if key[0] in streams and at is not None and subscription.is_live(*key):
                    found[key] = min(at, found.get(key, at))
        return found

    def appeared(self, stream: str, writer: str) -> None:
        """A stream or a writer that was not there before."""
        for conn in list(self.conns.values()):
            conn.appeared(stream, writer)

    def _live_streams(self) -> list[str]:
        """The replicated streams that somebody follows live."""
        makers = self.replicated.makers
        return sorted(
            {
                stream
                for conn in self.conns.values()
                for stream, writer in conn.subscription.followed
                if stream in makers and conn.subscription.is_live(stream, writer)
            }
        )

    # ------------------------------------------------------------------ changes of the history

    def renamed(self, old_replid: str, fork: int) -> None:
        """The history goes on under another name from `fork` on; all that was before the fork has been handed out."""
        self._blocks.clear()
        streams = self.replicated.streams()
        for conn in list(self.conns.values()):
            conn.renamed(old_replid, streams, fork)

    def history_lost(self, reason: str) -> None:
        """The replicated streams' tokens mean nothing any more: whoever follows one is told and closed."""
        self.replicated.stop_live()
        self._blocks.clear()
        streams = self.replicated.streams()
        for conn in list(self.conns.values()):
            conn.history_lost(streams, reason)

    def close(self) -> None:
        """Nothing more is planned."""
        self.replicated.stop_live()
        self._wanted.clear()
        if self._pump_timer is not None:
            self._pump_timer.cancel()

    def _source(self, stream: str) -> Source | None:
        return next((source for source in self.sources if stream in source.streams()), None)
