"""The replica's machine: any cut of its input gives the same events, and no event in any state breaks it."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from pyrepl.errors import PeerError
from pyrepl.replication.events import Apply, Connect, LinkEvent, LinkState, Lost, SnapshotBytes
from pyrepl.replication.handshake import Introduction
from pyrepl.replication.link import Link, LinkOptions
from pyrepl.replication.link_states import LINK, LinkTrigger, OldData
from pyrepl.replication.psync import Request
from pyrepl.replication.transfer import encode_mark_header, encode_size_header
from pyrepl.resp.encoder import encode_command
from pyrepl.units import ReplId

A, B = ReplId("a" * 40), ReplId("b" * 40)
MARK = b"0123456789" * 4
ANSWERS = b"+PONG\r\n+OK\r\n+OK\r\n"
FULL = b"+FULLRESYNC " + B.encode() + b" 100\r\n"

commands = st.sampled_from(
    [
        [b"SET", b"k", b"v" * 50],
        [b"SELECT", b"3"],
        [b"MULTI"],
        [b"EXEC"],
        [b"PING"],
        [b"REPLCONF", b"GETACK", b"*"],
        [b"APPEND", b"key", b"\r\n$5\r\n*1\r\n"],
    ]
)


@st.composite
def conversations(draw: st.DrawFn) -> bytes:
    """What a master may say on one connection: a partial or a full resync, a stream; sometimes nonsense at the end."""
    stream = b"".join(encode_command(argv) for argv in draw(st.lists(commands, max_size=12)))
    if draw(st.booleans()):
        stream += draw(st.sampled_from([b"FLUSHALL\r\n", b"*2\r\n:1\r\n", b"\x00\xff\r\n", b"*3\r\n$3\r\nSET\r\n"]))
    if draw(st.booleans()):
        return ANSWERS + draw(st.sampled_from([b"+CONTINUE\r\n", b"+CONTINUE " + B.encode() + b"\r\n"])) + stream
    snapshot = draw(st.binary(max_size=150))
    alive = b"\n" * draw(st.integers(0, 3))
    if draw(st.booleans()):
        return ANSWERS + alive + FULL + alive + encode_size_header(len(snapshot)) + snapshot + stream
    return ANSWERS + FULL + alive + encode_mark_header(MARK) + snapshot + MARK + stream


def events_of(chunks: list[bytes]) -> tuple[list[LinkEvent], bytes, bytes, Request, str]:
    """All events but for the cutting of bytes, which is compared joined; what was sent; where the link ends up.

    Each connection is loaded as soon as the snapshot is whole, and each Apply is reported at once.
    """
    link = Link("m", 1, LinkOptions(Introduction(6380)), Request(A, 57), lambda: 0.5)
    link.start(0.0)
    link.connected(0.0)
    seen: list[LinkEvent] = []
    snapshot, applied, sent = b"", b"", b""
    for chunk in chunks:
        link.receive(chunk, 1.0)
        for _ in range(3):
            for event in link.events():
                if isinstance(event, SnapshotBytes):
                    snapshot += event.data
                elif isinstance(event, Apply):
                    if link.is_up:
                        applied += event.raw
                        link.applied(event.end)
                else:
                    seen.append(event)
            if link.state is LinkState.LOADING:
                link.loaded(1.0)
        sent += b"".join(link.data_to_send())
    return seen, snapshot + b"|" + applied, sent, link.position, link.state


@given(data=conversations(), cuts=st.lists(st.integers(0, 600), max_size=10))
@settings(max_examples=100, deadline=None)
def test_any_cut_of_the_input_gives_the_same_events(data: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [data[start:end] for start, end in pairwise(edges)]
    by_bytes = events_of([data[at : at + 1] for at in range(len(data))])
    assert events_of(pieces)[0] == by_bytes[0]
    assert events_of(pieces)[3:] == by_bytes[3:] or by_bytes[4] == LinkState.WAITING


@given(data=conversations())
@settings(max_examples=100, deadline=None)
def test_bytes_are_passed_on_whole(data: bytes) -> None:
    """Without nonsense at the end (which ends the link with the batch it is in) the bytes agree as well."""
    whole, by_bytes = events_of([data]), events_of([data[at : at + 1] for at in range(len(data))])
    assert whole[1].partition(b"|")[0] == by_bytes[1].partition(b"|")[0]
    if whole[4] == LinkState.CONNECTED:
        assert whole[1] == by_bytes[1] and whole[3] == by_bytes[3]


class AnyOrder(RuleBasedStateMachine):
    """Anything may be called in any state: it is legal by the table, harmless, or a PeerError, and never more."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.link = Link("m", 1, LinkOptions(Introduction(6380), 30.0), Request(A, 57), lambda: 0.5)
        self.connects = 0
        self.attempts: list[float] = []
        self.cut = 57

    def look(self) -> None:
        before = self.link.state
        for event in self.link.events():
            if isinstance(event, Connect):
                self.attempts.append(self.now)
            elif isinstance(event, Apply) and self.link.is_up:
                self.link.applied(event.end)
            elif isinstance(event, Lost):
                assert self.link.read_offset == self.link.held
        self.link.data_to_send()
        assert self.link.state is before

    @rule()
    def start(self) -> None:
        legal = LINK.allows(self.link.state, LinkTrigger.START)
        try:
            self.link.start(self.now)
            assert legal
        except PeerError:
            assert not legal
        self.look()

    @rule()
    def connected(self) -> None:
        legal = LINK.allows(self.link.state, LinkTrigger.ESTABLISHED)
        try:
            self.link.connected(self.now)
            assert legal
        except PeerError:
            assert not legal
        self.look()

    @rule()
    def lost(self) -> None:
        self.link.lost(self.now, "gone")
        assert self.link.state in (LinkState.WAITING, LinkState.IDLE, LinkState.LOADING)
        self.look()

    @rule()
    def loaded(self) -> None:
        legal = LINK.allows(self.link.state, LinkTrigger.LOADED)
        try:
            self.link.loaded(self.now)
            assert legal and self.link.replid == B and self.link.held == 100
        except PeerError:
            assert not legal
        self.look()

    @rule()
    def load_failed(self) -> None:
        syncing = self.link.is_syncing
        try:
            self.link.load_failed("corrupt", self.now)
            assert syncing and self.link.state is LinkState.WAITING
        except PeerError:
            assert not syncing
        self.look()

    @rule(until=st.sampled_from(list(OldData)))
    def keep_old_data(self, until: OldData) -> None:
        self.link.keep_old_data(until)

    @rule()
    def apply_failed(self) -> None:
        up = self.link.is_up
        try:
            self.link.apply_failed("unknown_command", self.now)
            assert up
        except PeerError:
            assert not up
        self.look()

    @rule()
    def stop(self) -> None:
        self.link.stop(self.now)
        assert self.link.state is LinkState.IDLE and self.link.next_deadline() is None
        self.look()

    @rule(
        data=st.sampled_from(
            [
                b"+PONG\r\n",
                b"+OK\r\n+OK\r\n",
                b"-ERR no\r\n",
                b"-LOADING x\r\n",
                b"+CONTINUE\r\n",
                FULL,
                FULL + b"$3\r\nR",
                b"\n",
                b"$0\r\n",
                b"DB",
                encode_command([b"SET", b"k", b"v"]),
                b"*1\r\n$4\r\nPI",
                b"garbage\r\n",
            ]
        )
    )
    def receive(self, data: bytes) -> None:
        self.link.receive(data, self.now)
        self.look()

    @rule(seconds=st.sampled_from([0.1, 1.0, 7.0, 31.0]))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.link.tick(self.now)
        deadline = self.link.next_deadline()
        assert deadline is None or deadline > self.now
        self.look()

    @invariant()
    def the_position_is_whole(self) -> None:
        assert (self.link.replid is None) == (self.link.held is None)

    @invariant()
    def progress_tells_up_from_down(self) -> None:
        progress = self.link.progress
        if self.link.is_up:
            assert progress.up_since is not None and progress.down_since is None
        assert (progress.transfer is not None) == self.link.is_syncing


AnyOrder.TestCase.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)
TestAnyOrder = AnyOrder.TestCase
