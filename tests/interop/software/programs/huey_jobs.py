"""Huey: tasks, a retry, a delay, a pipeline, a lock and priorities, by a consumer in the same process."""

import sys
from typing import Any

from huey import PriorityRedisHuey, RedisExpireHuey

PORT = int(sys.argv[1])


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
        again = second_time()
        assert again(blocking=True, timeout=60, revoke_on_timeout=False, preserve=True) is not None
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
