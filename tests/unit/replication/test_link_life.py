"""A link's life without a word said on it: tried, lost, tried again, stopped, hurried."""

from __future__ import annotations

import pytest

from pyrepl.errors import PeerError
from pyrepl.replication.events import Connect, Disconnect, LinkEvent, LinkState, Lost, StateChanged, TryAgain
from pyrepl.replication.link import Link
from pyrepl.replication.link_options import LinkOptions
from pyrepl.replication.psync import ASK_FOR_ALL, Cause, Request
from pyrepl.units import ReplId

A = ReplId("a" * 40)


def link(position: Request = ASK_FOR_ALL) -> Link:
    return Link("master.example", 6379, LinkOptions(), position, lambda: 0.5)


def kinds(events: list[LinkEvent]) -> list[type[LinkEvent]]:
    return [type(event) for event in events if not isinstance(event, StateChanged)]


def test_a_connection_that_cannot_be_had_is_tried_again() -> None:
    the = link(Request(A, 57))
    the.start(0.0)
    assert the.events()[-1] == Connect("master.example", 6379) and the.role_state == "connecting"
    the.lost(1.0, "refused")
    events = the.events()
    assert kinds(events) == [Lost, TryAgain] and the.role_state == "connect"
    lost, again = events[-2:]
    assert isinstance(lost, Lost) and lost.reason.cause is Cause.CONNECT_FAILED
    assert isinstance(again, TryAgain) and the.next_deadline() == again.at > 1.0
    assert the.position == Request(A, 57) and the.progress.last_sync_error == "connect_failed: refused"
    the.tick(again.at)
    assert kinds(the.events()) == [Connect] and the.progress.current_sync_attempts == 2


def test_hurry_means_now() -> None:
    the = link()
    the.start(0.0)
    for _ in range(5):
        the.lost(1.0, "refused")
        assert the.progress.next_try_at is not None
        the.tick(the.progress.next_try_at)
    the.lost(1.0, "refused")
    the.hurry(2.0)
    assert the.next_deadline() == 2.0


def test_stop_closes_what_is_open() -> None:
    the = link()
    the.start(0.0)
    the.connected(0.0)
    the.events()
    the.stop(1.0)
    assert kinds(the.events()) == [Disconnect, Lost] and the.state is LinkState.IDLE
    assert the.next_deadline() is None and the.data_to_send() == []
    the.stop(2.0)
    assert kinds(the.events()) == []


def test_started_twice() -> None:
    the = link()
    the.start(0.0)
    with pytest.raises(PeerError, match="start is not expected"):
        the.start(0.0)
