"""Dropped data is freed while the node answers; the collector's oldest generation stays small."""

from __future__ import annotations

import gc
import socket
import weakref
from pathlib import Path

from pyrepl.daemon.memory.housekeeper import Housekeeper
from pyrepl.daemon.wires.plain_wire import PlainWire
from pyrepl.keyspace.disposal import SMALL
from pyrepl.keyspace.values import ListValue
from tests.unit.daemon.rig import in_loop, running, until


@in_loop
async def test_flushed_keys_are_freed_after_the_reply(tmp_path: Path) -> None:
    async with running(tmp_path, hz=100) as node:
        assert await node.say(f"DEBUG POPULATE {20 * SMALL} key 10") == "OK"
        disposal = node.app.node.keyspace.disposal
        assert await node.say("FLUSHALL") == "OK"
        assert await node.say("DBSIZE") == 0
        await until(lambda: disposal.is_empty)
        assert await node.say("DBSIZE") == 0


@in_loop
async def test_what_grew_old_is_frozen(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        keyspace = node.app.node.keyspace
        housekeeper = Housekeeper(keyspace, node.app.clock)
        callbacks = len(gc.callbacks)
        try:
            housekeeper.tick(node.app.clock.now())
            assert len(gc.callbacks) == callbacks + 1
            before = gc.get_freeze_count()
            keyspace.databases[0].store.values.update({b"%d" % number: ListValue() for number in range(1000)})
            gc.collect(0)
            assert gc.get_freeze_count() == before
            gc.collect(1)
            assert gc.get_freeze_count() >= before + 1000
            assert gc.get_count()[2] == 0
        finally:
            housekeeper.stop()
            gc.unfreeze()
        assert len(gc.callbacks) == callbacks


@in_loop
async def test_connections_need_no_collector(tmp_path: Path) -> None:
    """As one that was frozen would never be reclaimed."""
    async with running(tmp_path) as node:
        await node.say("PING")
        gone: list[weakref.ref[socket.socket]] = []
        gc.disable()
        try:
            for _ in range(5):
                peer = await node.peer()
                assert await peer.say("PING") == "PONG"
                conn = node.app.clients.conns[max(node.app.clients.conns)]
                wire = conn.transport.wire
                assert isinstance(wire, PlainWire)
                gone.append(weakref.ref(wire._sock))
                del conn, wire
                peer.close()
            await until(lambda: not node.app.clients.conns, "the end of all connections")
            await until(lambda: not any(ref() for ref in gone), "their memory to be given back")
        finally:
            gc.enable()
