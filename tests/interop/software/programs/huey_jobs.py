"""Huey: tasks, a retry, a delay, a pipeline, a lock and priorities, by a consumer in the same process."""

import sys
import time
from typing import Any

from huey import PriorityRedisHuey, RedisExpireHuey
from huey.exceptions import TaskException

PORT = int(sys.argv[1])


def after_retries(result: Any) -> int:
    """What the task came to. The error of an attempt is its result until the next attempt is through."""
    end = time.monotonic() + 60
    while True:
        try:
            return int(result.get(blocking=True, timeout=60, preserve=True))
        except TaskException:
            if time.monotonic() > end:
                raise
            result.reset()
            time.sleep(0.05)


def check(huey: Any) -> None:
    attempts: list[int] = []

    @huey.task()
    def double(number: int) -> int:
        return 2 * number

    @huey.task(retries=2)
    def second_time() -> int:
        attempts.append(1)
        if len(attempts) < 2:
            raise ValueError("on purpose")
        return len(attempts)

    @huey.task()
    @huey.lock_task("only one")
    def locked() -> str:
        return "held"

    consumer = huey.create_consumer(workers=2, periodic=False, scheduler_interval=1, initial_delay=0.05, max_delay=0.2)
    consumer.start()
    try:
        results = [double(number) for number in range(50)]
        assert [result(blocking=True, timeout=60) for result in results] == [2 * number for number in range(50)]
        assert after_retries(second_time()) == 2
        assert double.schedule((21,), delay=1)(blocking=True, timeout=60) == 42
        assert huey.enqueue(double.s(1).then(double).then(double)).get(blocking=True, timeout=60) == [2, 4, 8]
        assert locked()(blocking=True, timeout=60) == "held"
        revoked = double.schedule((1,), delay=3600)
        revoked.revoke()
        assert revoked.is_revoked()
    finally:
        consumer.stop(graceful=True)


def main() -> None:
    check(RedisExpireHuey("expiring", port=PORT, blocking=True, read_timeout=1))
    check(PriorityRedisHuey("by-priority", port=PORT, blocking=True, read_timeout=1))
    print("all good")


main()
