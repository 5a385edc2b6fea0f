"""Facts in the keyspace: as every table, and as ordinary data that replicates."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pyrepl.changes.table import Table, TableError
from pyrepl.daemon.changes.keyspace_table import KeyspaceTable
from tests.unit.changes.tables import every_check
from tests.unit.daemon.rig import RunningNode, in_loop, running, until
from tests.unit.daemon.stream_rig import pair


def table_of(node: RunningNode) -> KeyspaceTable:
    return KeyspaceTable(node.app.node, node.app.dispatcher, node.app.clock)


@every_check
def test_as_every_table(check: Callable[[Table], None], tmp_path: Path) -> None:
    @in_loop
    async def run() -> None:
        async with running(tmp_path) as node:
            check(table_of(node))

    run()


@in_loop
async def test_facts_are_ordinary_data_and_replicate(tmp_path: Path) -> None:
    async with pair(tmp_path) as (master, replica, _):
        table = table_of(master)
        [one] = table.next_ids("s", 1)
        table.set_position("s", "a", 0)
        table.add("s", "a", one, ('{"x":1}', "2"))
        table.set_position("s", "a", one)
        master.app.turns.end_batch()
        mirror = table_of(replica)
        await until(lambda: mirror.positions() == {"s": {"a": 1}})
        assert mirror.facts("s", None, 0, 9, 9) == [(1, "a", ('{"x":1}', "2"))]
        assert await master.say("ZRANGE pyrepl:stream:s 0 -1 WITHSCORES") == [b'1 a {"x":1}\n2', b"1"]
        with pytest.raises(TableError, match="READONLY"):
            mirror.next_ids("s", 1)


@in_loop
async def test_a_key_of_another_type_is_told(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        await node.say("SET pyrepl:streams x")
        with pytest.raises(TableError, match="WRONGTYPE"):
            table_of(node).next_ids("s", 1)
