"""The public client: follows a stream on any of several nodes, and goes on at its place when a connection ends.

    async with subscribe(["10.0.0.1:7379", "10.0.0.2:7379"], "keys", store=TokenFile("keys.token")) as rows:
        async for row in rows:
            print(row.token, row.data)

The asyncio shell around subscriber.py (one connection) and roundabout.py (which node next): sockets, clocks, the queue
to the application. A library's door: it imports asyncio and random, and nothing below the daemon imports it.

At least once: a row is had when the application asks for what follows it. The place moves over whole tokens, so what a
token store holds never lies amid the rows of one. Whoever stores places together with what it makes of the rows, in one
transaction, gets exactly once: take `batches()`, and within the transaction `confirm()` and `str(subscription.place)`.

Memory: what is queued is limited (`most_queued_bytes`); above it we do not read, so the node queues, up to its own
limit, and ends the connection then; we come back with our place.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import random
import socket
import ssl
import time
import weakref
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, NamedTuple, Protocol, Self, TypeAlias, final

from pyrepl.address import Address
from pyrepl.changes.batches import Batch as Batch
from pyrepl.changes.batches import Row as Row
from pyrepl.changes.place import NOW, Place
from pyrepl.changes.roundabout import Pace, Roundabout
from pyrepl.changes.subscriber import Ended, Greeted, Subscriber, SubscriberOptions
from pyrepl.changes.tokens import why_not_stream

_READ_ON_BELOW: Final = 0.5
"""The part of most_queued_bytes below which the connection is read again."""

_BATCH_OVERHEAD_BYTES: Final = 200
"""What a queued batch takes besides its rows, so that a million moves without rows count too."""

_TURN_S: Final = 0.02
"""How long the application may take from the queue before the loop gets its turn: PING must go out."""


class TokenStore(Protocol):
    """Where an application keeps its place. Either method may be a coroutine function as well."""

    def load(self) -> str | Awaitable[str | None] | None:
        """The text saved last; None if there is none."""

    def save(self, text: str) -> Awaitable[None] | None:
        """Keep it; it may be relied upon when this returns."""


class Connected(NamedTuple):
    """A node has greeted us; again when its history got another name."""

    address: Address
    node: str
    history: str


class Lost(NamedTuple):
    """A connection ended, or could not be made; the next try follows after `retry_s`. None: there is none."""

    address: Address
    why: str
    retry_s: float | None


Notice: TypeAlias = Connected | Lost


@dataclass(frozen=True)
class ClientOptions:
    """Limits and paces; the defaults suit most."""

    connect_timeout_s: float = 5.0
    most_queued_bytes: int = 16 * 1024 * 1024
    most_batch_bytes: int = 256 * 1024 * 1024
    save_every_s: float = 1.0
    """At most this often is a place stored while rows come; 0: after each token. The last one is stored at the end."""
    pace: Pace = field(default_factory=Pace)
    tls: ssl.SSLContext | None = None


def subscribe(
    nodes: Sequence[str | tuple[str, int]],
    stream: str,
    token: str | int | Place = NOW,
    *,
    store: TokenStore | None = None,
    by_writer: bool = False,
    name: str = "",
    user: str = "",
    password: str = "",
    expect_node: str = "",
    options: ClientOptions | None = None,
    notice: Callable[[Notice], None] | None = None,
) -> Subscription:
    """Follow `stream` on whichever of `nodes` ("host:port") answers, from `token` on.

    `token` is where to begin when `store` holds nothing yet: a token, a saved text, or NOW. A stream of several writers
    comes in one order, each row when no writer can add one before it any more; `by_writer` gives each writer's rows as
    soon as they are there, in that writer's order (the connection then carries all streams). `notice` is told of
    connections made and lost. `user` and `password` are those of the node's Redis port; no user means `default`, no
    password that none is needed. Nothing is sent before the first row is asked for. Raises ValueError for bad
    arguments.
    """
    options = options or ClientOptions()
    refusal = why_not_stream(stream) or _why_not_login(name, user, password)
    if refusal is not None:
        raise ValueError(refusal)
    place = token if isinstance(token, Place) else Place.parse(str(token))
    addresses = [Address.parse(node) if isinstance(node, str) else Address(*node) for node in nodes]
    wire = SubscriberOptions(
        name=name, user=user, password=password, expect_node=expect_node, most_batch_bytes=options.most_batch_bytes
    )
    why_not = _why_not_place(place, by_writer)
    if why_not is not None:
        raise ValueError(why_not)
    feed = _Feed(stream, addresses, wire, options, notice or _ignore, by_writer=by_writer)
    return Subscription(feed, place, store, options.save_every_s)


@final
class Subscription:
    """Rows of a stream, for `async for`; or whole tokens, from `batches()` or `next_batch()`. For one task at a time.

    Ends by an exception only: Refused (TokenTooOld, ForkedHistory, WrongPassword, UnknownStream, ...), or what the
    token store raised; and by `aclose`. Cancelling a wait loses nothing: ask again.

    Invariant: `place` is before everything handed out last, and behind all that was handed out before.
    """

    def __init__(self, feed: _Feed, place: Place, store: TokenStore | None, save_every_s: float) -> None:
        self._feed: Final = feed
        self._store: Final = store
        self._save_every_s: Final = save_every_s
        self.place = place
        """Everything up to here has been had by the application; this is what the token store gets."""
        self._saved: Place | None = None
        self._save_at = 0.0
        self._handed: Batch | None = None
        self._rows: Iterator[Row] = iter(())
        self._rows_left = 0
        """How many rows of `_handed` are still to be handed out, where they go one by one."""
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Row:
        while True:
            for row in self._rows:
                self._rows_left -= 1
                return row
            batch = await self.next_batch()
            self._rows = batch.each()
            self._rows_left = len(batch.rows)

    async def batches(self) -> AsyncIterator[Batch]:
        """Whole tokens, each with all its rows."""
        while True:
            try:
                batch = await self.next_batch()
            except StopAsyncIteration:
                return
            if batch.rows:
                yield batch

    def confirm(self) -> None:
        """What was handed out last has been had, though no more is asked for. Amid the rows of a token: nothing yet."""
        if self._handed is not None and not self._rows_left:
            self.place = place_after(self.place, self._handed)
            self._handed = None

    async def aclose(self) -> None:
        """Disconnect, and store the place. What was handed out last counts as not had, unless confirmed."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            await self._save()

    async def next_batch(self) -> Batch:
        """The next token, with all its rows; with none where only the place has moved.

        Asking for it says that the one before has been had, with whatever of its rows was not asked for one by one.
        Raises StopAsyncIteration once closed.
        """
        if self._is_closed:
            raise StopAsyncIteration
        if self._task is None:
            await self._begin()
        self._rows_left = 0
        self.confirm()
        await self._save_if_due()
        await self._feed.give_turn()
        while (batch := self._feed.take()) is None:
            await self._wait()
        # No wait from here on: what is taken must be handed out, even to a task that is being cancelled.
        self._handed = batch
        return batch

    async def _begin(self) -> None:
        if self._store is not None:
            found = self._store.load()
            text = await found if inspect.isawaitable(found) else found
            if text is not None:
                place = Place.parse(text)
                why_not = _why_not_place(place, self._feed.by_writer)
                if why_not is not None:
                    raise ValueError(why_not)
                self.place = self._saved = place
        self._task = asyncio.create_task(self._feed.run(self.place), name=f"stream {self._feed.stream}")
        # The task must not keep us, so that whoever breaks out of a loop and forgets us is rid of the connection.
        weakref.finalize(self, _cancel, self._task, asyncio.get_running_loop())

    async def _wait(self) -> None:
        """Until there is something to take; meanwhile what is not stored yet gets stored."""
        wait_s = max(0.0, self._save_at - time.monotonic()) if self._is_unsaved else None
        if not await self._feed.wait(wait_s):
            await self._save()

    async def _save_if_due(self) -> None:
        if self._is_unsaved and time.monotonic() >= self._save_at:
            await self._save()

    @property
    def _is_unsaved(self) -> bool:
        """Has the place moved since it was stored? NOW is not stored, as nobody can come back to it."""
        return self._store is not None and self.place != self._saved and not self.place.is_now

    async def _save(self) -> None:
        if self._store is None or not self._is_unsaved:
            return
        place = self.place
        done = self._store.save(str(place))
        if inspect.isawaitable(done):
            await done
        self._saved = place
        self._save_at = time.monotonic() + self._save_every_s


@final
class _Feed:
    """Connections, one after the other, and the queue of what they brought.

    Invariant: `_queued_bytes` is the sum over the queue; the connection is held exactly while `_is_full`.
    """

    def __init__(
        self,
        stream: str,
        addresses: Sequence[Address],
        wire: SubscriberOptions,
        options: ClientOptions,
        notice: Callable[[Notice], None],
        *,
        by_writer: bool,
    ) -> None:
        self.stream: Final = stream
        self.by_writer: Final = by_writer
        self._wire: Final = wire
        self._options: Final = options
        self._nodes: Final = Roundabout(addresses, options.pace, random.random)
        self._notice: Final = notice
        self._queue: Final[deque[Batch]] = deque()
        self._queued_bytes = 0
        self._filled: Final = asyncio.Event()
        self._place = NOW
        self._failure: BaseException | None = None
        self._connection: _Connection | None = None
        self._turn_ends = 0.0

    # ------------------------------------------------------------------ the application's side

    def take(self) -> Batch | None:
        """The oldest batch; None when there is none. Raises what ended the feed, once all is taken."""
        if self._queue:
            batch = self._queue.popleft()
            self._queued_bytes -= batch.size_bytes + _BATCH_OVERHEAD_BYTES
            if self._connection is not None and self._queued_bytes <= self._options.most_queued_bytes * _READ_ON_BELOW:
                self._connection.read_on()
            return batch
        if self._failure is not None:
            raise self._failure
        self._filled.clear()
        return None

    async def wait(self, timeout_s: float | None) -> bool:
        """Until something may be taken; False if nothing was within the time."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._filled.wait()
        except TimeoutError:
            return False
        finally:
            self._turn_ends = time.monotonic() + _TURN_S
        return True

    async def give_turn(self) -> None:
        """Let the loop do its work now and then: a queue that is never empty would keep it from reading and PING."""
        if time.monotonic() > self._turn_ends:
            await asyncio.sleep(0)
            self._turn_ends = time.monotonic() + _TURN_S

    # ------------------------------------------------------------------ the connections' side

    async def run(self, place: Place) -> None:
        """Until cancelled, or refused for good."""
        self._place = place
        try:
            while True:
                address = self._nodes.node
                served_for_s, ended = await self._converse(address)
                following = self._nodes.ended(served_for_s, ended.refusal)
                self._notice(Lost(address, ended.why, following.after_s if following is not None else None))
                if following is None:
                    raise self._nodes.refusals[0]
                await asyncio.sleep(following.after_s)
        except Exception as error:
            self._failure = error
            self._filled.set()

    async def _converse(self, address: Address) -> tuple[float | None, Ended]:
        """One connection, from its making to its end: for how long it served us, and why it ended."""
        machine = Subscriber(self.stream, self._place, self._wire, _unix_ms, by_writer=self.by_writer)
        connection = _Connection(machine, self, address)
        try:
            async with asyncio.timeout(self._options.connect_timeout_s):
                await self._connect(connection, address)
        except TimeoutError:
            return None, Ended(f"no connection within {self._options.connect_timeout_s:g} s", None)
        except (OSError, UnicodeError) as error:
            return None, Ended(_words_of(error), None)
        self._connection = connection
        try:
            ended = await connection.ended
        finally:
            self._connection = None
            connection.close()
        served_for_s = None if connection.served_since is None else time.monotonic() - connection.served_since
        return served_for_s, ended

    async def _connect(self, connection: _Connection, address: Address) -> None:
        """To the first address of a name that takes a connection; people can't read asyncio's own error for several.

        Raises OSError, UnicodeError.
        """
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        failure = OSError("no address")
        tls = self._options.tls
        name = address.host if tls is not None else None
        for *_, where in found:
            try:
                await loop.create_connection(
                    lambda: connection, str(where[0]), address.port, ssl=tls, server_hostname=name
                )
                return
            except OSError as error:
                failure = error
        raise failure

    def greeted(self, address: Address, greeting: Greeted) -> None:
        """A node has stated its name and its history."""
        self._notice(Connected(address, greeting.node, greeting.history))

    def put(self, batch: Batch) -> None:
        """Queue a batch that a connection brought."""
        self._queue.append(batch)
        self._queued_bytes += batch.size_bytes + _BATCH_OVERHEAD_BYTES
        self._place = place_after(self._place, batch)
        self._filled.set()

    @property
    def is_full(self) -> bool:
        """Is the queue so full that the connection must not be read for now?"""
        return self._queued_bytes > self._options.most_queued_bytes


@final
class _Connection(asyncio.Protocol):
    """One socket around one Subscriber."""

    def __init__(self, machine: Subscriber, feed: _Feed, address: Address) -> None:
        self._machine: Final = machine
        self._feed: Final = feed
        self._address: Final = address
        self._loop: Final = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._is_held = False
        self.ended: Final[asyncio.Future[Ended]] = self._loop.create_future()
        self.served_since: float | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._machine.connected(time.monotonic())
        self._after()

    def data_received(self, data: bytes) -> None:
        self._machine.receive(data, time.monotonic())
        self._after()

    def connection_lost(self, exc: Exception | None) -> None:
        self._finish(Ended("the node closed the connection" if exc is None else _words_of(exc), None))

    def read_on(self) -> None:
        """There is room in the queue again: go on reading."""
        if self._is_held and self._transport is not None:
            self._is_held = False
            self._machine.release(time.monotonic())
            self._transport.resume_reading()
            self._after()

    def close(self) -> None:
        """Close the connection; what was said last still goes out."""
        if self._timer is not None:
            self._timer.cancel()
        if self._transport is not None:
            self._transport.close()

    def _after(self) -> None:
        """After a call into the machine: send what it says, and act on its events."""
        assert self._transport is not None
        out = self._machine.data_to_send()
        if out:
            self._transport.writelines(out)
        for event in self._machine.events():
            if isinstance(event, Batch):
                if self.served_since is None:
                    self.served_since = time.monotonic()
                self._feed.put(event)
            elif isinstance(event, Greeted):
                self._feed.greeted(self._address, event)
            else:
                self._finish(event)
        if self._feed.is_full and not self._is_held and not self.ended.done():
            self._is_held = True
            self._machine.hold()
            self._transport.pause_reading()
        self._set_timer()

    def _set_timer(self) -> None:
        """At the machine's deadline, unless it rings before anyway: then it is set anew."""
        deadline = self._machine.next_deadline()
        if deadline is None or self.ended.done():
            return
        at = self._loop.time() + max(0.0, deadline - time.monotonic())
        if self._timer is not None and not self._timer.cancelled() and self._timer.when() <= at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(at, self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        self._machine.tick(time.monotonic())
        self._after()

    def _finish(self, ended: Ended) -> None:
        if not self.ended.done():
            self.ended.set_result(ended)


def place_after(place: Place, batch: Batch) -> Place:
    """The place behind a batch."""
    if batch.writer:
        return Place(writers={**place.writers, batch.writer: batch.token})
    return Place(batch.token, batch.history)


def _why_not_login(name: str, user: str, password: str) -> str | None:
    """Why these cannot be said to a node, or None. The password is not repeated."""
    if " " in name or " " in user:
        return f"the name of a subscriber, and of a user, is one word, got {(name if ' ' in name else user)!r:.100}"
    if user and not password:
        return f"the user {user!r:.100} logs in with a password; any will do for one that needs none (nopass)"
    return None


def _why_not_place(place: Place, by_writer: bool) -> str | None:
    """Why a subscription of this kind cannot go on from there, or None."""
    if by_writer and place.token is not None:
        return f"expected {{writer: token}} or NOW for a stream read by writer, got {place}"
    if not by_writer and place.writers:
        return f"expected a token or NOW, got the places of several writers: {str(place)[:100]}"
    return None


def _cancel(task: asyncio.Task[None], loop: asyncio.AbstractEventLoop) -> None:
    """For a subscription that is forgotten; garbage is collected in any thread."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(task.cancel)


def _unix_ms(now: float) -> int:
    return time.time_ns() // 1_000_000


def _ignore(notice: Notice) -> None:
    pass


def _why_no_tls(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the node's certificate is not to be trusted: {error.verify_message.rstrip('.')}"
    if error.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL"):
        return "the node does not speak TLS on this port (tls-stream)"
    return (error.reason or str(error)).replace("_", " ").lower()


def _words_of(error: BaseException) -> str:
    """The system's own words; asyncio's repeat the address."""
    if isinstance(error, socket.gaierror):
        return f"unknown host: {error.strerror}"
    if isinstance(error, ssl.SSLError):
        return f"TLS: {_why_no_tls(error)}"
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    return "not a host name" if isinstance(error, UnicodeError) else str(error)
