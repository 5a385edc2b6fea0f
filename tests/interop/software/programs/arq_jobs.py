"""arq: jobs, a retry, a deferred one and a result, by a worker in the same process."""

import asyncio
import sys
from typing import Any

from arq import Retry, create_pool
from arq.connections import RedisSettings
from arq.worker import Worker


async def double(ctx: dict[str, Any], number: int) -> int:
    return 2 * number


async def second_time(ctx: dict[str, Any]) -> int:
    if ctx["job_try"] < 2:
        raise Retry(defer=0.1)
    return int(ctx["job_try"])


async def main() -> None:
    pool = await create_pool(RedisSettings(port=int(sys.argv[1])))
    jobs = [await pool.enqueue_job("double", number) for number in range(50)]
    again = await pool.enqueue_job("second_time")
    later = await pool.enqueue_job("double", 21, _defer_by=0.5)
    assert await pool.enqueue_job("double", 1, _job_id="one") is not None
    assert await pool.enqueue_job("double", 1, _job_id="one") is None, "the same job id was taken twice"
    worker = Worker(functions=[double, second_time], redis_pool=pool, burst=True, handle_signals=False, poll_delay=0.1)
    await worker.async_run()
    assert [await job.result(timeout=60) for job in jobs] == [2 * number for number in range(50)]
    assert await again.result(timeout=60) == 2 and await later.result(timeout=60) == 42
    await worker.close()
    print("all good")


asyncio.run(main())
