"""A client that asks for all of many keys waits alone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pyrepl.commands.engine.slices import FEW_KEYS
from tests.unit.daemon.rig import in_loop, running

MANY = 3 * FEW_KEYS


@in_loop
async def test_others_are_served_meanwhile(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        assert await node.say(f"DEBUG POPULATE {MANY} key 10") == "OK"
        asking, other = await node.peer(), await node.peer()
        digest = asyncio.ensure_future(asking.say("DEBUG DIGEST"))
        await asyncio.sleep(0)
        assert await other.say("PING") == "PONG"
        assert not digest.done()
        assert await digest == await other.say("DEBUG DIGEST") != "0" * 40
        found = await asking.say("KEYS key:1?")
        assert sorted(found) == [b"key:%d" % number for number in range(10, 20)]


@in_loop
async def test_the_first_scan_and_the_first_random_key(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        assert await node.say(f"DEBUG POPULATE {MANY} key 10") == "OK"
        asking, other = await node.peer(), await node.peer()
        scan = asyncio.ensure_future(asking.say("SCAN 0 COUNT 20"))
        drawn = asyncio.ensure_future(other.say("RANDOMKEY"))
        cursor, keys = await scan
        assert int(cursor) > 0 and len(keys) == 20
        assert (await drawn).startswith(b"key:")
        seen = set(keys)
        while int(cursor):
            cursor, keys = await asking.say(f"SCAN {int(cursor)} COUNT 1000")
            seen.update(keys)
        assert len(seen) == MANY


@pytest.mark.parametrize(("add", "scan"), [("SADD", "SSCAN"), ("HSET", "HSCAN"), ("ZADD", "ZSCAN")])
def test_the_first_scan_of_a_large_collection(tmp_path: Path, add: str, scan: str) -> None:
    @in_loop
    async def run() -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            members = [b"%d" % number for number in range(FEW_KEYS)]
            pairs = {"SADD": members, "HSET": _between(members, b"v", after=True), "ZADD": _between(members, b"1")}
            assert await peer.say(f"{add} key {b' '.join(pairs[add]).decode()}") == len(members)
            seen: set[bytes] = set()
            cursor = b"0"
            while not seen or cursor != b"0":
                cursor, found = await peer.say(f"{scan} key {cursor.decode()} COUNT 500 MATCH *")
                seen.update(found if scan == "SSCAN" else found[::2])
            assert seen == set(members)

    run()


def _between(members: list[bytes], other: bytes, *, after: bool = False) -> list[bytes]:
    return [word for member in members for word in ((member, other) if after else (other, member))]


@in_loop
async def test_commands_behind_it_wait_for_its_reply(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        assert await node.say(f"DEBUG POPULATE {MANY} key 10") == "OK"
        peer = await node.peer()
        peer.send("KEYS", "key:7")
        peer.send("DEL", "key:7")
        assert await peer.read() == [b"key:7"]
        assert await peer.read() == 1


@in_loop
async def test_within_a_transaction_nothing_is_sliced(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        assert await node.say(f"DEBUG POPULATE {MANY} key 10") == "OK"
        peer = await node.peer()
        await peer.say("MULTI")
        await peer.say("KEYS key:7")
        await peer.say("DEL key:7")
        assert await peer.say("EXEC") == [[b"key:7"], 1]


@in_loop
async def test_a_client_that_goes_takes_its_job_along(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        assert await node.say(f"DEBUG POPULATE {MANY} key 10") == "OK"
        peer = await node.peer()
        peer.send("DEBUG", "DIGEST")
        peer.close()
        assert await node.say("PING") == "PONG"


@in_loop
async def test_what_it_took_is_told_as_of_one_execution(tmp_path: Path) -> None:
    async with running(tmp_path, slowlog_log_slower_than=0) as node:
        assert await node.say(f"DEBUG POPULATE {MANY} key 10") == "OK"
        await node.say("CONFIG RESETSTAT")
        await node.say("SLOWLOG RESET")
        await node.say("KEYS none")
        row = node.app.node.stats.of("keys")
        assert row.calls == row.latencies.count == 1
        entry = next(entry for entry in node.app.node.slowlog.entries if entry.amount > 500)
        assert entry.argv == [b"KEYS", b"none"] and row.seconds >= entry.amount / 1e6
