"""The bar on a terminal: there while something loads or comes, gone after it, log lines above it."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

from pyrepl.daemon.following.progress_bar import ProgressBar
from pyrepl.node.persistence import Loading
from pyrepl.observability import events
from pyrepl.replication.link import Link, LinkOptions
from pyrepl.replication.progress import TransferProgress
from pyrepl.replication.psync import ASK_FOR_ALL
from tests.peers.ports import free_port
from tests.unit.daemon.disk.test_files import snapshot
from tests.unit.daemon.rig import KeptLog, bare_node, in_loop, until


@in_loop
async def test_it_comes_and_goes_with_a_load() -> None:
    node, kept = bare_node(), KeptLog()
    kept.log.printer = None
    bar = ProgressBar(node, kept.log)
    bar.start()
    await asyncio.sleep(0.25)
    assert kept.log.printer is None
    node.persistence.loading = Loading(1.0, 1, 1000, asynchronous=False)
    node.persistence.loading.loaded_bytes = 500
    await until(lambda: kept.log.printer is not None, "the bar")
    kept.log(events.ServerInitialized())
    node.persistence.loading = None
    await until(lambda: kept.log.printer is None, "the end of the bar")
    bar.stop()


@in_loop
async def test_stopped_it_leaves_the_log_as_it_was() -> None:
    node, kept = bare_node(), KeptLog()
    kept.log.printer = None
    node.persistence.loading = Loading(1.0, 1, 0, asynchronous=False)
    bar = ProgressBar(node, kept.log)
    bar.start()
    await until(lambda: kept.log.printer is not None, "the bar")
    bar.stop()
    assert kept.log.printer is None


@in_loop
async def test_what_it_shows() -> None:
    node, kept = bare_node(), KeptLog()
    bar = ProgressBar(node, kept.log)
    assert bar._figures() is None
    node.replication.link = Link("h", 1, LinkOptions(), ASK_FOR_ALL, lambda: 0.5)
    assert bar._figures() is None
    transfer = TransferProgress(1.0, 2000)
    node.replication.link.progress.transfer = transfer
    assert bar._figures() is None, "nothing has come yet"
    transfer.advance(700, 2.0)
    assert bar._figures() == ("receiving", 700, 2000)
    node.persistence.loading = Loading(1.0, 1, 0, asynchronous=False)
    assert bar._figures() == ("loading", 0, None)


def test_on_a_terminal(tmp_path: Path) -> None:
    """A node that loads for a second in a terminal: a bar is drawn, and all lines of the log are there whole."""
    (tmp_path / "dump.rdb").write_bytes(snapshot(300))
    root = Path(__file__).parents[4]
    near, far = pty.openpty()
    fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
    words = ["--dir", str(tmp_path), "--port", str(free_port()), "--key-load-delay", "2500"]
    words += ["--loading-process-events-interval-bytes", "1024"]
    environment = {**os.environ, "TERM": "xterm", "PYTHONPATH": str(root)}
    process = subprocess.Popen(
        [sys.executable, "-m", "cli.main", "master", *words], stdout=far, stderr=far, cwd=root, env=environment
    )
    os.close(far)
    output = b""
    try:
        while b"Ready to accept connections" not in output:
            output += os.read(near, 65536)
    finally:
        process.terminate()
        assert process.wait(10) == 0
        os.close(near)
    assert b"sync: loading" in output
    assert b"Server initialized" in output and b"DB loaded from disk" in output
