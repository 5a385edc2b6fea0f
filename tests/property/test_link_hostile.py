"""A master that says anything, in any order, on either connection; a shell that loads and applies as soon as it may.

Nothing breaks the machine, and the position that it would ask to continue from is that of the data the shell holds.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrepl.replication.dialects import DIALECTS
from pyrepl.replication.events import (
    Apply,
    CloseRdbChannel,
    Connect,
    Continued,
    Disconnect,
    FullResyncBegins,
    LinkState,
    OpenRdbChannel,
    SnapshotBytes,
    SnapshotEnds,
)
from pyrepl.replication.handshake import Introduction
from pyrepl.replication.link import Link, LinkOptions
from pyrepl.replication.link_states import OldData
from pyrepl.replication.psync import ASK_FOR_ALL, Request
from pyrepl.replication.transfer import encode_mark_header, encode_size_header
from pyrepl.resp.encoder import encode_command
from pyrepl.units import ReplId

A, B = ReplId("a" * 40), ReplId("b" * 40)
MARK = b"0123456789" * 4
FULL = b"+FULLRESYNC " + A.encode() + b" 100\r\n"
SNAPSHOT = encode_mark_header(MARK) + b"REDIS" + MARK
SIZED = encode_size_header(5) + b"REDIS"
VALKEY_START = b"$ENDOFF:100 " + A.encode() + b" 0 7\r\n"

WORDS = [
    b"+OK\r\n",
    b"+PONG\r\n",
    b"+PONG\r\n+OK\r\n+OK\r\n",
    b"-ERR no\r\n",
    b"-NOAUTH no\r\n",
    b"\n",
    b"+CONTINUE\r\n",
    b"+CONTINUE " + A.encode() + b"\r\n",
    FULL,
    FULL + SNAPSHOT,
    FULL + SNAPSHOT + b"more",
    FULL + SIZED + encode_command([b"SET", b"a", b"1"]),
    b"+RDBCHANNELSYNC 7\r\n",
    b"+DUALCHANNELSYNC\r\n",
    b"+OK\r\n" + FULL + SNAPSHOT,
    b"+OK\r\n" + FULL + SNAPSHOT + b"more",
    VALKEY_START + SNAPSHOT + b"more",
    SNAPSHOT,
    SIZED,
    encode_mark_header(MARK) + b"RE",
    MARK,
    encode_command([b"SET", b"k", b"v" * 30]),
    encode_command([b"MULTI"]),
    encode_command([b"EXEC"]),
    b"*1\r\n$4\r\nPI",
    b"*2\r\n:1\r\n",
    b"$5\r\n",
    b"\x00\xff\r\n",
]
turns = st.lists(
    st.one_of(
        st.tuples(st.just("main"), st.sampled_from(WORDS)),
        st.tuples(st.just("rdb"), st.sampled_from(WORDS)),
        st.tuples(st.just("main"), st.binary(max_size=20)),
        st.tuples(st.sampled_from(["lost", "rdb_lost", "tick", "late", "stop"]), st.just(b"")),
    ),
    max_size=30,
)
HANDSHAKE = b"+PONG\r\n+OK\r\n+OK\r\n"


class Shell:
    """Carries out what the link wants, as its contract says; `held` is the position of its data."""

    def __init__(self, old_data: OldData, *, fails: bool) -> None:
        options = LinkOptions(
            Introduction(6380), 30.0, dialects=frozenset(DIALECTS), sync_buffer_limit_bytes=60, slice_bytes=20
        )
        self.link = Link("m", 1, options, Request(B, 57), lambda: 0.5)
        self.held: Request = Request(B, 57)
        self.now = 0.0
        self._old_data = old_data
        self._fails = fails
        self._main = self._rdb = False

    def take(self, what: str, data: bytes) -> None:
        link = self.link
        self.now += 0.25
        if what == "main" and self._main:
            link.receive(data, self.now)
        elif what == "rdb" and self._rdb:
            link.rdb_receive(data, self.now)
        elif what == "lost" and self._main:
            self._main = False
            link.lost(self.now, "gone")
        elif what == "rdb_lost" and self._rdb:
            self._rdb = False
            link.rdb_lost(self.now, "gone")
        elif what in ("tick", "late"):
            self.now += 40.0 if what == "late" else 1.0
            link.tick(self.now)
        elif what == "stop":
            link.stop(self.now)
            self.look()
            link.start(self.now)
        self.look()

    def look(self) -> None:
        while events := self.link.events():
            for event in events:
                self._carry_out(event)
        self.link.data_to_send()
        self.link.rdb_data_to_send()
        if self.link.state not in (LinkState.TRANSFER, LinkState.LOADING):
            assert self.link.position in (self.held, ASK_FOR_ALL), "what it would ask for is what the data holds"

    def _carry_out(self, event: object) -> None:
        link = self.link
        if isinstance(event, Connect):
            self._main = True
            link.connected(self.now)
            link.receive(HANDSHAKE, self.now)
        elif isinstance(event, Disconnect):
            self._main = False
        elif isinstance(event, OpenRdbChannel):
            self._rdb = True
            link.rdb_connected(self.now)
        elif isinstance(event, CloseRdbChannel):
            self._rdb = False
        elif isinstance(event, Apply) and link.may_apply:
            link.applied(event.end)
            assert link.replid is not None
            self.held = Request(link.replid, event.end)
        elif isinstance(event, Continued):
            self.held = Request(event.replid, event.held)
        elif isinstance(event, FullResyncBegins | SnapshotBytes | SnapshotEnds) and link.may_load:
            self._load(event)

    def _load(self, event: FullResyncBegins | SnapshotBytes | SnapshotEnds) -> None:
        link = self.link
        if isinstance(event, FullResyncBegins):
            link.keep_old_data(self._old_data)
            if self._old_data is OldData.GOES_AT_FIRST_BYTE:
                self.held = ASK_FOR_ALL
            return
        if isinstance(event, SnapshotEnds) and self._old_data is OldData.GOES_AT_LAST_BYTE:
            self.held = ASK_FOR_ALL
        if isinstance(event, SnapshotEnds) and self._fails:
            link.load_failed("corrupt", self.now)
        elif isinstance(event, SnapshotEnds):
            announced = link.announced
            assert announced is not None
            self.held = Request(announced.replid, announced.cut)
            link.loaded(self.now)


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("old_data", list(OldData))
@given(script=turns)
@settings(max_examples=120, deadline=None)
def test_whatever_a_master_says(script: list[tuple[str, bytes]], old_data: OldData, fails: bool) -> None:
    shell = Shell(old_data, fails=fails)
    shell.link.start(0.0)
    shell.look()
    for what, data in script:
        shell.take(what, data)


@pytest.mark.parametrize("old_data", list(OldData))
def test_bytes_behind_the_snapshot_of_a_second_connection(old_data: OldData) -> None:
    """One read brings the whole snapshot and what breaks the protocol behind it: nothing of it is loaded."""
    shell = Shell(old_data, fails=False)
    shell.link.start(0.0)
    shell.look()
    shell.take("main", b"+RDBCHANNELSYNC 7\r\n")
    shell.take("rdb", b"+OK\r\n" + FULL)
    shell.take("rdb", SNAPSHOT + b"more")
    assert shell.link.state is LinkState.WAITING
    assert shell.link.position in (ASK_FOR_ALL, Request(B, 57))
