"""Queues, caches and sessions as people use them, unchanged, on a pyrepl master whose replica is a Redis 8.2.

Each program of `programs/` is told the port, does its jobs, checks them, and says "all good". The replica then has the
same data: all that this software does to its server goes through the stream.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.peers import compare, finder
from tests.peers.lab import Lab, Node

PROGRAMS: Final = Path(__file__).with_name("programs")
TIMEOUT_S: Final = 240
SOON_MS: Final = 90_000
IN_PYTHON: Final = (
    ("celery_jobs", "software"),
    ("rq_jobs", "software"),
    ("arq_jobs", "arq"),
    ("dramatiq_jobs", "software"),
    ("huey_jobs", "software"),
    ("django_cache", "software"),
    ("flask_cache", "software"),
    ("aiocache_cache", "software"),
    ("redis_py_cache", "software"),
)
IN_NODE: Final = ("bullmq_jobs", "socketio_rooms", "express_sessions")


def check(lab: Lab, command: list[str], environment: dict[str, str]) -> None:
    """Run a program with the port of a new master behind it."""
    master = lab.start("pyrepl")
    replica = lab.start("redis8", master)
    replica.wait_link_up()
    done = subprocess.run(
        [*command, str(master.port)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0 and done.stdout.rstrip().endswith("all good"), done.stdout + done.stderr + master.tail()
    keep_what_expires_soon(master)
    compare.settle(master, replica)
    compare.assert_equal(master, replica)


def keep_what_expires_soon(master: Node) -> None:
    """Make keys of a short time to live lasting ones, so that they need not be waited out: they are compared too."""
    databases = [int(name.removeprefix("db")) for name in master.info("keyspace") if name.startswith("db")]
    with master.connect() as wire:
        for database in databases:
            wire.call("SELECT", database)
            for key in wire.call("KEYS", "*"):
                if 0 <= wire.call("PTTL", key) < SOON_MS:
                    wire.call("PERSIST", key)


@pytest.mark.parametrize(("program", "environment"), IN_PYTHON)
def test_python(lab: Lab, program: str, environment: str) -> None:
    check(lab, [str(finder.software(environment)), str(PROGRAMS / f"{program}.py")], {})


@pytest.mark.parametrize("program", IN_NODE)
def test_node(lab: Lab, program: str) -> None:
    node, modules = finder.node_packages()
    check(lab, [str(node), str(PROGRAMS / f"{program}.js")], {"NODE_PATH": str(modules)})
