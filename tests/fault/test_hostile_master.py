"""A master that says anything: the node survives it, calls nothing a defect of its own, and follows an honest one."""

from __future__ import annotations

import random
import socket
import struct

import pytest

from tests.fault import fake_master
from tests.fault.fake_master import EMPTY_RDB, REPLID, FakeMaster, Talk
from tests.fault.test_bad_master import SELECT_0, follow
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.wire import ErrorReply

CONVERSATIONS = 120
MARK = b"0123456789" * 4
FULL = b"+FULLRESYNC %s 0\r\n" % REPLID
SIZED = b"$%d\r\n%s" % (len(EMPTY_RDB), EMPTY_RDB)
MARKED = b"$EOF:%s\r\n%s%s" % (MARK, EMPTY_RDB, MARK)
WRITE = fake_master.stream(SELECT_0, ("SET", "a", "1"))

WORDS = (
    b"+OK\r\n",
    b"\n",
    b"-ERR no\r\n",
    b"-NOAUTH Authentication required.\r\n",
    b"+CONTINUE\r\n",
    b"+CONTINUE %s\r\n" % REPLID,
    FULL,
    FULL + SIZED,
    FULL + SIZED + WRITE,
    FULL + MARKED,
    FULL + MARKED + b"more",
    FULL + MARKED[:-60],
    b"+RDBCHANNELSYNC 7\r\n",
    b"+DUALCHANNELSYNC\r\n",
    b"$ENDOFF:0 %s 0 7\r\n" % REPLID + MARKED + b"more",
    SIZED,
    MARKED,
    WRITE,
    b"*1\r\n$5\r\nMULTI\r\n",
    b"*1\r\n$4\r\nPI",
    b"*2\r\n:1\r\n",
    fake_master.stream(("SHUTDOWN", "NOSAVE")),
    fake_master.stream(("REPLICAOF", "NO", "ONE")),
    fake_master.stream(("LPUSH", "a", "1")),
    fake_master.stream(("FROBNICATE",)),
    b"\x00\xff\r\n",
)


def conversation(rng: random.Random) -> Talk:
    """A few words, in one or several pieces, and the end of the connection, sometimes by a reset."""

    def talk(sock: socket.socket) -> None:
        data = b"".join(rng.choice(WORDS) for _ in range(rng.randint(1, 4)))
        while data:
            size = rng.choice((1, 50, 100_000))
            sock.sendall(data[:size])
            data = data[size:]
        if rng.random() < 0.2:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return talk


def name_again(replica: Node, port: int) -> None:
    """REPLICAOF, so that the replica does not wait for its pause to end. While it loads, it takes none."""

    def is_taken() -> bool:
        try:
            replica.call("REPLICAOF", "127.0.0.1", port)
        except ErrorReply as error:
            assert str(error).startswith("LOADING "), error
            return False
        return True

    wait_until("the replica takes REPLICAOF", is_taken)


@pytest.mark.parametrize("load", ["disabled", "on-empty-db", "swapdb"])
def test_a_master_that_says_anything(lab: Lab, load: str) -> None:
    with FakeMaster(conversation(random.Random(f"hostile {load}"))) as master:
        replica = follow(
            lab, master, repl_diskless_load=load, repl_rdb_channel="yes", dual_channel_replication_enabled="yes"
        )
        for turn in range(1, CONVERSATIONS + 1):
            name_again(replica, master.port)
            wait_until(f"conversation {turn}", lambda turn=turn: len(master.asked) >= turn)  # type: ignore[misc]
        master.talk = fake_master.snapshot(EMPTY_RDB, WRITE)
        name_again(replica, master.port)
        wait_until("it follows an honest one", lambda: replica.link_is_up() and replica.offset() == len(WRITE))
        assert replica.call("GET", "a") == b"1"
        assert "Internal error" not in replica.log()
        assert "Traceback" not in replica.log()


@pytest.mark.parametrize("load", ["disabled", "on-empty-db", "swapdb"])
def test_bytes_behind_the_snapshot_of_the_second_connection(lab: Lab, load: str) -> None:
    """What came with them is not loaded: the link has ended, and the data is what its position says."""

    def talk(sock: socket.socket) -> None:
        is_main = len(master.asked) % 2
        fake_master.raw(b"+RDBCHANNELSYNC 7\r\n" if is_main else FULL + MARKED + b"more")(sock)

    with FakeMaster(talk) as master:
        replica = follow(lab, master, repl_diskless_load=load, repl_rdb_channel="yes")
        replica.wait_log("bytes came behind the snapshot on its connection")
        assert "Internal error" not in replica.log()
        assert replica.call("PING") == "PONG"
