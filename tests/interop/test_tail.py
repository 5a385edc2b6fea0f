"""Change-data capture from an ordinary Redis with two commands, killed at random; subscribers that are cut and go on.

What the files and the subscribers got is compared with the replication stream itself, which stream_judge.py reads.
"""

from __future__ import annotations

import asyncio
import base64
import json
import random
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from pyrepl.changes.client import ClientOptions, subscribe
from pyrepl.changes.roundabout import Pace
from tests.interop import tailing
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.ports import HOST, free_port
from tests.peers.proxy import Proxy
from tests.peers.stream_judge import StreamJudge, offset_of
from tests.peers.writer import Writer

BINARY = b"\xff\x00 binary \r\n"


def follower(lab: Lab, master: Node) -> tuple[Node, int]:
    """A pyrepl that follows `master`, in sync, and its stream port."""
    port = free_port()
    node = lab.start("pyrepl", master, directives={"stream-port": str(port), "repl-backlog-size": "64mb"})
    node.wait_link_up()
    return node, port


def write_some(master: Node, count: int) -> None:
    """Keys of several kinds, transactions, two databases, bytes that are no text."""
    with master.connect() as wire:
        for n in range(count):
            wire.pipeline(
                [
                    ["SELECT", n % 2],
                    ["SET", f"user:{n}", f"value {n}"],
                    ["HSET", f"h:{n % 7}", "field", n],
                    ["SET", BINARY + b"%d" % n, BINARY],
                    ["MULTI"],
                    ["INCR", "count"],
                    ["RPUSH", "list", n],
                    ["DEL", f"user:{n - 5}"],
                    ["EXEC"],
                ]
            )


# ---------------------------------------------------------------------- capture


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_capture_from_an_ordinary_redis(form: str, lab: Lab, tmp_path: Path) -> None:
    redis = lab.start("redis8")
    replica, port = follower(lab, redis)
    folder = tmp_path / "changes"
    with StreamJudge(redis) as judge:
        tail = tailing.start(
            *(tailing.address(port), "--stream", "commands", "--from", judge.token(judge.start), "--to", folder),
            *("--format", form, "--roll-seconds", 0.3),
            log=tmp_path / "tail.log",
        )
        write_some(redis, 150)
        redis.call("SELECT", 0)
        redis.call("SET", "last", "1")
        judge.wait_for(redis.offset())
        tailing.wait_for(folder, judge.token(judge.facts()[-1][0]), tail)
        assert tailing.end(tail) == 0
        assert tailing.commands(folder) == judge.rows()

    # Whoever executes what was captured has the same data.
    copy = lab.start("redis8")
    with copy.connect() as wire:
        for record in tailing.records(folder):
            others = record["words_base64"] or [None] * len(record["words"])
            words = [as_bytes(text, other) for text, other in zip(record["words"], others, strict=True)]
            wire.pipeline([["SELECT", record["db"]], words])
    assert copy.call("DEBUG", "DIGEST") == redis.call("DEBUG", "DIGEST")
    assert replica.call("DEBUG", "DIGEST") == redis.call("DEBUG", "DIGEST")


def as_bytes(text: str | None, other: str | None) -> bytes:
    if other is not None:
        return base64.b64decode(other)
    assert text is not None
    return text.encode()


def up_to(rows: list[tuple[int, int, Any]], offset: int) -> list[tuple[int, int, Any]]:
    """Keys expire on, when the judge has gone home."""
    return [row for row in rows if row[0] <= offset]


def capture_under_kills(lab: Lab, tmp_path: Path, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    redis = lab.start("redis8")
    _, port = follower(lab, redis)
    folder = tmp_path / "changes"
    options: list[object] = [tailing.address(port), "--stream", "commands", "--to", folder]
    options += ["--roll-seconds", 0.1, "--roll-bytes", "20kb"]
    with StreamJudge(redis) as judge:
        begin: list[object] = ["--from", judge.token(judge.start)]
        with Writer(redis, seed=seed, per_second=1500):
            for _ in range(kills):
                tail = tailing.start(*options, *begin, log=tmp_path / "tail.log")
                tailing.wait_for(folder, tailing.last_token(folder) + 1, tail)
                time.sleep(chance.uniform(0.0, 0.4))
                tail.kill()
                assert tail.wait() == -9
                if chance.random() < 0.5:
                    begin = []
        redis.call("SET", "last", "1")
        judge.wait_for(redis.offset())
    tail = tailing.start(*options, log=tmp_path / "tail.log")
    tailing.wait_for(folder, judge.token(judge.facts()[-1][0]), tail)
    assert tailing.end(tail) == 0
    expected = judge.rows()
    found = up_to(tailing.commands(folder), expected[-1][0])
    assert len(found) == len(expected)
    assert found == expected
    assert len(tailing.names(folder)) > kills


def test_killed_at_random_each_row_once(lab: Lab, tmp_path: Path) -> None:
    capture_under_kills(lab, tmp_path, kills=4, seed=1)


@pytest.mark.matrix
def test_killed_at_random_each_row_once_in_full(lab: Lab, tmp_path: Path) -> None:
    capture_under_kills(lab, tmp_path, kills=60, seed=2)


# ---------------------------------------------------------------------- subscribers


class Follower(threading.Thread):
    """A subscriber in a thread of its own, through proxies that are cut; keeps all it got."""

    def __init__(self, addresses: list[str], start: int) -> None:
        super().__init__(name="follower", daemon=True)
        self.addresses = addresses
        self.begin = start
        self.rows: list[tuple[int, int, Any]] = []
        self.token = start
        self.connections = 0
        self._over = threading.Event()
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            asyncio.run(self._follow())
        except BaseException as error:
            self.failure = error

    async def _follow(self) -> None:
        def count(notice: object) -> None:
            self.connections += type(notice).__name__ == "Connected"

        options = ClientOptions(pace=Pace(0.02, 0.2))
        async with subscribe(self.addresses, "commands", self.begin, options=options, notice=count) as changes:
            while not self._over.is_set():
                try:
                    async with asyncio.timeout(0.05):
                        batch = await changes.next_batch()
                except TimeoutError:
                    continue
                self.rows += [(offset_of(row.token), row.part, row.data) for row in batch.each()]
                self.token = batch.token

    def end(self) -> None:
        self._over.set()
        self.join(60)
        assert self.failure is None, self.failure


def follow_under_cuts(lab: Lab, seconds: float, seed: int) -> None:
    """Three subscribers of two replicas of a Redis, cut at random; then its replica is promoted, and they go on."""
    chance = random.Random(seed)
    redis = lab.start("redis8")
    (one, one_port), (other, other_port) = follower(lab, redis), follower(lab, redis)
    judge = StreamJudge(redis)
    with Proxy(one_port) as first, Proxy(other_port) as second:
        addresses = [f"{HOST}:{proxy.port}" for proxy in (first, second)]
        followers = [Follower(chance.sample(addresses, 2), judge.token(judge.start)) for _ in range(3)]
        for each in followers:
            each.start()
        with Writer(redis, seed=seed, per_second=1000):
            _cut_for(seconds, chance, followers, first, second)
        offset = redis.offset()
        judge.wait_for(offset)
        wait_until("both replicas have all", lambda: one.offset() == other.offset() == judge.end >= offset)
        redis.kill()
        one.call("REPLICAOF", "NO", "ONE")
        other.call("REPLICAOF", HOST, one.port)
        other.wait_link_up()
        with judge:
            later = StreamJudge(one, at=(judge.replid, judge.end), db=_selected(judge))
        with later:
            with Writer(one, seed=seed + 1, per_second=1000):
                _cut_for(seconds, chance, followers, first, second)
            one.call("SET", "last", "1")
            later.wait_for(one.offset())
            expected = judge.rows() + later.rows()
        wait_until("all have the last", lambda: all(offset_of(each.token) >= expected[-1][0] for each in followers))
        for each in followers:
            each.end()
            found = up_to(each.rows, expected[-1][0])
            assert len(found) == len(expected)
            assert found == expected
            assert each.connections > 2
    assert one.stat("sync_full") == 0


def _cut_for(seconds: float, chance: random.Random, followers: list[Follower], *proxies: Proxy) -> None:
    """So long, and until every follower has come back."""
    before = [each.connections for each in followers]
    end = time.monotonic() + seconds
    while time.monotonic() < end or any(each.connections < seen + 2 for each, seen in zip(followers, before)):
        time.sleep(chance.uniform(0.05, 0.3))
        proxy = chance.choice(proxies)
        if chance.random() < 0.5:
            proxy.cut()
        else:
            proxy.cut_after(chance.randrange(200, 20_000), "down")
        if chance.random() < 0.3:
            proxy.heal()
    for proxy in proxies:
        proxy.heal()


def _selected(judge: StreamJudge) -> int:
    facts = judge.facts()
    return facts[-1][1][-1][0] if facts else 0


def test_cut_at_random_through_a_promotion(lab: Lab) -> None:
    follow_under_cuts(lab, seconds=2.0, seed=3)


@pytest.mark.matrix
@pytest.mark.parametrize("seed", range(4))
def test_cut_at_random_through_a_promotion_in_full(seed: int, lab: Lab) -> None:
    follow_under_cuts(lab, seconds=30.0, seed=seed)


# ---------------------------------------------------------------------- the screen


def test_on_the_screen(lab: Lab, tmp_path: Path) -> None:
    port = free_port()
    master = lab.start("pyrepl", directives={"stream-port": str(port)})
    token, log = tmp_path / "token", tmp_path / "tail.log"
    options = [tailing.address(port), "--match", "user:*", "--save-token", token, "--quiet"]
    tail = tailing.start(*options, "--format", "json", log=log)
    wait_until("it follows", lambda: ",streams=keys/" in master.info("streams").get("stream_client0", ""))
    write_some(master, 3)
    wait_until("it shows rows", lambda: log.read_text().count("\n") >= 3)
    assert tailing.end(tail) == 0
    shown = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(row["db"], row["key"], row["command"]) for row in shown] == [
        (0, "user:0", "set"), (1, "user:1", "set"), (0, "user:2", "set")
    ]  # fmt: skip
    write_some(master, 2)
    again = tmp_path / "again.log"
    tail = tailing.start(*options, "--count", 2, log=again)
    assert tail.wait(120) == 0
    assert [line.split(" ", 1)[1] for line in again.read_text().splitlines()] == [
        '[0,"user:0","set"]',
        '[1,"user:1","set"]',
    ]


def test_what_goes_wrong_is_said(lab: Lab, tmp_path: Path) -> None:
    port = free_port()
    master = lab.start(
        "pyrepl", directives={"stream-port": str(port), "requirepass": "secret", "repl-backlog-size": "16kb"}
    )
    master.password = "secret"
    master.call("ACL", "SETUSER", "reader", "on", ">top", "+psync")
    master.call("ACL", "SETUSER", "other", "on", ">low")
    master.call("SET", "a", "1")
    where = tailing.address(port)

    def said(*arguments: object) -> tuple[int, str]:
        log = tmp_path / "said.log"
        log.unlink(missing_ok=True)
        status = tailing.start(where, "--quiet", *arguments, log=log).wait(120)
        return status, log.read_text()

    status, text = said()
    assert status == 1 and "NOAUTH" in text and "See PYREPL_PASSWORD, --password and --user" in text
    status, text = said("--password", "wrong")
    assert status == 1 and "WRONGPASS" in text and "wrong" not in text.replace("WRONG", "")
    status, text = said("--user", "other", "--password", "low")
    assert status == 1 and "NOPERM User other has no permissions" in text and "it needs +psync" in text
    status, text = said("--user", "reader")
    assert status == 1 and "the user 'reader' logs in with a password" in text
    status, text = said("--user", "reader", "--password", "top", "--from", "0", "--count", "1")
    assert status == 0 and '[0,"a","set"]' in text
    status, text = said("--password", "secret", "--stream", "nosuch")
    assert status == 1 and "unknown stream nosuch" in text and "keys" in text
    status, text = said("--password", "secret", "--from", "5@" + "0" * 40)
    assert status == 3 and "another history" in text
    status, text = said("--password", "secret", "--from", "5")
    assert status == 3 and text.count("another history") == 1
    # The Redis port instead of the stream port: said once, with the port that is meant, and it ends.
    for node, words in ((master, f"is {port}: pyrepl tail {where}"), (lab.start("redis8"), "An ordinary Redis")):
        where = tailing.address(node.port)
        status, text = said("--password", "secret")
        assert status == 1 and text.count("this is a Redis port and no stream port") == 1 and words in text, text
