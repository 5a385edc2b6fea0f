"""A standalone Spark cluster on this machine: a master and workers of one core each."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pyspark

_CLASSES: Final = "org.apache.spark.deploy"
_WAIT_S: Final = 60
_MEMORY: Final = "1g"


@contextlib.contextmanager
def cluster(folder: Path, workers: int = 2, python_path: str | None = None) -> Iterator[str]:
    """The URL of its master; it ends with the block. What the processes say goes into `folder`.

    `python_path` is where their Python looks for modules besides its own; None: here.
    """
    own = {"SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": str(Path.cwd()) if python_path is None else python_path}
    port = _free_port()
    url = f"spark://127.0.0.1:{port}"
    with contextlib.ExitStack() as stack:
        _start(stack, own, folder / "master.log", "master.Master", "--port", str(port),
               "--webui-port", str(_free_port()))  # fmt: skip
        _wait(folder / "master.log", "I have been elected leader")
        for number in range(workers):
            log = folder / f"worker{number}.log"
            rough = folder / f"worker{number}"
            _start(stack, own, log, "worker.Worker", "--cores", "1", "--memory", _MEMORY,
                   "--webui-port", str(_free_port()), "--work-dir", str(rough), url)  # fmt: skip
            _wait(log, "Successfully registered")
        yield url


def _start(stack: contextlib.ExitStack, own: Mapping[str, str], log: Path, name: str, *arguments: str) -> None:
    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    environment = {**os.environ, **own}
    with log.open("wb") as said:
        process = subprocess.Popen(
            [str(program), f"{_CLASSES}.{name}", "--host", "127.0.0.1", *arguments],
            stdout=said, stderr=said, env=environment,
        )  # fmt: skip
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
