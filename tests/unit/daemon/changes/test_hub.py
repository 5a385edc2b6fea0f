"""The hub: turns for those who catch up, one decoding for all who follow live."""

from __future__ import annotations

import json
from pathlib import Path

from pyrepl.changes.history_digits import split_token
from tests.unit.daemon.rig import in_loop, until
from tests.unit.daemon.stream_rig import call, follow, streaming, token_of


@in_loop
async def test_many_get_the_same_from_different_tokens(tmp_path: Path) -> None:
    async with streaming(tmp_path, repl_backlog_size=8 << 20) as (node, port):
        tokens = [0]
        for number in range(300):
            await call(node, "SET", f"k{number}", "x" * 1000)
            tokens.append(token_of(node))
        followers = [await follow(port, f"REPLICATE keys {token}") for token in tokens[::30]]
        for number in range(300, 330):
            await call(node, "SET", f"k{number}", "y")
        for index, follower in enumerate(followers):
            rows = await follower.rows(330 - 30 * index)
            assert [row[1] for row in rows] == [f"k{number}" for number in range(30 * index, 330)]


@in_loop
async def test_catching_up_and_live_meet_without_a_gap(tmp_path: Path) -> None:
    async with streaming(tmp_path, repl_backlog_size=8 << 20) as (node, port):
        live = await follow(port, "REPLICATE keys NOW")
        for number in range(200):
            await call(node, "SET", f"k{number}", "x" * 2000)
            if number == 50:
                late = await follow(port, "REPLICATE keys 0")
        expected = [f"k{number}" for number in range(200)]
        assert [row[1] for row in await live.rows(200)] == expected
        assert [row[1] for row in await late.rows(200)] == expected


@in_loop
async def test_a_token_that_is_too_old(tmp_path: Path) -> None:
    async with streaming(tmp_path, repl_backlog_size=64 << 10) as (node, port):
        for number in range(300):
            await call(node, "SET", f"k{number}", "x" * 1000)
        end = await (await follow(port, "REPLICATE keys 0")).end()
        assert end.startswith("ERROR TOOOLD ")
        oldest = int(end.split()[2])
        assert node.app.node.replication.backlog.start <= split_token(oldest)[0]
        rows = await (await follow(port, f"REPLICATE keys {oldest}")).rows(10)
        first = int(rows[0][1][1:])
        assert [row[1] for row in rows] == [f"k{number}" for number in range(first, first + 10)]


@in_loop
async def test_unknown_streams_and_the_known_ones(tmp_path: Path) -> None:
    async with streaming(tmp_path) as (node, port):
        end = await (await follow(port, "REPLICATE nosuch NOW")).end()
        assert end == "ERROR NOSTREAM unknown stream nosuch; known here: keys, commands, caches, sync"
        hub = node.app.streams.hub  # type: ignore[union-attr]
        assert hub.head("nosuch", None) is None and hub.writers("nosuch") == []
        assert hub.why_not("nosuch", None, 5, "") == "there is no such stream"
        await until(lambda: not hub.conns)


@in_loop
async def test_a_stream_faster_than_they_are_fed_makes_them_catch_up(tmp_path: Path) -> None:
    async with streaming(tmp_path, repl_backlog_size=16 << 10) as (node, port):
        one = await follow(port, "REPLICATE keys NOW")
        await one.line()
        peer = await node.peer()
        for number in range(30):
            peer.send("SET", f"k{number}", "x" * 100_000)
        for _ in range(30):
            await peer.read()
        rows = await one.rows(1)
        while rows[-1][1] != "k29":
            line = await one.line()
            if line.startswith("ERROR"):
                assert line.startswith("ERROR TOOOLD ")
                break
            if line.startswith("RDATA"):
                rows.append(json.loads(line.split(" ", 3)[3]))
        assert [row[1] for row in rows] == [f"k{number}" for number in range(len(rows))]
        assert node.app.node.replication.backlog.held_bytes < 2 << 20
