"""What the system tells of the process that we are."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyrepl.daemon.clock import Clock
from pyrepl.daemon.process import this_process


def test_it_is_this_one() -> None:
    process = this_process("a" * 40, Path("/etc/node.conf"), Clock())
    assert (process.pid, process.run_id, process.config_file) == (os.getpid(), "a" * 40, "/etc/node.conf")
    assert process.argv == sys.argv and process.executable == sys.argv[0]
    assert process.os.split()[0] == os.uname().sysname
    assert process.total_system_bytes > 1 << 24


def test_without_a_configuration_file() -> None:
    assert this_process("a" * 40, None, Clock()).config_file == ""
