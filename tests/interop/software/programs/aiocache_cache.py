"""aiocache: values, decorators, an optimistic lock and its Redlock."""

import asyncio
import sys

from aiocache import RedisCache, cached
from aiocache.lock import OptimisticLock, OptimisticLockError, RedLock
from aiocache.serializers import JsonSerializer

PORT = int(sys.argv[1])


async def main() -> None:
    cache = RedisCache(endpoint="127.0.0.1", port=PORT, namespace="a", serializer=JsonSerializer())
    assert await cache.set("k", {"x": 1}, ttl=100) and await cache.get("k") == {"x": 1}
    assert await cache.multi_set([(f"m:{n}", n) for n in range(50)])
    assert await cache.multi_get([f"m:{n}" for n in range(50)]) == list(range(50))
    assert await cache.increment("n", 3) == 3 and await cache.exists("n") and await cache.expire("n", 10)
    calls: list[int] = []

    @cached(ttl=60, cache=RedisCache, endpoint="127.0.0.1", port=PORT, key="answer")
    async def answer() -> int:
        calls.append(1)
        return 42

    assert [await answer() for _ in range(3)] == [42] * 3 and len(calls) == 1
    try:
        async with OptimisticLock(cache, "k") as lock:
            await cache.set("k", "changed by another")
            await lock.cas("lost")
    except OptimisticLockError:
        pass
    else:
        raise AssertionError("the lock did not see the change")
    inside: list[int] = []

    async def enter(number: int) -> None:
        async with RedLock(cache, "gate", lease=5):
            inside.append(number)
            await asyncio.sleep(0.01)
            inside.append(number)

    await asyncio.gather(*[enter(number) for number in range(5)])
    assert sorted(inside) == sorted(list(range(5)) * 2)
    assert await cache.clear(namespace="a")
    assert not await cache.exists("k")
    await cache.close()
    print("all good")


asyncio.run(main())
