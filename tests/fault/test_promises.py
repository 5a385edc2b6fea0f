"""A snapshot of a few bytes that promises millions of keys: it costs no more memory than it could fill, and goes again.

A real Redis takes 8 MB for such a file. What is measured is the process: its peak, and what it keeps.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.fault.fake_master import REPLID, FakeMaster, Talk, raw
from tests.peers.lab import STOP_S, Lab, Node, wait_until

MOST_BYTES = 100_000_000
"""One believed promise of eight million keys would take 337 MB, and there are 32 of them."""
MANY = b"\x80\x7f\xff\xff\xff"
MARK = b"m" * 40
PROMISES = b"REDIS0011" + b"".join(b"\xfe%c\xfb%s%s" % (db, MANY, MANY) for db in range(16))
KEY = b"\x00\x01a\x01b"
GOOD_END = b"\xff" + bytes(8)
BAD_END = b"\x63\x01a\x01b" + GOOD_END

WAYS = ("disabled", "on-empty-db", "swapdb")


def sized(snapshot: bytes) -> Talk:
    return raw(b"+FULLRESYNC %s 0\r\n$%d\r\n%s" % (REPLID, len(snapshot), snapshot))


def unsized(snapshot: bytes) -> Talk:
    return raw(b"+FULLRESYNC %s 0\r\n$EOF:%s\r\n%s%s" % (REPLID, MARK, snapshot, MARK))


def peak_bytes(node: Node) -> int:
    status = Path(f"/proc/{node.process.pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def bytes_now(node: Node) -> int:
    return int(psutil.Process(node.process.pid).memory_info().rss)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("talk", [sized, unsized], ids=["sized", "unsized"])
def test_a_master_that_promises(lab: Lab, way: str, talk: Callable[[bytes], Talk]) -> None:
    with FakeMaster(talk(PROMISES + KEY + GOOD_END)) as master:
        replica = lab.start("pyrepl", directives={"repl-diskless-load": way})
        before = bytes_now(replica)
        replica.call("REPLICAOF", "127.0.0.1", str(master.port))
        replica.wait_link_up()
        assert replica.call("DBSIZE") in (0, 1)
        assert peak_bytes(replica) < before + MOST_BYTES


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("talk", [sized, unsized], ids=["sized", "unsized"])
def test_a_load_that_fails_keeps_nothing(lab: Lab, way: str, talk: Callable[[bytes], Talk]) -> None:
    with FakeMaster(talk(PROMISES + BAD_END)) as master:
        replica = lab.start("pyrepl", directives={"repl-diskless-load": way})
        before = bytes_now(replica)
        replica.call("REPLICAOF", "127.0.0.1", str(master.port))
        wait_until("it has failed three times", lambda: replica.log().count("Unknown value type or opcode 99") >= 3)
        replica.call("REPLICAOF", "NO", "ONE")
        assert replica.call("DBSIZE") == 0
        wait_until("what was made is gone", lambda: bytes_now(replica) < before + MOST_BYTES / 10)
        assert peak_bytes(replica) < before + MOST_BYTES


def test_a_file_that_promises(lab: Lab, tmp_path: Path) -> None:
    """At start, and by DEBUG RELOAD, which loads at once."""
    dump = tmp_path / "promises.rdb"
    dump.write_bytes(PROMISES + KEY + GOOD_END)
    node = lab.start("pyrepl", dump=dump, directives={"save": "", "enable-debug-command": "yes"})
    node.wait_loaded()
    with node.connect() as client:
        client.call("SELECT", "15")
        assert client.call("GET", "a") == b"b"
        assert client.call("DEBUG", "RELOAD", "NOSAVE") == "OK"
        assert client.call("GET", "a") == b"b"
    assert peak_bytes(node) < 2 * MOST_BYTES


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT], ids=lambda by: by.name)
def test_a_signal_while_it_is_loaded_ends_the_node(lab: Lab, by: signal.Signals) -> None:
    """The master sends the promises, and then nothing more."""
    begun = b"+FULLRESYNC %s 0\r\n$EOF:%s\r\n%s" % (REPLID, MARK, PROMISES)
    with FakeMaster(raw(begun)) as master:
        replica = lab.start("pyrepl", master.port, directives={"repl-diskless-load": "swapdb"})
        wait_until("it loads", lambda: replica.info("persistence")["loading"] == "1")
        replica.hang_up()
        replica.process.send_signal(by)
        assert replica.process.wait(STOP_S) == 0
    assert "bye bye" in replica.log()
