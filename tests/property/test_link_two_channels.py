"""A link on two connections: any cut and interleaving of what comes give the same; no call breaks it in any state."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from pyrepl.errors import PeerError
from pyrepl.replication.dialects import DIALECTS
from pyrepl.replication.events import (
    Apply,
    CloseRdbChannel,
    Connect,
    Disconnect,
    LinkState,
    OpenRdbChannel,
    SnapshotBytes,
    SnapshotEnds,
)
from pyrepl.replication.handshake import Introduction
from pyrepl.replication.link import Link, LinkOptions
from pyrepl.replication.link_states import LINK, SYNCING, TAKING, LinkTrigger, OldData
from pyrepl.replication.psync import ASK_FOR_ALL, Request
from pyrepl.replication.transfer import encode_mark_header
from pyrepl.resp.encoder import encode_command
from pyrepl.units import ReplId

A, B = ReplId("a" * 40), ReplId("b" * 40)
MARK = b"0123456789" * 4
MAIN, RDB = 0, 1
ANSWERS = b"+PONG\r\n+OK\r\n+OK\r\n"
REDIS, VALKEY = b"+RDBCHANNELSYNC 7\r\n", b"+DUALCHANNELSYNC\r\n"
REDIS_START = b"+FULLRESYNC " + A.encode() + b" 100\r\n"
VALKEY_START = b"$ENDOFF:100 " + A.encode() + b" 0 9\r\n"
CONTINUE = b"+CONTINUE " + A.encode() + b"\r\n"

commands = st.sampled_from(
    [
        [b"SET", b"k", b"v" * 50],
        [b"SELECT", b"3"],
        [b"PING"],
        [b"REPLCONF", b"GETACK", b"*"],
        [b"APPEND", b"key", b"\r\n$5\r\n*1\r\n"],
    ]
)


class Run:
    """One link that is fed, loads when the snapshot is whole (if told to) and applies at once."""

    def __init__(self, slice_bytes: int) -> None:
        options = LinkOptions(Introduction(6380), dialects=frozenset(DIALECTS), slice_bytes=slice_bytes)
        self.link = Link("m", 1, options, ASK_FOR_ALL, lambda: 0.5)
        self.link.start(0.0)
        self.link.connected(0.0)
        self.snapshot = b""
        self.applied = b""
        self.is_whole = False
        self.acks: list[bytes] = []

    def feed(self, channel: int, data: bytes) -> None:
        (self.link.rdb_receive if channel == RDB else self.link.receive)(data, 1.0)
        self.look()

    def look(self) -> None:
        for event in self.link.events():
            if isinstance(event, OpenRdbChannel):
                self.link.rdb_connected(1.0)
            elif isinstance(event, SnapshotBytes):
                self.snapshot += event.data
            elif isinstance(event, SnapshotEnds):
                self.is_whole = True
            elif isinstance(event, Apply) and self.link.may_apply:
                self.applied += event.raw
                self.link.applied(event.end)

    def load(self) -> None:
        if self.is_whole and self.link.state is LinkState.LOADING:
            self.link.loaded(1.0)
            self.look()

    def drain(self) -> None:
        while self.link.state is LinkState.CATCHING_UP:
            at = self.link.next_deadline()
            if at is None or at > 1.0:
                return
            self.link.tick(1.0)
            self.look()


@st.composite
def fed(draw: st.DrawFn) -> tuple[list[tuple[int, bytes]], bytes, bytes]:
    """What comes over the two connections, in pieces and in an order that a master can cause; snapshot and stream."""
    valkey = draw(st.booleans())
    stream = b"".join(encode_command(argv) for argv in draw(st.lists(commands, max_size=12)))
    snapshot = draw(st.binary(max_size=150))
    first = [(MAIN, ANSWERS + (VALKEY if valkey else REDIS)), (RDB, b"+OK\r\n" + b"\n" * draw(st.integers(0, 3)))]
    start = (RDB, VALKEY_START if valkey else REDIS_START)
    behind = {
        MAIN: (b"+OK\r\n" + CONTINUE if valkey else b"") + stream,
        RDB: encode_mark_header(MARK) + snapshot + MARK,
    }
    pieces: list[tuple[int, bytes]] = []
    for channel, data in [*first, start]:
        pieces.extend((channel, piece) for piece in _cut(draw, data))
    cut = {channel: _cut(draw, data) for channel, data in behind.items()}
    while cut[MAIN] or cut[RDB]:
        channel = draw(st.sampled_from([each for each in (MAIN, RDB) if cut[each]]))
        pieces.append((channel, cut[channel].pop(0)))
    return pieces, snapshot, stream


def _cut(draw: st.DrawFn, data: bytes) -> list[bytes]:
    edges = sorted({0, len(data), *draw(st.lists(st.integers(0, len(data)), max_size=6))})
    return [data[start:end] for start, end in pairwise(edges)]


@given(what=fed(), slice_bytes=st.integers(1, 300), loads_after=st.integers(0, 40))
@settings(max_examples=150, deadline=None)
def test_any_cut_and_any_order(
    what: tuple[list[tuple[int, bytes]], bytes, bytes], slice_bytes: int, loads_after: int
) -> None:
    pieces, snapshot, stream = what
    run = Run(slice_bytes)
    for number, (channel, piece) in enumerate(pieces):
        run.feed(channel, piece)
        if number >= loads_after:
            run.load()
            run.drain()
    run.load()
    run.drain()
    assert run.snapshot == snapshot and run.applied == stream
    assert run.link.is_up and run.link.position == Request(A, 100 + len(stream))
    assert run.link.buffer_use.size_bytes == 0


class AnyOrder(RuleBasedStateMachine):
    """Anything may be called in any state: it is legal by the table, harmless, or a PeerError, and never more."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        options = LinkOptions(
            Introduction(6380), 30.0, dialects=frozenset(DIALECTS), sync_buffer_limit_bytes=60, slice_bytes=20
        )
        self.link = Link("m", 1, options, Request(B, 57), lambda: 0.5)
        self.is_open = [False, False]
        """What a shell has open, or is opening, by channel."""
        self.main_script: list[bytes] = []
        self.rdb_script: list[bytes] = []
        """What is to come over each connection for a sync to succeed; b"" for the connection itself."""

    def look(self) -> None:
        for event in self.link.events():
            if isinstance(event, Connect):
                assert self.is_open == [False, False], "the connections of the last try are closed"
                self.is_open[MAIN] = True
            elif isinstance(event, Disconnect):
                assert self.is_open[MAIN]
                self.is_open[MAIN] = False
            elif isinstance(event, OpenRdbChannel):
                assert self.is_open == [True, False]
                self.is_open[RDB] = True
                valkey = event.dialect.replica_asks_for_stream
                self.main_script = [b"+OK\r\n", CONTINUE] if valkey else []
                start = VALKEY_START if valkey else REDIS_START
                self.rdb_script = [b"", b"+OK\r\n", start, encode_mark_header(MARK) + b"R", MARK]
            elif isinstance(event, CloseRdbChannel):
                assert self.is_open[RDB]
                self.is_open[RDB] = False
            elif isinstance(event, Apply) and self.link.may_apply:
                self.link.applied(event.end)
        self.link.data_to_send()
        self.link.rdb_data_to_send()

    @rule(dialect=st.sampled_from([REDIS, VALKEY]), steps=st.integers(1, 12))
    def go_on(self, dialect: bytes, steps: int) -> None:
        """So many steps of the straight way, from wherever the link is."""
        for _ in range(steps):
            self._step(dialect)
            self.look()

    def _step(self, dialect: bytes) -> None:
        link, state = self.link, self.link.state
        if state is LinkState.IDLE:
            link.start(self.now)
        elif state is LinkState.WAITING:
            self.now = link.next_deadline() or self.now
            link.tick(self.now)
        elif state is LinkState.CONNECTING:
            link.connected(self.now)
        elif state is LinkState.HANDSHAKE:
            link.receive(ANSWERS + dialect, self.now)
        elif state in TAKING and self.rdb_script:
            data = self.rdb_script.pop(0)
            if data:
                link.rdb_receive(data, self.now)
            elif self.is_open[RDB]:
                link.rdb_connected(self.now)
        elif state is LinkState.LOADING and self.main_script:
            link.receive(self.main_script.pop(0), self.now)
        elif state is LinkState.LOADING:
            link.loaded(self.now)

    @rule()
    def connected(self) -> None:
        legal = LINK.allows(self.link.state, LinkTrigger.ESTABLISHED)
        try:
            self.link.connected(self.now)
            assert legal
        except PeerError:
            assert not legal
        self.look()

    @rule(channel=st.sampled_from([MAIN, RDB]))
    def lost(self, channel: int) -> None:
        if not self.is_open[channel]:
            return
        self.is_open[channel] = False
        (self.link.rdb_lost if channel == RDB else self.link.lost)(self.now, "gone")
        if self.link.state in TAKING:
            raise AssertionError("a snapshot cannot come on")
        self.look()

    @rule()
    def loaded(self) -> None:
        legal = self.link.state is LinkState.LOADING
        try:
            self.link.loaded(self.now)
            assert legal and self.link.replid == A and self.link.held == 100
        except PeerError:
            assert not legal
        self.look()

    @rule()
    def load_failed(self) -> None:
        if self.link.state in (LinkState.TRANSFER, LinkState.LOADING):
            self.link.load_failed("corrupt", self.now)
            assert self.link.role_state == "connect"
        self.look()

    @rule(until=st.sampled_from(list(OldData)))
    def keep_old_data(self, until: OldData) -> None:
        self.link.keep_old_data(until)

    @rule()
    def apply_failed(self) -> None:
        if self.link.may_apply:
            self.link.apply_failed("unknown_command", self.now)
            assert self.link.state is LinkState.WAITING
        self.look()

    @rule(really=st.integers(0, 5))
    def stop(self, really: int) -> None:
        if really:
            return
        self.link.stop(self.now)
        self.look()
        assert self.link.state is LinkState.IDLE and self.link.next_deadline() is None
        assert self.is_open == [False, False]

    @rule(
        channel=st.sampled_from([MAIN, RDB, RDB]),
        data=st.sampled_from(
            [
                b"+OK\r\n",
                b"+OK\r\n" + CONTINUE,
                b"-ERR no\r\n",
                b"\n",
                REDIS_START,
                VALKEY_START,
                encode_mark_header(MARK) + b"R",
                VALKEY_START + encode_mark_header(MARK) + MARK,
                REDIS_START + encode_mark_header(MARK) + MARK,
                MARK,
                encode_command([b"SET", b"k", b"v" * 30]),
                encode_command([b"MULTI"]),
                b"*1\r\n$4\r\nPI",
                b"garbage\r\n",
            ]
        ),
    )
    def receive(self, channel: int, data: bytes) -> None:
        if self.is_open[channel]:
            (self.link.rdb_receive if channel == RDB else self.link.receive)(data, self.now)
        self.look()

    @rule(seconds=st.sampled_from([0.1, 1.0, 7.0, 31.0]))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        for _ in range(1000):
            self.link.tick(self.now)
            self.look()
            deadline = self.link.next_deadline()
            if deadline is None or deadline > self.now:
                return
        raise AssertionError("time stands still")

    @invariant()
    def the_position_is_whole(self) -> None:
        assert (self.link.replid is None) == (self.link.held is None)

    @invariant()
    def nothing_is_held_without_a_sync(self) -> None:
        assert self.link.buffer_use.size_bytes == self.link.sync_buffer_bytes
        if self.link.uses_two_channels:
            assert self.link.state in (LinkState.PAIRING, *SYNCING)
        else:
            assert self.link.buffer_use.size_bytes == 0

    @invariant()
    def what_is_open_is_wanted(self) -> None:
        if self.link.state in TAKING:
            assert self.is_open[MAIN] and self.is_open[RDB] == self.link.uses_two_channels
        if self.link.state in (LinkState.CATCHING_UP, LinkState.CONNECTED, LinkState.WAITING):
            assert not self.is_open[RDB]
        if self.link.state is LinkState.WAITING:
            assert not self.is_open[MAIN]


AnyOrder.TestCase.settings = settings(max_examples=150, stateful_step_count=50, deadline=None)
TestAnyOrder = AnyOrder.TestCase
