"""redis-py: its locks, its cache on the client's side (CLIENT TRACKING), its scripts and its blocking reads."""

import sys
import threading
import time

import redis
from redis.cache import CacheConfig

PORT = int(sys.argv[1])


def locks(client: redis.Redis) -> None:
    count = 0

    def add() -> None:
        nonlocal count
        for _ in range(20):
            with client.lock("gate", timeout=30, blocking_timeout=60, sleep=0.002):
                seen = count
                time.sleep(0.0005)
                count = seen + 1

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count == 80, count
    held = client.lock("gate", timeout=30)
    assert held.acquire() and held.owned() and held.extend(30) and held.reacquire()
    client.delete("gate")
    try:
        held.release()
    except redis.exceptions.LockError:
        pass
    else:
        raise AssertionError("a lock that was lost was released")


def cached(client: redis.Redis) -> None:
    reader = redis.Redis(port=PORT, protocol=3, cache_config=CacheConfig(), decode_responses=True)
    client.set("c", "1")
    assert reader.get("c") == "1" and reader.get("c") == "1"
    kept = reader.get_cache()
    assert kept is not None and kept.size == 1
    client.set("c", "2")
    end = time.monotonic() + 60
    while reader.get("c") != "2":
        assert time.monotonic() < end, "the cache was not told of the change"
        time.sleep(0.01)


def main() -> None:
    client = redis.Redis(port=PORT, decode_responses=True)
    locks(client)
    cached(client)
    script = client.register_script("return redis.call('INCRBY', KEYS[1], ARGV[1])")
    assert script(keys=["n"], args=[5]) == 5
    client.script_flush()
    assert script(keys=["n"], args=[5]) == 10, "the script was not loaded again"
    waiting = threading.Timer(0.2, lambda: client.rpush("q", "late"))
    waiting.start()
    assert list(client.blpop(["q"], timeout=60) or ()) == ["q", "late"]
    print("all good")


main()
