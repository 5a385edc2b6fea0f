"""Celery over a failover: `celery_failover.py SENTINEL_PORT...`. It prints "half" when its master may be killed.

A result is stored before its task is acknowledged, and both are in one stream: a task whose result was lost with the
master is delivered again.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable

from celery import Celery
from redis.exceptions import RedisError
from redis.sentinel import Sentinel

PORTS = [int(port) for port in (os.environ.get("SENTINEL_PORTS") or ",".join(sys.argv[1:])).split(",")]
URL = ";".join(f"sentinel://127.0.0.1:{port}" for port in PORTS)
COUNT = 60

app = Celery("celery_failover", broker=URL, backend=URL)
app.conf.broker_transport_options = {"master_name": "m", "visibility_timeout": 4, "socket_timeout": 10}
app.conf.result_backend_transport_options = {"master_name": "m"}
app.conf.update(
    task_acks_late=True,
    worker_prefetch_multiplier=1,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
)


@app.task
def double(number: int) -> int:
    time.sleep(0.05)
    return 2 * number


def start_worker() -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "celery", "-A", "celery_failover", "worker", "--pool", "solo"]
    return subprocess.Popen(
        [*command, "--loglevel", "ERROR", "--without-mingle", "--without-gossip"],
        env=os.environ | {"SENTINEL_PORTS": ",".join(map(str, PORTS))},
        cwd=os.path.dirname(os.path.abspath(__file__)),
        stdout=sys.stderr,
    )


def results(count: int) -> dict[int, int]:
    """The results that are there, read by a connection of their own."""
    client = Sentinel([("127.0.0.1", port) for port in PORTS], socket_timeout=5).master_for("m")
    found = {}
    for number in range(count):
        text = client.get(f"celery-task-meta-task-{number}")
        if text is not None:
            found[number] = app.backend.decode(text)["result"]
    client.close()
    return found


def main() -> None:
    worker = start_worker()

    def wait(condition: Callable[[], bool]) -> None:
        """Poll through the failover; a worker that gave up is started again, as a service manager does."""
        nonlocal worker
        end = time.monotonic() + 200
        while True:
            if worker.poll() is not None:
                worker = start_worker()
            try:
                if condition():
                    return
            except RedisError as error:
                print("waiting:", error, file=sys.stderr)
            assert time.monotonic() < end, "the tasks did not end"
            time.sleep(0.1)

    try:
        for number in range(COUNT):
            double.apply_async((number,), task_id=f"task-{number}")
        wait(lambda: len(results(COUNT)) >= COUNT // 4)
        client = Sentinel([("127.0.0.1", port) for port in PORTS]).master_for("m")
        assert client.wait(2, 60_000) == 2
        print("half", flush=True)
        wait(lambda: results(COUNT) == {number: 2 * number for number in range(COUNT)})
        for number in range(COUNT, COUNT + 10):
            double.apply_async((number,), task_id=f"task-{number}", retry=True)
        wait(lambda: len(results(COUNT + 10)) == COUNT + 10)
    finally:
        worker.kill()
        worker.wait()
    print("all good")


if __name__ == "__main__":
    main()
