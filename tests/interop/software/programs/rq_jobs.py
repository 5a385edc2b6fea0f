"""RQ, its built-in scheduler, and rq-scheduler: jobs, a dependency, a retry, a failure, and jobs of a later time."""

import sys
import time
from datetime import timedelta
from importlib import import_module

from redis import Redis
from rq import Queue, Retry
from rq.job import Job
from rq.worker import SimpleWorker
from rq_scheduler import Scheduler


def double(number: int) -> int:
    return 2 * number


def fail() -> None:
    raise ValueError("on purpose")


def later(connection: Redis, queue: Queue) -> None:
    """A job that is due in a moment is moved to its queue by the worker's own scheduler, or by rq-scheduler."""
    job = queue.enqueue_in(timedelta(seconds=1), double, 21)
    assert job.get_status().value == "scheduled"
    scheduler = Scheduler(queue_name="default", connection=connection, interval=0.2)
    other = scheduler.enqueue_in(timedelta(seconds=1), double, 4)
    time.sleep(1.5)
    scheduler.run(burst=True)
    SimpleWorker([queue], connection=connection).work(burst=True, with_scheduler=True, logging_level="WARNING")
    end = time.monotonic() + 60
    while not (job.is_finished and other.is_finished) and time.monotonic() < end:
        time.sleep(0.2)
        SimpleWorker([queue], connection=connection).work(burst=True, with_scheduler=True, logging_level="WARNING")
        job.refresh()
        other.refresh()
    assert job.return_value() == 42 and other.return_value() == 8


def main() -> None:
    connection = Redis(port=int(sys.argv[1]))
    queue = Queue(connection=connection)
    jobs = [queue.enqueue(double, number) for number in range(50)]
    child = queue.enqueue(double, 5, depends_on=jobs[-1])
    failing = queue.enqueue(fail, retry=Retry(max=2))
    assert len(queue) == 51
    SimpleWorker([queue], connection=connection).work(burst=True, logging_level="CRITICAL")
    assert [job.return_value() for job in jobs] == [2 * number for number in range(50)]
    assert child.return_value() == 10
    assert failing.get_status().value == "failed" and "on purpose" in failing.latest_result().exc_string
    assert failing.id in queue.failed_job_registry and len(queue.finished_job_registry) == 51
    assert Job.fetch(jobs[0].id, connection=connection).is_finished
    later(connection, queue)
    print("all good")


if __name__ == "__main__":
    # Workers look the functions up by the name of their module.
    import_module("rq_jobs").main()
