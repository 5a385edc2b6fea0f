"""A node as a process: exit codes, the one line when it cannot start, notices, the limit on open files."""

from __future__ import annotations

import gc
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyrepl.config.loading import Loaded
from pyrepl.config.settings import Settings
from pyrepl.daemon.descriptors import RESERVED_FDS
from pyrepl.daemon.disk.config_files import load_settings
from pyrepl.daemon.loop import _allow_descriptors, _notices, run_node
from pyrepl.daemon.wires.handshakes import MOST_PENDING
from tests.peers.ports import free_port


@pytest.fixture
def process() -> Iterator[None]:
    """What run_node changes for the whole process is put back."""
    here, thresholds, hangup = os.getcwd(), gc.get_threshold(), signal.getsignal(signal.SIGHUP)
    yield
    os.chdir(here)
    gc.set_threshold(*thresholds)
    gc.unfreeze()
    signal.signal(signal.SIGHUP, hangup)


def test_why_it_cannot_start_is_one_line(process: None, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_node(Settings(dir=str(tmp_path / "no"), port=free_port()), None, Loaded()) == 1
    error = capfd.readouterr().err
    assert error.startswith("pyrepl: Can't chdir to ") and error.count("\n") == 1


def test_it_stands_in_the_log_as_well(process: None, tmp_path: Path) -> None:
    settings = Settings(dir=str(tmp_path), port=0, logfile=str(tmp_path / "log"))
    assert run_node(settings, None, Loaded()) == 1
    assert "not listen anywhere" in (tmp_path / "log").read_text()


_RUN = """
import sys
from pyrepl.config.settings import Settings
from pyrepl.config.loading import Loaded
from pyrepl.daemon.loop import run_node
sys.exit(run_node(Settings(dir=sys.argv[1], port=int(sys.argv[2]), save=()), None, Loaded()))
"""


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_a_life(tmp_path: Path, by: signal.Signals) -> None:
    """From the first line to the last, a closed terminal in between; exit code 0."""
    root = str(Path(__file__).parents[3])
    arguments = [sys.executable, "-c", _RUN, str(tmp_path), str(free_port())]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, cwd=root) as node:
        assert node.stdout is not None
        lines = []
        for line in node.stdout:
            lines.append(line)
            if "Ready to accept connections" in line:
                break
        node.send_signal(signal.SIGHUP)
        time.sleep(0.05)
        node.send_signal(by)
        lines.extend(node.stdout)
        assert node.wait(60) == 0
    text = "".join(lines)
    assert f"Received {by.name} scheduling shutdown..." in text and text.endswith("bye bye...\n")


_BUSY = """
import asyncio, threading
from pyrepl.daemon.life import Life
begin = Life._begin

async def busy(app):
    await begin(app)
    asyncio.get_running_loop().run_in_executor(None, threading.Event().wait)

Life._begin = busy
"""


def test_a_thread_at_work_keeps_nobody(tmp_path: Path) -> None:
    """As an fsync on a disk that hangs would be."""
    root = str(Path(__file__).parents[3])
    arguments = [sys.executable, "-c", _BUSY + _RUN, str(tmp_path), str(free_port())]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, cwd=root) as node:
        assert node.stdout is not None
        try:
            next(line for line in node.stdout if "Ready to accept connections" in line)
            node.send_signal(signal.SIGTERM)
            assert node.stdout.read().endswith("bye bye...\n")
            assert node.wait(60) == 0
        finally:
            node.kill()


class TestNotices:
    def test_no_configuration(self) -> None:
        (only,) = _notices(None, Loaded())
        assert "no config file specified" in only.text()

    def test_what_has_no_effect_is_told_once(self, tmp_path: Path) -> None:
        path = tmp_path / "a.conf"
        path.write_text("activerehashing yes\nlatency-monitor-threshold 5\nactiverehashing no\n")
        _, loaded = load_settings(path, [])
        texts = [event.text() for event in _notices(path, loaded)]
        assert len(texts) == 2 and texts[1].count("activerehashing") == 1


class TestDescriptors:
    @pytest.fixture(autouse=True)
    def limits(self) -> Iterator[None]:
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        yield
        resource.setrlimit(resource.RLIMIT_NOFILE, before)

    def test_enough(self) -> None:
        settings = Settings(maxclients=10)
        assert _allow_descriptors(settings) == [] and settings.maxclients == 10

    def test_raised_as_far_as_needed(self) -> None:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        assert _allow_descriptors(Settings(maxclients=1000)) == []
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 1000 + RESERVED_FDS + Settings().maxclients_reserve
        assert _allow_descriptors(Settings(maxclients=1000, maxclients_reserve=0, tls_port=1)) == []
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 1000 + RESERVED_FDS + MOST_PENDING

    def test_beyond_what_the_system_allows_maxclients_is_lowered(self) -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard == resource.RLIM_INFINITY:
            hard = soft
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        settings = Settings(maxclients=hard + 100)
        (event,) = _allow_descriptors(settings)
        assert settings.maxclients == hard - RESERVED_FDS and str(settings.maxclients) in event.text()
