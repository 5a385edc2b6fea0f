"""PSYNC ... FAILOVER: asked until it is answered, and never again."""

from __future__ import annotations

from pyrepl.replication.events import Continued, LinkState, Lost
from pyrepl.replication.psync import FAILOVER_TO_MASTER, Cause, Request
from tests.unit.replication.test_link import FULL, A, B, Bench

TO_MASTER = f"-{FAILOVER_TO_MASTER}\r\n".encode()


def handing_over() -> Bench:
    return Bench(Request(A, 100, failover=True))


def again(bench: Bench) -> bytes:
    """The next connection, up to the PSYNC."""
    at = bench.link.next_deadline()
    assert at is not None and bench.link.state is LinkState.WAITING
    bench.now = at
    bench.link.tick(bench.now)
    return bench.shake()


def test_it_is_asked_for_until_it_is_granted() -> None:
    bench = handing_over()
    assert b"FAILOVER" in bench.handshake()
    bench.receive(b"-LOADING not yet\r\n")
    assert b"FAILOVER" in again(bench)
    bench.receive(b"+CONTINUE " + B.encode() + b"\r\n")
    assert bench.of(Continued)[0].new_replid == B
    bench.link.lost(bench.now, "cut")
    assert b"FAILOVER" not in again(bench)


def test_a_full_resync_is_an_answer_too() -> None:
    """A target that lacked writes (FORCE) is the master now: to ask once more would be refused for ever."""
    bench = handing_over()
    bench.handshake()
    bench.receive(FULL)
    bench.link.lost(bench.now, "cut")
    assert b"FAILOVER" not in again(bench)


def test_a_target_that_was_a_master_before_refuses() -> None:
    bench = handing_over()
    bench.handshake()
    bench.receive(TO_MASTER)
    assert bench.of(Lost)[-1].reason.cause is Cause.REFUSED


def test_a_target_that_obeyed_unheard_is_followed() -> None:
    """It took over, and the connection broke before +CONTINUE came: it is a master because we wanted it to be."""
    bench = handing_over()
    bench.handshake()
    bench.link.lost(bench.now, "cut")
    assert b"FAILOVER" in again(bench), "it may not have heard of it"
    bench.receive(TO_MASTER)
    assert bench.of(Lost)[-1].reason.cause is Cause.NOT_READY
    assert b"FAILOVER" not in again(bench)
    bench.receive(b"+CONTINUE " + B.encode() + b"\r\n")
    assert bench.of(Continued)[0].held == 100


def test_a_connection_that_broke_before_psync_says_nothing_about_the_target() -> None:
    bench = handing_over()
    bench.link.start(bench.now)
    bench.link.connected(bench.now)
    bench.link.lost(bench.now, "cut")
    assert b"FAILOVER" in again(bench)
    bench.receive(TO_MASTER)
    assert bench.of(Lost)[-1].reason.cause is Cause.REFUSED
