"""Folders that the kernel does not watch have their turns."""

from __future__ import annotations

import asyncio
import threading

from pyrepl.daemon.mailbox.unwatched import Unwatched
from tests.unit.daemon.rig import in_loop, until


@in_loop
async def test_each_has_its_turn_before_one_has_its_second() -> None:
    woken: list[int] = []
    unwatched = Unwatched(0.01, lambda: woken.append(1))
    threads = [threading.Thread(target=unwatched.add, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
        thread.join()
    await until(lambda: len(woken) >= 6)
    turns = unwatched.take()
    assert turns[:6] == ["a", "b", "c", "a", "b", "c"] and unwatched.take() == [] and len(unwatched) == 3
    unwatched.close()


@in_loop
async def test_who_is_watched_has_none() -> None:
    woken: list[int] = []
    unwatched = Unwatched(0.01, lambda: woken.append(1))
    for name in ("a", "b", "b"):
        unwatched.add(name)
    unwatched.remove("a")
    unwatched.remove("other")
    assert "b" in unwatched and "a" not in unwatched
    await until(lambda: len(woken) >= 2)
    assert set(unwatched.take()) == {"b"}
    unwatched.remove("b")
    await asyncio.sleep(0.03)
    before = len(woken)
    await asyncio.sleep(0.05)
    assert len(woken) == before, "the timer does not run without any"
    unwatched.close()
