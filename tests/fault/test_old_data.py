"""What a replica does with its old data while `repl-diskless-load swapdb` loads beside it, and when that load fails."""

from __future__ import annotations

import socket
import threading

import pytest

from tests.fault import fake_master
from tests.fault.fake_master import EMPTY_RDB, REPLID, FakeMaster, Talk
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.wire import ErrorReply

OTHER = b"e" * 40
OLD = fake_master.stream(("SELECT", 0), ("SET", "old", "data"))


def half(replid: bytes, end: threading.Event) -> Talk:
    """A full resync of this name, half a snapshot, and the end of the connection once `end` is set."""

    def talk(sock: socket.socket) -> None:
        sock.sendall(b"+FULLRESYNC %s 9\r\n$5000\r\n%s" % (replid, EMPTY_RDB[:-9] + b"\x00\x01a\x01b"))
        end.wait()

    return talk


def flags(replica: Node) -> tuple[str, str]:
    info = replica.info("persistence")
    return info["loading"], info["async_loading"]


@pytest.mark.parametrize(
    ("replid", "loading"), [(REPLID, ("0", "1")), (OTHER, ("1", "0"))], ids=["same-history", "other-history"]
)
def test_beside_the_old_data(lab: Lab, replid: bytes, loading: tuple[str, str]) -> None:
    """Served only as an older state of what comes, kept in both cases when the load fails. Source: Redis 8.2, tried."""
    end = threading.Event()
    with FakeMaster(fake_master.snapshot(EMPTY_RDB, OLD)) as master:
        replica = lab.start("pyrepl", master.port, directives={"repl-diskless-load": "swapdb"})
        wait_until("the old data", lambda: replica.link_is_up() and replica.call("GET", "old") == b"data")
        master.talk = half(replid, end)
        replica.call("CLIENT", "KILL", "TYPE", "MASTER")
        wait_until("it loads", lambda: flags(replica) != ("0", "0"))
        assert flags(replica) == loading
        if replid == REPLID:
            assert replica.call("GET", "old") == b"data"
        else:
            with pytest.raises(ErrorReply, match=r"^LOADING Redis is loading the dataset in memory"):
                replica.call("GET", "old")
        master.talk = fake_master.raw(b"-ERR not now\r\n", close=True)
        end.set()
        wait_until("the load is over", lambda: flags(replica) == ("0", "0"))
        assert replica.call("GET", "old") == b"data"
        assert replica.call("DBSIZE") == 1
