"""A standalone Spark cluster on this machine: a master and workers of one core each. How much faster two workers are.

    python -m bench.spark_cluster LOGS [--cores 0.25] [--driver 0.75] [--rounds 1]

`pyrepl metrics LOGS --master` runs with one worker and with two, in turn, each time from nothing, and both wall times
are told, with their ratio. Master, driver and workers share this machine, and two workers that take a core each leave
the driver none: so each worker, with all that it starts, may use `--cores` of a core and no more, and the driver with
the master `--driver`, by control groups of the kernel's (quota.py; root alone may make them). What is left is what the
pipeline itself allows: work that is shared out takes half the time, and what the driver does, or one task alone, takes
as long as before. All three must fit into the machine, also beside what else runs there. Spark's event log of each run
is kept, for bench.spark_tasks.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import pyspark

from bench.quota import quota, within

_CLASSES: Final = "org.apache.spark.deploy"
_WAIT_S: Final = 120
_MEMORY: Final = "1g"
_COUNTS: Final = (1, 2)


@contextlib.contextmanager
def cluster(
    folder: Path, workers: int = 2, python_path: str | None = None, groups: Sequence[Path] = ()
) -> Iterator[str]:
    """The URL of its master; it ends with the block. What the processes say goes into `folder`.

    `python_path` is where their Python looks for modules besides its own; None: here. `groups` are those of the master
    and of each worker (quota.py), if they have any.
    """
    own = {"SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": str(Path.cwd()) if python_path is None else python_path}
    port = _free_port()
    url = f"spark://127.0.0.1:{port}"
    ours: list[Path | None] = [*groups] or [None] * (workers + 1)
    with contextlib.ExitStack() as stack:
        _start(stack, own, ours[0], folder / "master.log", "master.Master", "--port", str(port),
               "--webui-port", str(_free_port()))  # fmt: skip
        _wait(folder / "master.log", "I have been elected leader")
        for number in range(workers):
            log = folder / f"worker{number}.log"
            rough = folder / f"worker{number}"
            _start(stack, own, ours[number + 1], log, "worker.Worker", "--cores", "1", "--memory", _MEMORY,
                   "--webui-port", str(_free_port()), "--work-dir", str(rough), url)  # fmt: skip
            _wait(log, "Successfully registered")
        yield url


def _start(
    stack: contextlib.ExitStack, own: Mapping[str, str], group: Path | None, log: Path, name: str, *arguments: str
) -> None:
    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    command = [str(program), f"{_CLASSES}.{name}", "--host", "127.0.0.1", *arguments]
    environment = {**os.environ, **own}
    with log.open("wb") as said:
        process = subprocess.Popen(
            command if group is None else within(group, command), stdout=said, stderr=said, env=environment
        )
    stack.callback(_end, process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(_WAIT_S)


def _wait(log: Path, words: str) -> None:
    over = time.monotonic() + _WAIT_S
    while words not in log.read_text(errors="replace"):
        if time.monotonic() > over:
            raise TimeoutError(f"no {words!r} in {log}:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.2)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def analysed(logs: Path, folder: Path, workers: int, cores: float, driver: float) -> float:
    """Seconds of wall that `pyrepl metrics` takes with so many workers; Spark's event log is in `folder`/events."""
    events = folder / "events"
    events.mkdir(parents=True)
    with contextlib.ExitStack() as stack:
        ours = stack.enter_context(quota("driver", driver))
        theirs = [stack.enter_context(quota(f"worker-{number}", cores)) for number in range(workers)]
        url = stack.enter_context(cluster(folder, workers, groups=[ours, *theirs]))
        program = str(Path(sys.executable).with_name("pyrepl"))
        kept = ("--conf", "spark.eventLog.enabled=true", "--conf", f"spark.eventLog.dir=file:{events}")
        command = [program, "metrics", str(logs), "--out", str(folder / "out"), "--quiet", "--master", url, *kept]
        # Executors run what the driver is told, and nothing but this Python has to have what they need.
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
        began = time.monotonic()
        subprocess.run(within(ours, command), check=True, stdout=subprocess.DEVNULL, env=environment)
        return time.monotonic() - began


def main() -> None:
    """As the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", type=Path)
    parser.add_argument("--cores", type=float, default=0.25, help="of each worker")
    parser.add_argument("--driver", type=float, default=0.75, help="cores of the driver and the master")
    parser.add_argument("--rounds", type=int, default=1)
    asked = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="pyrepl-cluster-"))
    for number in range(asked.rounds):
        took = {}
        for workers in _COUNTS:
            folder = work / f"{number}-{workers}"
            took[workers] = analysed(asked.logs, folder, workers, asked.cores, asked.driver)
            shutil.rmtree(folder / "out")
            print(f"workers: {workers}, {took[workers]:.1f} s, events in {folder / 'events'}", flush=True)
        print(f"two are {took[1] / took[2]:.2f} times as fast as one", flush=True)


if __name__ == "__main__":
    main()
