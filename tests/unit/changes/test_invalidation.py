"""Caches are dropped entry by entry, and as a whole where something may have been missed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from pyrepl.changes.client import ClientOptions
from pyrepl.changes.invalidation import Invalidation, follow_invalidations
from pyrepl.changes.refusals import WrongPassword
from pyrepl.changes.roundabout import Pace
from pyrepl.errors import PeerError
from tests.unit.changes.fake_node import FakeNode

QUICK = ClientOptions(pace=Pace(0.01, 0.02))
ALL = "everything"


class Caches:
    """What was called back, in order."""

    def __init__(self) -> None:
        self.dropped: list[tuple[str, object] | str] = []

    def drop(self, one: Invalidation) -> None:
        self.dropped.append((one.cache, one.keys))

    def drop_all(self) -> None:
        self.dropped.append(ALL)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(120):
            while not condition():
                await asyncio.sleep(0.005)


def test_entries_groups_cuts_and_gaps() -> None:
    caches = Caches()

    async def conversation() -> None:
        async with FakeNode([(5, [["old", ["x"], 1]])]) as node:
            following = asyncio.create_task(
                follow_invalidations(
                    [node.address], caches.drop, caches.drop_all, groups={"both": ["a", "b"]}, options=QUICK
                )
            )
            await caches.until(lambda: caches.dropped == [ALL])
            node.append(6, ["a", ["k"], 1], ["b", None, 1])
            node.append(7, ["both", ["k"], 1])
            expected: list[tuple[str, object] | str] = [ALL, ("a", ("k",)), ("b", None), ("a", ("k",)), ("b", ("k",))]
            await caches.until(lambda: caches.dropped == expected)

            node.cut()
            node.append(8, ["c", ["k"], 1])
            expected.append(("c", ("k",)))
            await caches.until(lambda: caches.dropped == expected)

            node.oldest = 20
            node.log = [(21, [["d", ["k"], 1]])]
            node.cut()
            expected.append(ALL)
            await caches.until(lambda: caches.dropped == expected)
            node.append(22, ["e", [], 1])
            expected.append(("e", ()))
            await caches.until(lambda: caches.dropped == expected)
            following.cancel()
            with pytest.raises(asyncio.CancelledError):
                await following
            await caches.until(lambda: not node._open)

    asyncio.run(conversation())


def test_a_refusal_at_the_beginning() -> None:
    caches = Caches()

    async def conversation() -> None:
        async with FakeNode(password="secret") as node:
            await follow_invalidations([node.address], caches.drop, caches.drop_all, options=QUICK)

    with pytest.raises(WrongPassword):
        asyncio.run(conversation())
    assert caches.dropped == []


def test_a_row_of_another_kind() -> None:
    async def conversation() -> None:
        async with FakeNode() as node:
            caches = Caches()
            following = asyncio.create_task(
                follow_invalidations([node.address], caches.drop, caches.drop_all, options=QUICK)
            )
            await caches.until(lambda: caches.dropped == [ALL])
            node.append(6, [0, "user:7", "set"])
            await following

    with pytest.raises(PeerError, match="expected a row"):
        asyncio.run(asyncio.wait_for(conversation(), 120))


def test_what_a_callback_raises() -> None:
    def broken() -> None:
        raise ZeroDivisionError

    async def conversation() -> None:
        async with FakeNode() as node:
            await follow_invalidations([node.address], lambda one: None, broken, options=QUICK)

    with pytest.raises(ZeroDivisionError):
        asyncio.run(asyncio.wait_for(conversation(), 120))
