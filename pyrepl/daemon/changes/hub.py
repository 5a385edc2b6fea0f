"""All change streams of a node in one place: which streams there are, reads for subscribers that catch up, and new rows
for subscribers that follow live.

`server` makes it; connections (`conn`) ask it; the sources in the room `pyrepl.changes` hold the rows. A subscriber
first catches up by reads on demand; when it has all rows, it follows live, and the pump hands new rows out. Two rules
keep the node's other clients fast:

- A write does no work here. New rows are decoded once for all subscribers, and seldom enough to use a fifth of the time
  at most (_SHARE): a pump that took t seconds is followed by a pause of 4 t, but not of more than _MAX_DELAY_S.
- Subscribers that catch up are served piece by piece, one piece in each turn of the loop.
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
"""About how many bytes of a stream are read at once for a subscriber that catches up."""
_SHARE: Final = 0.2
_SLICE_S: Final = 0.01
_MAX_DELAY_S: Final = 0.1
_CACHED_BLOCKS: Final = 16
_CACHED_BYTES: Final = 4 * WANT_BYTES
"""A block that spans more of the stream, because of a very large row, is not kept."""


class Facts(Protocol):
    """The streams that applications write: `StreamFacts`. A read may have to wait for a database."""

    def look_in_place(self) -> None:
        """Look for new streams at once, if that needs no waiting."""

    def has(self, stream: str) -> bool:
        """Is `stream` written by applications?"""

    def read(self, stream: str, writer: str | None, after: int, done: Callable[[Block | Exception], None]) -> None:
        """Read the facts after the id `after`; `done` is called now or later."""


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
        """The names of the streams that the node itself makes; applications cannot write to them."""
        self.facts: Facts | None = None
        self.conns: dict[int, StreamConn] = {}
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._wanted: deque[tuple[StreamConn, Wanted]] = deque()
        self._turn_planned = False
        self._pump_timer: asyncio.Handle | None = None
        self._next_pump_at = 0.0
        self._blocks: OrderedDict[tuple[str, str | None, int], Block] = OrderedDict()
        """The whole blocks that were read last, by (stream, writer, after). Subscribers that were cut together come
        back with the same tokens, and share them."""

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
        """Read rows for `conn`. The answer comes in a later turn of the loop, by `rows` or `refused` of the
        connection."""
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
        """A subscriber may have caught up with `stream`: if so, begin to pump."""
        if stream in self.replicated.makers and not self.replicated.is_pumped and self._live_streams():
            self.replicated.go_live()

    def plan_pump(self) -> None:
        """The stream may have grown: plan a pump if somebody follows it live."""
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
        # No pause while much of the stream waits: it must not grow.
        is_behind = self.replicated.lag_bytes > PUMP_BYTES
        self._next_pump_at = now if is_behind else now + min(_MAX_DELAY_S, (now - began_at) * (1 / _SHARE - 1))
        self.plan_pump()

    def _give_up_live(self) -> None:
        """The stream grows faster than we decode it. The part held for live subscribers must not grow without bound, so
        we let them catch up by reads from the backlog."""
        self.replicated.stop_live()
        streams = self.replicated.streams()
        for conn in list(self.conns.values()):
            conn.fall_behind(streams)

    def pump(self, upto: int | None) -> bool:
        """Decode and hand out the next piece of the stream, not beyond the cut `upto` unless it is None. False if there
        was nothing to hand out."""
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
        """Give a block to all live subscribers of its stream; for streams in which rows have the same order with and
        without a named writer."""
        for conn in list(self.conns.values()):
            conn.live(block)

    def hand_out_to(self, block: Block, writer: str | None) -> None:
        """Give a block to the live subscribers that follow its stream in one form: `writer`, or None for the whole
        stream."""
        for conn in list(self.conns.values()):
            conn.live_in(block, writer)

    def live_keys(self, streams: list[str]) -> dict[tuple[str, str | None], int]:
        """(stream, writer) of all that is followed live of `streams`, each with the lowest token of its subscribers."""
        found: dict[tuple[str, str | None], int] = {}
        for conn in self.conns.values():
            subscription = conn.subscription
            for key in subscription.followed:
                at = subscription.where(*key)
                if key[0] in streams and at is not None and subscription.is_live(*key):
                    found[key] = min(at, found.get(key, at))
        return found

    def appeared(self, stream: str, writer: str) -> None:
        """Tell all connections of a new stream, or of a new writer of a stream."""
        for conn in list(self.conns.values()):
            conn.appeared(stream, writer)

    def _live_streams(self) -> list[str]:
        """The replicated streams that at least one subscriber follows live, sorted."""
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
        """Tell subscribers that the history goes on under another name from the cut `fork` on. All rows before the fork
        were handed out."""
        self._blocks.clear()
        streams = self.replicated.streams()
        for conn in list(self.conns.values()):
            conn.renamed(old_replid, streams, fork)

    def history_lost(self, reason: str) -> None:
        """The tokens of the replicated streams mean nothing any more: close the connections that follow one of these
        streams, with `reason`."""
        self.replicated.stop_live()
        self._blocks.clear()
        streams = self.replicated.streams()
        for conn in list(self.conns.values()):
            conn.history_lost(streams, reason)

    def close(self) -> None:
        """Drop all reads and pumps that are planned."""
        self.replicated.stop_live()
        self._wanted.clear()
        if self._pump_timer is not None:
            self._pump_timer.cancel()

    def _source(self, stream: str) -> Source | None:
        return next((source for source in self.sources if stream in source.streams()), None)
