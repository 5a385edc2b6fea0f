"""Clients that follow Sentinel, as applications do, by redis-py and by ioredis: they write numbered keys all the time.

What WAIT has acknowledged for both replicas is `safe`, and must never be lost.
"""

from __future__ import annotations

import subprocess
import threading
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Final, final

import redis
from redis.sentinel import Sentinel as RedisPySentinel

from tests.interop.sentinels import SWITCH_S, Sentinel
from tests.peers import finder
from tests.peers.lab import die_with_parent, wait_until
from tests.peers.ports import HOST

SCRIPT: Final = Path(__file__).with_name("ioredis_sentinel_client.js")


class Client(ABC):
    """Writes from `__enter__` on until `stop`."""

    library: str

    def __init__(self) -> None:
        self.safe: list[str] = []
        """Keys that both replicas had acknowledged."""
        self.errors = 0
        """Commands that failed: while there was no master."""
        self._thread = threading.Thread(target=self._write, daemon=True)

    def __enter__(self) -> Client:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    @abstractmethod
    def stop(self) -> None:
        """Write no more."""

    def wait_for_more(self, count: int = 20) -> None:
        """Until so many more are written and safe: the client goes on."""
        goal = len(self.safe) + count
        wait_until(f"{self.library} goes on", lambda: len(self.safe) >= goal, SWITCH_S)

    @abstractmethod
    def _write(self) -> None:
        """In the thread, until told to stop."""


@final
class RedisPy(Client):
    """redis-py's Sentinel class."""

    library = "redis-py"

    def __init__(self, sentinels: list[Sentinel]) -> None:
        super().__init__()
        addresses = [(HOST, sentinel.port) for sentinel in sentinels]
        # redis-py's own hints leave these two untyped.
        make: Any = RedisPySentinel
        self._redis: Any = make(addresses, sentinel_kwargs={"socket_timeout": 1.0}).master_for("m", socket_timeout=1.0)
        self._ended = threading.Event()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _write(self) -> None:
        number = 0
        while not self._ended.is_set():
            number += 1
            try:
                with self._redis.pipeline(transaction=False) as pipe:
                    _, replicas = pipe.set(f"n:{number}", number).wait(2, 500).execute()
            except redis.RedisError:
                self.errors += 1
                time.sleep(0.05)
                continue
            if replicas >= 2:
                self.safe.append(f"n:{number}")
            time.sleep(0.002)


@final
class IoRedis(Client):
    """ioredis in a process of its own, which prints a line for each write."""

    library = "ioredis"

    def __init__(self, sentinels: list[Sentinel]) -> None:
        super().__init__()
        executable, modules = finder.node_packages()
        command = [str(executable), str(SCRIPT), *(str(sentinel.port) for sentinel in sentinels)]
        self._process = subprocess.Popen(
            command,
            env={"NODE_PATH": str(modules)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=die_with_parent,
        )

    def stop(self) -> None:
        self._process.kill()
        self._thread.join()
        self._process.wait()

    def _write(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            what, _, key = line.strip().partition(" ")
            if what == "safe":
                self.safe.append(key)
            elif what == "error":
                self.errors += 1
