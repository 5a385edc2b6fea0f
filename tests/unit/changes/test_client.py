"""The asyncio client against a node that fails as it is told: nothing lost, nothing twice, and an end that says why."""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from pyrepl.changes.client import (
    Batch,
    ClientOptions,
    Connected,
    Lost,
    Notice,
    Row,
    Subscription,
    place_after,
    subscribe,
)
from pyrepl.changes.place import NOW, Place
from pyrepl.changes.refusals import ForkedHistory, NotAStreamPort, TokenTooOld, WrongPassword
from pyrepl.changes.roundabout import Pace
from pyrepl.changes.token_file import TokenFile
from pyrepl.changes.verbs import Auth, History, Name, Ping, Replicate
from tests.peers.ports import free_port
from tests.unit.changes.fake_node import HOST, REPLID, FakeNode

Result = TypeVar("Result")
QUICK = ClientOptions(pace=Pace(0.01, 0.02), save_every_s=0.0)
LOG: list[tuple[int, list[Any]]] = [(10, [["a"]]), (25, [["b"], ["c"], ["d"]]), (31, [["e"]])]
ROWS = [(10, 0, ["a"]), (25, 0, ["b"]), (25, 1, ["c"]), (25, 2, ["d"]), (31, 0, ["e"])]


def run(conversation: Coroutine[Any, Any, Result]) -> Result:
    return asyncio.run(asyncio.wait_for(conversation, 120))


def short(rows: list[Row]) -> list[tuple[int, int, Any]]:
    return [(row.token, row.part, row.data) for row in rows]


async def take(rows: Subscription, count: int) -> list[Row]:
    return [await anext(rows) for _ in range(count)]


# ---------------------------------------------------------------------- rows


def test_rows_from_a_token_and_live() -> None:
    async def conversation() -> None:
        async with FakeNode(LOG) as node, subscribe([node.address], "keys", 0, name="worker", options=QUICK) as rows:
            assert short(await take(rows, 5)) == ROWS
            node.append(40, ["f"])
            assert short(await take(rows, 1)) == [(40, 0, ["f"])]
            assert node.said[0] == Name("worker")
            assert isinstance(node.said[1], Ping)
            assert node.said[2:4] == [History(), Replicate("keys", 0)]
            assert rows.place == Place(31, REPLID), "what was handed out last is not had yet"

    run(conversation())


def test_from_now_on() -> None:
    async def conversation() -> None:
        async with FakeNode(LOG) as node, subscribe([(HOST, node.port)], "keys", options=QUICK) as rows:
            waiting = asyncio.create_task(take(rows, 1))
            while not rows.place.token:
                await asyncio.sleep(0.005)
            assert rows.place == Place(31, REPLID)
            node.append(40, ["f"])
            assert short(await waiting) == [(40, 0, ["f"])]

    run(conversation())


def test_batches() -> None:
    async def conversation() -> None:
        async with FakeNode(LOG) as node, subscribe([node.address], "keys", 10, options=QUICK) as changes:
            found: list[Batch] = []
            async for batch in changes.batches():
                found.append(batch)
                if len(found) == 2:
                    break
            assert [(batch.token, batch.rows) for batch in found] == [(25, (["b"], ["c"], ["d"])), (31, (["e"],))]

    run(conversation())


def test_moves_without_rows_are_batches_of_none() -> None:
    async def conversation() -> None:
        async with FakeNode(LOG) as node, subscribe([node.address], "keys", options=QUICK) as changes:
            assert await changes.next_batch() == Batch("keys", "", 31, (), 0, REPLID)

    run(conversation())


def test_a_cancelled_wait_loses_nothing() -> None:
    async def conversation() -> None:
        async with FakeNode() as node, subscribe([node.address], "keys", 0, options=QUICK) as rows:
            for token in (5, 6, 7):
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(anext(rows), 0.03)
                node.append(token, ["x"])
                assert (await anext(rows)).token == token

    run(conversation())


# ---------------------------------------------------------------------- cuts


@pytest.mark.parametrize("seed", range(8))
def test_cut_anywhere_it_goes_on_without_loss_or_repetition(seed: int) -> None:
    chance = random.Random(seed)
    sizes = [chance.choice([1, 1, 2, 5]) for _ in range(120)]
    log: list[tuple[int, list[Any]]] = [
        (10 * n, [[n, part] for part in range(size)]) for n, size in enumerate(sizes, 1)
    ]

    async def conversation() -> list[Row]:
        async with FakeNode(log, name="a") as one, FakeNode(log, name="b") as other:
            for node in (one, other):
                node.cut_after_bytes = [chance.randrange(60, 1200) for _ in range(12)]
            async with subscribe([one.address, other.address], "keys", 0, options=QUICK) as rows:
                found = await take(rows, sum(len(facts) for _, facts in log))
            assert one.connections > 2 and other.connections > 2
            return found

    expected = [(token, part, data) for token, facts in log for part, data in enumerate(facts)]
    assert short(run(conversation())) == expected


def test_a_node_that_comes_up_later() -> None:
    notices: list[Notice] = []

    async def conversation() -> None:
        node = FakeNode(LOG)
        node.port = free_port()
        async with subscribe([node.address], "keys", 0, options=QUICK, notice=notices.append) as rows:
            waiting = asyncio.create_task(take(rows, 5))
            while not notices:
                await asyncio.sleep(0.01)
            async with node:
                assert short(await waiting) == ROWS

    run(conversation())
    assert isinstance(notices[0], Lost) and notices[0].why == "Connection refused"
    assert notices[0].retry_s is not None and 0.005 <= notices[0].retry_s <= 0.01
    assert isinstance(notices[-1], Connected) and notices[-1].node == "node-a" and notices[-1].history == REPLID


@pytest.mark.parametrize(
    ("answered", "is_redis", "words"),
    [
        (b"-ERR unknown command 'PING'\r\n", True, 'this is a Redis port and no stream port: it says "-ERR unknown'),
        (b"-NOAUTH Authentication required.\r\n", True, "a Redis port and no stream port: it says '-NOAUTH"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", False, "this is no stream port: it says 'SSH-2.0-OpenSSH_9.2'"),
        (b"\x15\x03\x01\xff\n", False, "this is no stream port: it says "),
    ],
)
def test_what_is_no_stream_port(answered: bytes, is_redis: bool, words: str) -> None:
    """It will not become one: no second try."""
    notices: list[Notice] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answered)
        await reader.read()
        writer.close()

    async def conversation() -> NotAStreamPort:
        listener = await asyncio.start_server(answer, HOST, 0)
        async with listener:
            port = listener.sockets[0].getsockname()[1]
            async with subscribe([(HOST, port)], "keys", options=QUICK, notice=notices.append) as rows:
                with pytest.raises(NotAStreamPort) as caught:
                    await anext(rows)
            return caught.value

    error = run(conversation())
    assert words in str(error) and error.is_redis is is_redis
    assert [isinstance(one, Lost) and one.retry_s for one in notices] == [None]


# ---------------------------------------------------------------------- refusals


def test_a_token_too_old_for_all() -> None:
    async def conversation() -> TokenTooOld:
        async with FakeNode(LOG) as one, FakeNode(LOG) as other:
            one.oldest, other.oldest = 26, 30
            async with subscribe([one.address, other.address], "keys", 5, options=QUICK) as rows:
                with pytest.raises(TokenTooOld) as caught:
                    await anext(rows)
                with pytest.raises(TokenTooOld):
                    await anext(rows)
            return caught.value

    assert run(conversation()).oldest == 26


def test_one_keeps_more_than_the_other() -> None:
    async def conversation() -> None:
        async with FakeNode(LOG) as one, FakeNode(LOG) as other:
            one.oldest = 26
            async with subscribe([one.address, other.address], "keys", 0, options=QUICK) as rows:
                assert short(await take(rows, 5)) == ROWS

    run(conversation())


def test_a_fork_is_raised_after_what_came_before() -> None:
    async def conversation() -> None:
        async with FakeNode(LOG) as node, subscribe([node.address], "keys", 0, options=QUICK) as rows:
            await take(rows, 1)
            node.history = "another"
            node.cut()
            found = []
            with pytest.raises(ForkedHistory):
                async for row in rows:
                    found.append(row)
            assert short(found) == ROWS[1:]

    run(conversation())


@pytest.mark.parametrize("password", ["", "wrong"])
def test_a_password(password: str) -> None:
    async def conversation() -> None:
        async with FakeNode(LOG, password="secret") as node:
            async with subscribe([node.address], "keys", 0, password=password, options=QUICK) as rows:
                with pytest.raises(WrongPassword):
                    await anext(rows)
            async with subscribe([node.address], "keys", 0, password="secret", options=QUICK) as rows:
                await anext(rows)
            assert Auth("", "secret") in node.said

    run(conversation())


# ---------------------------------------------------------------------- the place


def test_the_place_is_stored_and_found_again(tmp_path: Path) -> None:
    store = TokenFile(tmp_path / "token")

    async def part(count: int) -> list[Row]:
        async with FakeNode(LOG) as node, subscribe([node.address], "keys", 0, store=store, options=QUICK) as rows:
            return await take(rows, count)

    assert short(run(part(3))) == ROWS[:3]
    assert store.load() == f"10@{REPLID}", "the rows of 25 are not all had"
    assert short(run(part(3))) == ROWS[1:4]
    assert short(run(part(1))) == ROWS[1:2], "handed out last, had only when the next is asked for"
    assert store.load() == f"10@{REPLID}"


def test_what_was_handed_out_can_be_confirmed_but_not_amid_the_rows_of_a_token() -> None:
    async def conversation() -> list[int | None]:
        places = []
        async with FakeNode(LOG) as node, subscribe([node.address], "keys", 0, options=QUICK) as rows:
            for _ in range(4):
                await anext(rows)
                rows.confirm()
                places.append(rows.place.token)
            batch = await rows.next_batch()
            assert batch.token == 31 and rows.place.token == 25
            rows.confirm()
            rows.confirm()
            return [*places, rows.place.token]

    assert run(conversation()) == [10, 10, 10, 25, 31]


def test_a_place_is_stored_while_nothing_comes(tmp_path: Path) -> None:
    class Slow:
        """A store that takes its time."""

        def __init__(self) -> None:
            self.saved: list[str] = []

        async def load(self) -> str | None:
            return "10"

        async def save(self, text: str) -> None:
            await asyncio.sleep(0.001)
            self.saved.append(text)

    store = Slow()
    options = ClientOptions(save_every_s=0.05)

    async def conversation() -> None:
        async with FakeNode(LOG) as node, subscribe([node.address], "keys", store=store, options=options) as rows:
            assert short(await take(rows, 4)) == ROWS[1:]
            waiting = asyncio.create_task(take(rows, 1))
            while f"31@{REPLID}" not in store.saved:
                await asyncio.sleep(0.01)
            node.append(40, ["f"])
            await waiting
            assert len(store.saved) <= 3, "not each token: at most so often"

    run(conversation())


def test_a_store_that_fails_ends_it() -> None:
    class Full:
        def load(self) -> str | None:
            return None

        def save(self, text: str) -> None:
            raise OSError(28, "No space left on device")

    async def conversation() -> None:
        async with FakeNode(LOG) as node:
            rows = subscribe([node.address], "keys", 0, store=Full(), options=QUICK)
            with pytest.raises(OSError, match="No space left"):
                await take(rows, 5)
            with pytest.raises(OSError, match="No space left"):
                await rows.aclose()

    run(conversation())


# ---------------------------------------------------------------------- bounds and ends


def test_an_application_that_is_slow_fills_a_limited_queue() -> None:
    options = ClientOptions(most_queued_bytes=20_000, pace=Pace(0.01, 0.02))
    log = [(n, ["x" * 5000]) for n in range(1, 4001)]

    async def conversation() -> None:
        async with FakeNode(log) as node, subscribe([node.address], "keys", 0, options=options) as rows:
            await anext(rows)
            feed = rows._feed
            while feed._queued_bytes <= 20_000 or not node.most_unsent_bytes:
                await asyncio.sleep(0.01)  # until the node has to wait
            await asyncio.sleep(0.1)
            assert 20_000 < feed._queued_bytes < 20_000 + 512 * 1024, "the limit and what one read may bring"
            assert [row.token for row in await take(rows, 3999)] == list(range(2, 4001))
            assert node.connections == 1

    run(conversation())


def test_the_loop_gets_its_turn_while_the_queue_is_full() -> None:
    log = [(n, ["x"]) for n in range(1, 3001)]

    async def conversation() -> int:
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        async with FakeNode(log) as node, subscribe([node.address], "keys", 0, options=QUICK) as rows:
            await anext(rows)
            await asyncio.sleep(0.3)
            beside = asyncio.create_task(others())
            import time

            for _ in range(1000):
                await anext(rows)
                time.sleep(0.0002)
            beside.cancel()
        return turns

    assert run(conversation()) >= 3


def test_closing_and_forgetting() -> None:
    async def conversation() -> None:
        async with FakeNode(LOG) as node:
            rows = subscribe([node.address], "keys", 0, options=QUICK)
            async for _ in rows:
                break
            assert len(node._open) == 1
            del rows
            gc.collect()
            while node._open:
                await asyncio.sleep(0.01)

            again = subscribe([node.address], "keys", 0, options=QUICK)
            await anext(again)
            await again.aclose()
            await again.aclose()
            with pytest.raises(StopAsyncIteration):
                await anext(again)
            assert [batch async for batch in again.batches()] == []
            never = subscribe([node.address], "keys")
            await never.aclose()

    run(conversation())


@pytest.mark.parametrize(
    ("nodes", "stream", "token", "words"),
    [
        ([], "keys", "NOW", "at least one node"),
        (["nowhere"], "keys", "NOW", "expected HOST:PORT"),
        (["h:0"], "keys", "NOW", "expected HOST:PORT"),
        (["h:1"], "ALL", "NOW", "ALL stands for every stream"),
        (["h:1"], "two words", "NOW", "a name has no spaces"),
        (["h:1"], "keys", "yesterday", "expected NOW, a token"),
    ],
)
def test_bad_arguments(nodes: list[str], stream: str, token: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        subscribe(nodes, stream, token)


def test_places_of_the_wrong_kind() -> None:
    with pytest.raises(ValueError, match=r"expected \{writer: token\} or NOW"):
        subscribe(["h:1"], "orders", 5, by_writer=True)
    with pytest.raises(ValueError, match="expected a token or NOW, got the places of several writers"):
        subscribe(["h:1"], "orders", '{"a": 1}')
    before = place_after(NOW, Batch("orders", "a", 5, (), 0, "x"))
    assert place_after(before, Batch("orders", "b", 7, (), 0, "x")) == Place(writers={"a": 5, "b": 7})


def test_a_name_is_one_word() -> None:
    with pytest.raises(ValueError, match="one word"):
        subscribe(["h:1"], "keys", name="my worker")
