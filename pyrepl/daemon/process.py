"""Facts about the operating system's process that do not change while the node runs; INFO shows them."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

from pyrepl.daemon.clock import Clock
from pyrepl.node.node import Process


def this_process(run_id: str, config_file: Path | None, clock: Clock) -> Process:
    """The process that we are; `run_id` is 40 hex digits, `config_file` the configuration file if there is one."""
    process = Process(os.getpid(), run_id, clock.unix_ms() // 1000, clock.now())
    process.config_file = str(config_file) if config_file is not None else ""
    process.executable = sys.argv[0]
    process.argv = sys.argv
    process.os = f"{platform.system()} {platform.release()} {platform.machine()}"
    process.python = platform.python_version()
    process.total_system_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return process
