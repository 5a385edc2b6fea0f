"""The frame of batches: the node's time, what is counted, and who hears when of what a batch has left."""

from __future__ import annotations

from pyrepl.acl.identity import UNASKED
from pyrepl.daemon.clients.turns import Turns
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.signals import Signals
from pyrepl.node.client import Client
from pyrepl.resp.reply import OK
from tests.unit.daemon.rig import bare_node, in_loop


@in_loop
async def test_the_time_and_the_counts_of_a_batch() -> None:
    node, clock = bare_node(), Clock()
    turns = Turns(node, Signals(), clock)
    client = Client(1, "", "", 0.0, UNASKED)
    now_ms = turns.begin_batch(client, 3)
    assert node.keyspace.now_ms == now_ms and abs(now_ms - clock.unix_ms()) < 1000
    assert (client.total_commands, node.stats.total_commands_processed, node.stats.total_reads_processed) == (3, 3, 1)
    assert client.last_seen_at == node.process.now > 0


@in_loop
async def test_the_stream_is_told_of_once_a_turn_and_messages_after_each_batch() -> None:
    node, signals = bare_node(), Signals()
    turns = Turns(node, signals, Clock())
    heard: list[str] = []
    signals.stream_grew.subscribe(lambda: heard.append("grew"))
    signals.deliveries.subscribe(lambda: heard.append("deliveries"))
    turns.end_batch()
    assert heard == ["grew"]
    turns.begin_turn()
    turns.end_batch()
    node.deliveries.append((1, OK))
    turns.end_batch()
    assert heard == ["grew", "deliveries"]
    turns.end_turn()
    assert heard == ["grew", "deliveries", "grew"]
