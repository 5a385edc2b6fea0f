"""Who hears of what, and in which order."""

from __future__ import annotations

from unittest.mock import MagicMock, call

import pytest

from pyrepl.daemon.signals import SignalOf, Signals
from pyrepl.daemon.subscriptions import subscribe


def subscribed(streams: bool) -> tuple[Signals, MagicMock]:
    """The signals, and what keeps the calls of all parts in their order."""
    signals, parts = Signals(), MagicMock()
    parts.clients.lost = SignalOf[object]()
    others = parts.streams if streams else None
    subscribe(signals, parts.clients, parts.replicas, parts.roles, parts.failovers, parts.aof, others)
    return signals, parts


@pytest.mark.parametrize("streams", [False, True])
def test_who_hears_that_the_stream_grew(streams: bool) -> None:
    signals, parts = subscribed(streams)
    signals.stream_grew.tell()
    assert parts.mock_calls == [call.replicas.plan_pump(), call.aof.tail.plan(), *([call.streams.plan()] * streams)]


def test_waits_end_before_a_failover_hears_of_an_acknowledgement() -> None:
    signals, parts = subscribed(False)
    signals.acked.tell()
    assert parts.mock_calls == [call.clients.waits.acked(), call.failovers.acked()]


def test_the_file_is_written_before_replies_and_before_replicas() -> None:
    signals, parts = subscribed(True)
    signals.before_replies.tell()
    signals.before_feed.tell()
    assert parts.mock_calls == [call.aof.tail.flush(), call.aof.tail.flush()]


def test_replicas_hear_of_lost_connections() -> None:
    _, parts = subscribed(False)
    parts.clients.lost.tell("conn")
    assert parts.mock_calls == [call.replicas.lost("conn")]
