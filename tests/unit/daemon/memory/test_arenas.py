"""Memory taken in blocks: what is in it stays what it is, a child can take more, and blocks go back to the system."""

from __future__ import annotations

import subprocess
import sys

from pyrepl.daemon.memory import arenas
from tests.house.source import ROOT

_LIFE = """
import os
from pyrepl.daemon.memory import arenas

before = [b"before:%d" % number for number in range(100_000)]
assert arenas.install() and arenas.install()
kept = {b"kept:%d" % number: b"v" * (number % 400) for number in range(300_000)}
pid = os.fork()
if pid == 0:
    ours = {b"child:%d" % number: b"w" * (number % 400) for number in range(300_000)}
    right = all(len(value) == int(key[6:]) % 400 for key, value in ours.items())
    os._exit(0 if right and len(kept) == 300_000 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert all(value == b"v" * (int(key[5:]) % 400) for key, value in kept.items())
assert before[77] == b"before:77"
del before
kept.clear()
arenas.take_ordinary_pages(True)
again = [b"again:%d" % number * 20 for number in range(300_000)]
assert all(text == b"again:%d" % number * 20 for number, text in enumerate(again))
arenas.take_ordinary_pages(False)
again.clear()
print(*arenas.figures())
"""


def test_a_life_of_blocks() -> None:
    if not arenas.COMPILED:
        assert arenas.install() is False
        assert arenas.figures() == (0, 0, 0)
        return
    run = subprocess.run([sys.executable, "-c", _LIFE], cwd=ROOT, capture_output=True, text=True, check=True)
    ready, made_here, given_back = map(int, run.stdout.split())
    assert ready + made_here >= given_back > 10


def test_the_thread_leaves_signals_to_the_main_one() -> None:
    if not arenas.COMPILED:
        return
    code = (
        "import os, signal, threading\n"
        "from pyrepl.daemon.memory import arenas\n"
        "arenas.install()\n"
        "seen = []\n"
        "signal.signal(signal.SIGUSR1, lambda *_: seen.append(threading.current_thread().name))\n"
        "os.kill(os.getpid(), signal.SIGUSR1)\n"
        "masks = [line for task in os.listdir('/proc/self/task') if int(task) != os.getpid()\n"
        "         for line in open(f'/proc/self/task/{task}/status') if line.startswith('SigBlk')]\n"
        "print(seen, all(int(line.split()[1], 16) & 1 << signal.SIGUSR1 - 1 for line in masks), len(masks))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout == "['MainThread'] True 1\n"
