"""Dramatiq: messages, a retry, a delay, a group with results and a rate limiter, by a worker in the same process."""

import sys
import time

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.rate_limits import ConcurrentRateLimiter, WindowRateLimiter
from dramatiq.rate_limits.backends import RedisBackend as LimitsBackend
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend

PORT = int(sys.argv[1])
broker = RedisBroker(host="127.0.0.1", port=PORT)
broker.add_middleware(Results(backend=RedisBackend(host="127.0.0.1", port=PORT)))
dramatiq.set_broker(broker)
attempts: list[float] = []


@dramatiq.actor(store_results=True)
def double(number: int) -> int:
    return 2 * number


@dramatiq.actor(store_results=True, max_retries=3, min_backoff=100, max_backoff=200)
def second_time() -> int:
    attempts.append(time.monotonic())
    if len(attempts) < 2:
        raise ValueError("on purpose")
    return len(attempts)


def main() -> None:
    worker = dramatiq.Worker(broker, worker_timeout=100, worker_threads=4)
    worker.start()
    try:
        together = dramatiq.group([double.message(number) for number in range(50)]).run()
        assert list(together.get_results(block=True, timeout=60_000)) == [2 * number for number in range(50)]
        assert second_time.send().get_result(block=True, timeout=60_000) == 2
        assert double.send_with_options(args=(21,), delay=500).get_result(block=True, timeout=60_000) == 42
        broker.join(double.queue_name, timeout=60_000)
    finally:
        worker.stop()
    limits = LimitsBackend(host="127.0.0.1", port=PORT)
    window = WindowRateLimiter(limits, "window", limit=3, window=60)
    taken = []
    for _ in range(5):
        with window.acquire(raise_on_failure=False) as acquired:
            taken.append(acquired)
    assert taken == [True, True, True, False, False], taken
    one = ConcurrentRateLimiter(limits, "one", limit=1)
    with one.acquire(), one.acquire(raise_on_failure=False) as second:
        assert not second
    print("all good")


main()
