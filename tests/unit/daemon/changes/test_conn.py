"""One subscriber's connection: slow readers, large rows, the end."""

from __future__ import annotations

from pathlib import Path

from tests.unit.daemon.rig import in_loop, until
from tests.unit.daemon.stream_rig import call, follow, streaming


@in_loop
async def test_a_subscriber_that_never_reads_is_cut_and_comes_back(tmp_path: Path) -> None:
    async with streaming(tmp_path, stream_output_buffer_limit=200_000, repl_backlog_size=64 << 20) as (node, port):
        one = await follow(port, "REPLICATE commands NOW")
        position = await one.line()
        one.peer.reader._transport.pause_reading()  # type: ignore[attr-defined]
        state = node.app.node.streams
        for number in range(200):
            await call(node, "SET", f"k{number}", "x" * 100_000)
            assert state.output_bytes < 1_000_000
        await until(lambda: state.cut_for_output == 1)
        await until(lambda: not state.subscribers)
        two = await follow(port, f"REPLICATE commands {position.split()[2]}")
        rows = await two.rows(number + 1)
        assert [row[1][1] for row in rows] == [f"k{index}" for index in range(number + 1)]


@in_loop
async def test_a_row_of_a_megabyte(tmp_path: Path) -> None:
    async with streaming(tmp_path, repl_backlog_size=16 << 20) as (node, port):
        one = await follow(port, "REPLICATE commands NOW")
        await one.line()
        for size in (1 << 20, 10):
            await call(node, "SET", "k", "x" * size)
        assert [len(row[1][2]) for row in await one.rows(2)] == [1 << 20, 10]
        await node.say("CONFIG SET stream-row-limit 1000")
        await call(node, "SET", "k", "x" * 2000)
        assert "longer than 1000 bytes (stream-row-limit)" in await one.end()


@in_loop
async def test_bad_lines_end_the_connection_alone(tmp_path: Path) -> None:
    async with streaming(tmp_path) as (node, port):
        good = await follow(port, "REPLICATE keys NOW")
        await good.line()
        for data in (
            b"GET / HTTP/1.1\n",
            b"\xff\n",
            b"REPLICATE keys " + b"9" * 30 + b"\n",
            b"x" * 20_000,
            b"USER_SYNC x\n",
        ):
            bad = await follow(port)
            bad.peer.write(data)
            assert (await bad.end()).startswith("ERROR ")
        await node.say("SET a 1")
        assert await good.rows(1) == [[0, "a", "set"]]
        assert node.app.node.streams.errors_sent == 5


@in_loop
async def test_who_is_closed_and_reads_nothing_is_aborted_in_the_end(tmp_path: Path) -> None:
    async with streaming(tmp_path, repl_backlog_size=64 << 20) as (node, port):
        one = await follow(port, "REPLICATE commands NOW")
        await one.line()
        one.peer.reader._transport.pause_reading()  # type: ignore[attr-defined]
        for _ in range(60):
            await call(node, "SET", "k", "x" * 200_000)
        [conn] = node.app.streams.hub.conns.values()  # type: ignore[union-attr]
        conn.close("enough")
        conn.tick(node.app.clock.now() + 60)
        await until(lambda: not node.app.node.streams.subscribers)
