"""Celery: tasks, a retry, a countdown, a chain and a chord, with the broker and the results in one server.

`celery_jobs.py PORT` starts a worker, sends the tasks and checks what they give.
"""

import os
import subprocess
import sys
from typing import Any

from celery import Celery, chain, chord, group

URL = f"redis://127.0.0.1:{os.environ.get('SOFTWARE_PORT') or sys.argv[1]}/0"
WAIT_S = 60

app = Celery("celery_jobs", broker=URL, backend=URL)
app.conf.worker_prefetch_multiplier = 1
app.conf.broker_connection_retry_on_startup = True


@app.task
def add(left: int, right: int) -> int:
    return left + right


@app.task(bind=True, max_retries=3)
def third_time(self: Any) -> int:
    if self.request.retries < 2:
        raise self.retry(countdown=0.1)
    retries: int = self.request.retries
    return retries


@app.task
def total(numbers: list[int]) -> int:
    return sum(numbers)


@app.task
def fail() -> None:
    raise ValueError("on purpose")


def main() -> None:
    command = [sys.executable, "-m", "celery", "-A", "celery_jobs", "worker", "--pool", "solo", "--loglevel", "WARNING"]
    worker = subprocess.Popen(
        [*command, "--without-mingle"],
        env=os.environ | {"SOFTWARE_PORT": sys.argv[1]},
        cwd=os.path.dirname(os.path.abspath(__file__)),
    )
    try:
        results = [add.delay(number, number) for number in range(50)]
        assert [result.get(timeout=WAIT_S) for result in results] == [2 * number for number in range(50)]
        assert third_time.delay().get(timeout=WAIT_S) == 2
        assert add.apply_async((1, 2), countdown=0.5).get(timeout=WAIT_S) == 3
        assert chain(add.s(1, 2), add.s(10), add.s(100))().get(timeout=WAIT_S) == 113
        assert chord(group(add.s(number, 1) for number in range(10)), total.s())().get(timeout=WAIT_S) == 55
        failed = fail.delay()
        try:
            failed.get(timeout=WAIT_S)
        except ValueError as error:
            assert str(error) == "on purpose"
        else:
            raise AssertionError("the failure was not told")
        assert app.control.ping(timeout=5), "the worker does not answer a broadcast"
        app.control.shutdown()
        assert worker.wait(WAIT_S) == 0
    finally:
        worker.kill()
        worker.wait()
    print("all good")


if __name__ == "__main__":
    main()
