"""The timer of slices: one slice at a time, which may plan the next one, until it is stopped."""

from __future__ import annotations

import asyncio

import pytest

from pyrepl.daemon.memory.slice_timer import SliceTimer


def test_a_slice_plans_the_next() -> None:
    async def work_in_slices() -> None:
        timer = SliceTimer()
        left = 3
        done = asyncio.Event()

        def work() -> None:
            nonlocal left
            assert not timer.is_set
            left -= 1
            if left:
                timer.set(0.0, work)
            else:
                done.set()

        timer.set(0.0, work)
        assert timer.is_set
        with pytest.raises(AssertionError):
            timer.set(0.0, work)
        await done.wait()
        assert left == 0 and not timer.is_set

    asyncio.run(work_in_slices())


def test_a_stopped_slice_does_not_begin() -> None:
    async def stop_it() -> list[str]:
        begun: list[str] = []
        timer = SliceTimer()
        timer.stop()
        timer.set(0.0, lambda: begun.append("stopped"))
        timer.stop()
        assert not timer.is_set
        later = asyncio.Event()
        timer.set(0.0, later.set)
        await later.wait()
        return begun

    assert asyncio.run(stop_it()) == []
