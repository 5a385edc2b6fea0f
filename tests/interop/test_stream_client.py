"""The Python client against real nodes: streams of two writers read either way under cuts, and caches kept honest."""

from __future__ import annotations

import asyncio
import random
import socket
import threading
from collections.abc import Callable
from pathlib import Path

from pyrepl.changes.client import ClientOptions, Subscription, subscribe
from pyrepl.changes.invalidation import Invalidation, follow_invalidations
from pyrepl.changes.roundabout import Pace
from pyrepl.changes.rows import Json
from pyrepl.changes.token_file import TokenFile
from tests.peers.lab import Lab, Node
from tests.peers.ports import HOST, free_port
from tests.peers.proxy import Proxy

QUICK = ClientOptions(pace=Pace(0.02, 0.2), save_every_s=0.0)
FACTS = 60


def node_named(lab: Lab, name: str, facts: str) -> tuple[Node, int]:
    port = free_port()
    directives = {"stream-port": str(port), "stream-name": name, "stream-facts": facts}
    return lab.start("pyrepl", directives=directives), port


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not condition():
            await asyncio.sleep(0.01)


async def collect(changes: Subscription, into: list[tuple[str, int, tuple[Json, ...]]]) -> None:
    async with changes:
        async for batch in changes.batches():
            into.append((batch.writer, batch.token, batch.rows))


def write(node: Node, chance: random.Random) -> None:
    """Facts that complete out of order, some of them never written."""
    held: list[int] = []
    with node.connect() as wire:
        for number in range(FACTS):
            held.append(wire.call("STREAMS.RESERVE", "orders"))
            while held and (chance.random() < 0.5 or number == FACTS - 1):
                stream_id = held.pop(chance.randrange(len(held)))
                if chance.random() < 0.1:
                    wire.call("STREAMS.ABORT", "orders", stream_id)
                else:
                    wire.call("STREAMS.COMPLETE", "orders", stream_id, stream_id, f'["{node.name}"]')


def test_two_writers_both_ways_under_cuts(lab: Lab, tmp_path: Path) -> None:
    facts = f"sqlite:{tmp_path / 'shared.db'}"
    (one, one_port), (two, two_port) = node_named(lab, "node-one", facts), node_named(lab, "node-two", facts)
    for node in (one, two):
        node.call("STREAMS.APPEND", "orders", '"first"')
    chance = random.Random(4)
    by_writer: list[tuple[str, int, tuple[Json, ...]]] = []
    linear: list[tuple[str, int, tuple[Json, ...]]] = []

    async def conversation(first: Proxy, second: Proxy) -> None:
        nodes = [f"{HOST}:{proxy.port}" for proxy in (first, second)]
        store = TokenFile(tmp_path / "orders.token")
        readers = [
            asyncio.create_task(
                collect(subscribe(nodes, "orders", by_writer=True, store=store, options=QUICK), by_writer)
            ),
            asyncio.create_task(collect(subscribe(nodes, "orders", 0, options=QUICK), linear)),
        ]
        await until(lambda: len(linear) == 2 and store.path.exists() and (store.load() or "").count("node-") == 2)
        writers = [threading.Thread(target=write, args=(node, random.Random(n))) for n, node in enumerate((one, two))]
        for writer in writers:
            writer.start()
        while any(writer.is_alive() for writer in writers):
            await asyncio.sleep(chance.uniform(0.02, 0.15))
            chance.choice((first, second)).cut()
        last = one.call("STREAMS.APPEND", "orders", '"last"')
        await until(lambda: bool(linear) and linear[-1][1] >= last)
        await until(lambda: {token for _, token, _ in by_writer if token > 2} == {token for _, token, _ in linear[2:]})
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)

    with Proxy(one_port) as first, Proxy(two_port) as second:
        asyncio.run(conversation(first, second))
    tokens = [token for _, token, _ in linear]
    assert tokens == sorted(set(tokens))
    assert len(tokens) > 80
    for name in ("node-one", "node-two"):
        own = [token for writer, token, _ in by_writer if writer == name]
        assert own == sorted(set(own)), "each once, in its writer's order"
    # NOW at one node may be before what the other has just written.
    live = sorted((token, rows) for _, token, rows in by_writer if token > 2)
    assert live == [(token, rows) for _, token, rows in linear[2:]]


def test_caches(lab: Lab) -> None:
    port = free_port()
    directives = {"stream-port": str(port), "stream-cache-rule": "user:* get_user"}
    master = lab.start("pyrepl", directives=directives)
    found: list[object] = []

    def drop(one: Invalidation) -> None:
        found.append((one.cache, one.keys))

    async def conversation(proxy: Proxy) -> None:
        following = asyncio.create_task(
            follow_invalidations(
                [(HOST, proxy.port)], drop, lambda: found.append("all"), groups={"rooms": ["a", "b"]}, options=QUICK
            )
        )
        await until(lambda: found == ["all"])
        master.call("SET", "user:7", "Ada")
        master.call("SET", "order:1", "x")
        proxy.cut()
        with socket.create_connection((HOST, port)) as other:
            other.sendall(b'INVALIDATE_CACHE rooms ["!a:b"]\nINVALIDATE_CACHE whole null\n')
            expected = ["all", ("get_user", ("user:7",)), ("a", ("!a:b",)), ("b", ("!a:b",)), ("whole", None)]
            await until(lambda: found == expected)
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)

    with Proxy(port) as proxy:
        asyncio.run(conversation(proxy))
