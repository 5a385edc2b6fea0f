"""Two nodes and a real PostgreSQL: both write one stream, and readers at either see each writer's order and the one."""

from __future__ import annotations

import json
import threading

import pytest

from tests.interop.following import Follower
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.ports import free_port
from tests.peers.postgres import Postgres
from tests.peers.wire import ErrorReply

FACTS = 150


def node_on(lab: Lab, database: Postgres, name: str) -> tuple[Node, int]:
    port = free_port()
    directives = {"stream-port": str(port), "stream-name": name, "stream-facts": database.url}
    return lab.start("pyrepl", directives=directives), port


def write(node: Node, name: str) -> None:
    """Facts of one and two rows, some reserved and completed later, some aborted."""
    held: list[int] = []
    with node.connect() as wire:
        for number in range(FACTS):
            row = json.dumps([name, number])
            if number % 10 == 3:
                held.append(wire.call("STREAMS.RESERVE", "orders"))
            else:
                wire.call("STREAMS.APPEND", "orders", row, *([row] if number % 7 == 0 else []))
            if number % 10 == 8:
                stream_id = held.pop()
                late = json.dumps([name, "late", stream_id])
                rows = [] if number % 20 == 8 else [late]
                wire.call("STREAMS.COMPLETE", "orders", stream_id, *rows)


def test_two_writers_one_stream_and_both_orders(lab: Lab) -> None:
    with Postgres() as database:
        (one, one_port), (two, two_port) = (node_on(lab, database, name) for name in ("node-one", "node-two"))
        one.call("STREAMS.APPEND", "orders", '["first"]')
        ports = {"one": one_port, "two": two_port}
        in_order = {name: Follower("orders", [port], 0, 1, cuts=False) for name, port in ports.items()}
        in_order["anywhere"] = Follower("orders", [one_port, two_port], 0, 2)
        wait_until("node two knows the stream", lambda: b"orders" in two.call("STREAMS.LIST"))
        for follower in in_order.values():
            follower.start()
        writers = [threading.Thread(target=write, args=(node, node.name)) for node in (one, two)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join(300)
        last = max(dict(zip(*[iter(one.call("STREAMS.POSITION", "orders")[1])] * 2)).values())
        facts = in_order["one"].finish(last)
        assert [token for token, _ in facts] == sorted({token for token, _ in facts})
        assert in_order["two"].finish(last) == facts
        assert in_order["anywhere"].finish(last) == facts
        rows = [row for _, rows in facts for row in rows]
        for node in (one, two):
            numbers = [row[1] for row in rows if row[0] == node.name and row[1] != "late"]
            assert sorted(set(numbers)) == [number for number in range(FACTS) if number % 10 != 3]
            late = sum(row[:2] == [node.name, "late"] for row in rows)
            assert late == sum(number % 20 == 18 for number in range(FACTS)), "the other half were aborted"
        nodes = {"node-one": one.name, "node-two": two.name}
        for writer_name in nodes:
            own = [Follower(f"orders {writer_name}", [port], 0, 3, cuts=False) for port in ports.values()]
            got = []
            for follower in own:
                follower.start()
                got.append(follower.finish(max(token for token, rows in facts if rows[-1][0] == nodes[writer_name])))
            assert got[0] == got[1]
            assert got[0] == [fact for fact in facts if fact in got[0]], "each writer's order is part of the one order"
            assert {row[0] for _, rows in got[0] for row in rows} <= {nodes[writer_name], "first"}


def test_a_database_that_goes_and_comes_back(lab: Lab) -> None:
    with Postgres() as database:
        node, port = node_on(lab, database, "node-one")
        assert node.call("STREAMS.APPEND", "s", "1") == 1
        follower = Follower("s", [port], 0, 1, cuts=False)
        follower.start()
        wait_until("it has the first", lambda: follower.token == 1)
        database.stop()
        with pytest.raises(ErrorReply, match="the table of streams cannot be used: PostgreSQL"):
            node.call("STREAMS.APPEND", "s", "2")
        assert node.call("SET", "a", "1") == "OK", "the node's own data needs no database"
        node.wait_log("The table of application streams cannot be used")
        database.start()
        node.wait_log("The table of application streams can be used again")
        last = node.call("STREAMS.APPEND", "s", "3")
        assert [rows for _, rows in follower.finish(last)] == [[1], [3]]
