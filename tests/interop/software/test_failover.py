"""Queues whose master is killed in the middle: Sentinel promotes a replica, the work goes on, and no job is lost."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest

from tests.interop.sentinels import Deployment, Sentinel
from tests.interop.software.test_software import PROGRAMS, TIMEOUT_S
from tests.peers import compare, finder
from tests.peers.lab import Lab, die_with_parent


def _command(program: str, sentinels: list[Sentinel]) -> tuple[list[str], dict[str, str]]:
    """What runs the program, and what it needs in its environment."""
    ports = [str(sentinel.port) for sentinel in sentinels]
    if program.endswith(".py"):
        return [str(finder.software("software")), str(PROGRAMS / program), *ports], {}
    node, modules = finder.node_packages()
    return [str(node), str(PROGRAMS / program), *ports], {"NODE_PATH": str(modules)}


@pytest.mark.parametrize("program", ["celery_failover.py", "bullmq_failover.js"])
def test_no_job_is_lost(lab: Lab, tmp_path: Path, program: str) -> None:
    with Deployment(lab, ("pyrepl",) * 3, "redis7", tmp_path) as deployed:
        command, environment = _command(program, deployed.sentinels)
        process = subprocess.Popen(
            command,
            env=os.environ | environment,
            stdout=subprocess.PIPE,
            stderr=(tmp_path / "errors").open("wb"),
            text=True,
            start_new_session=True,
            preexec_fn=die_with_parent,
        )
        watchdog = threading.Timer(TIMEOUT_S, process.kill)
        watchdog.start()
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            if said == "half\n":
                deployed.fail_over("kill")
                said += process.stdout.read()
            process.wait()
        finally:
            watchdog.cancel()
            process.kill()
            process.wait()
        assert said == "half\nall good\n", (tmp_path / "errors").read_text()[-5000:]
        master = deployed.master
        for node in deployed.nodes.values():
            if node is not master:
                compare.settle(master, node)
                compare.assert_equal(master, node)
