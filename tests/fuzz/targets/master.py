"""A hostile master for a whole node: snapshots and streams that are nearly right, cut off anywhere.

Whatever comes, the node lives, answers, reports no internal error and saves what it holds so that it can be loaded.
"""

from __future__ import annotations

import atexit
import socket
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Final

from pyrepl.keyspace.digest import keyspace_digest
from tests.fault.fake_master import REPLID, FakeMaster
from tests.fuzz.hostile import Hostile
from tests.fuzz.targets.loading import chunks_of, loaded
from tests.fuzz.targets.streams import wire
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.ports import HOST
from tests.peers.wire import ErrorReply

PROGRAM: Final = [sys.executable, "-P", "-m", "pyrepl_cli.main"]
WAIT_S: Final = 120.0
BAD_WORDS: Final = ("please report it", "AddressSanitizer", "Traceback (most recent call last)")
DIRECTIVES: Final = {"databases": "16", "repl-timeout": "10", "repl-diskless-load": "on-empty-db"}
LOADS: Final = ("disabled", "swapdb", "on-empty-db")

_running: list[tuple[Node, FakeMaster]] = []


def case(rng: Random) -> None:
    if not _running:
        _running.append(_start())
    node, master = _running[0]
    talked = threading.Event()
    chunks = conversation(rng)

    def talk(sock: socket.socket) -> None:
        try:
            for chunk in chunks:
                sock.sendall(chunk)
            sock.shutdown(socket.SHUT_WR)
            while sock.recv(4096):
                pass
        except OSError:
            # It has hung up before all was said: the snapshot or the stream was too bad.
            pass
        finally:
            talked.set()

    master.talk = talk
    node.call("CONFIG", "SET", "repl-diskless-load", rng.choice(LOADS))
    node.call("REPLICAOF", HOST, master.port)
    assert talked.wait(WAIT_S), f"the node does not ask, or never ends the connection:\n{node.tail()}"
    assert node.alive(), f"the node ended with {node.process.poll()}:\n{node.tail(80)}"
    wait_until("it leaves the master", lambda: leaves(node), WAIT_S)
    check(node)
    node.call("FLUSHALL")


def leaves(node: Node) -> bool:
    """Is it a master now? Not while it loads what the master has told it once more."""
    try:
        node.call("REPLICAOF", "NO", "ONE")
    except ErrorReply as error:
        assert str(error).startswith("LOADING"), error
        return False
    return node.info("replication")["role"] == "master"


def conversation(rng: Random) -> list[bytes]:
    """What the master says from its answer to PSYNC on."""
    hostile = Hostile(rng)
    snapshot = hostile.snapshot()
    form = rng.random()
    if form < 0.8:
        size = len(snapshot) + (rng.choice((1, -1, 100)) if rng.random() < 0.1 else 0)
        mark = rng.randbytes(20).hex().encode()
        body = rng.choice((b"$%d\r\n%b" % (size, snapshot), b"$EOF:%b\r\n%b%b" % (mark, snapshot, mark)))
        data = b"+FULLRESYNC %b %d\r\n" % (REPLID, rng.choice((0, 1, 1 << 40))) + body
    elif form < 0.9:
        data = b"+CONTINUE %b\r\n" % REPLID
    else:
        data = rng.choice(
            (b"", b"+CONTINUE\r\n", b"+FULLRESYNC x 1\r\n", b"-LOADING\r\n", b"$5\r\nabcde", b"+FULLRESYNC")
        )
    data += wire(rng) if rng.random() < 0.8 else b""
    if rng.random() < 0.2:
        data = hostile.bruised(data)
    return chunks_of(rng, data)


def check(node: Node) -> None:
    """It serves, and what it holds can be saved and loaded."""
    with suppress(ErrorReply):
        node.call("DISCARD")
    log = node.log()
    for words in BAD_WORDS:
        assert words not in log, f"{words!r} in the log:\n{node.tail(80)}"
    # Keys and fields whose time has come may go between the two, and are gone in the end.
    wait_until("what was saved is what it holds", lambda: saves_what_it_holds(node), WAIT_S)


def saves_what_it_holds(node: Node) -> bool:
    digest = node.call("DEBUG", "DIGEST")
    node.call("SAVE")
    data = (node.folder / "dump.rdb").read_bytes()
    back = loaded(data, [data])
    assert back is not None, "what was saved is refused"
    return bool(keyspace_digest(back) == digest)


def _start() -> tuple[Node, FakeMaster]:
    folder = Path(tempfile.mkdtemp(prefix="fuzz-master-"))
    lab = Lab(folder)
    atexit.register(lab.close)
    node = lab.start("pyrepl", directives=DIRECTIVES, program=PROGRAM)
    return node, FakeMaster(lambda sock: None)
