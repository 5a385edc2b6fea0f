"""Who hangs up the second connection of a full sync on two, of real servers: the end of the table in docs/psync.md.

A replica is watched through a proxy that does not tell it when the master has hung up; a master by a replica that is
played here, and never hangs up itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.interop import channels
from tests.peers.kinds import REAL, REDIS, TABLE, VALKEY
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.proxy import RDB, Proxy
from tests.peers.wire import Wire

KEYS: Final = 4_000
WITH_TWO: Final = {dialect: [kind for kind in REAL if dialect in TABLE[kind].dialects] for dialect in (REDIS, VALKEY)}
CHILD_IS_DONE: Final = "should be disconnected asap"
"""What a master of either make logs of a connection that has had its snapshot."""


class PlayedReplica:
    """Both connections of a first sync with `master`, up to the last byte of the snapshot."""

    def __init__(self, master: Node, capability: str) -> None:
        self.main, self.second = Wire(master.port), Wire(master.port)
        self.main.call("REPLCONF", "capa", "eof", "capa", "psync2", "capa", capability)
        told = self.main.call("PSYNC", "?", "-1").split()
        named = ["main-ch-client-id", told[1]] if told[1:] else []
        self.second.call("REPLCONF", "capa", "eof", "rdb-only", "1", "rdb-channel", "1", *named)
        self.second.sock.sendall(b"PSYNC ? -1\r\n" if named else b"SYNC\r\n")
        self.place = self._line()
        mark = self._line().removeprefix(b"$EOF:")
        last = b""
        while last != mark:
            byte = self.second.file.read(1)
            assert byte, "the snapshot ended before its mark"
            last = last[1 - len(mark) :] + byte

    def _line(self) -> bytes:
        """The next line of the second connection; empty ones are signs of life."""
        while not (line := self.second.file.readline().strip()):
            pass
        return line

    def was_hung_up(self) -> bool:
        """Has the master closed the second connection? It has nothing more to say on it."""
        self.second.sock.setblocking(False)
        try:
            return self.second.sock.recv(1) == b""
        except BlockingIOError:
            return False


def start_master(lab: Lab, kind: str) -> Node:
    master = lab.start(kind, directives=directives_for(kind))
    master.call("DEBUG", "POPULATE", KEYS, "key", 100)
    return master


def directives_for(kind: str) -> dict[str, str]:
    dialect = TABLE[kind].dialects[0]
    return {"repl-diskless-sync": "yes", "repl-diskless-load": "swapdb", **channels.directives(kind, dialect)}


@pytest.mark.parametrize("kind", [*WITH_TWO[REDIS], *WITH_TWO[VALKEY]])
def test_a_replica_hangs_up_without_waiting_for_its_master(kind: str, tmp_path: Path) -> None:
    with Lab(tmp_path) as lab:
        master = start_master(lab, kind)
        with Proxy(master.port) as proxy:
            proxy.withhold_hang_ups("down")
            replica = lab.start(kind, proxy.port, directives_for(kind))
            replica.wait_link_up()
            channels.prove(master, replica, TABLE[kind].dialects[0])
            wait_until("the replica has hung up", lambda: "up" in proxy.hung_up(RDB))


@pytest.mark.parametrize("kind", WITH_TWO[REDIS])
def test_redis_as_master_hangs_up_when_its_child_is_done(kind: str, tmp_path: Path) -> None:
    with Lab(tmp_path) as lab:
        master = start_master(lab, kind)
        replica = PlayedReplica(master, "rdb-channel-repl")
        wait_until("the master has hung up", replica.was_hung_up)
        assert CHILD_IS_DONE in master.log()


@pytest.mark.parametrize("kind", WITH_TWO[VALKEY])
def test_valkey_as_master_waits_until_it_is_asked_for_the_stream(kind: str, tmp_path: Path) -> None:
    with Lab(tmp_path) as lab:
        master = start_master(lab, kind)
        replica = PlayedReplica(master, "dual-channel")
        master.wait_log(CHILD_IS_DONE)
        assert not replica.was_hung_up()
        offset, replid, _, number = replica.place.removeprefix(b"$ENDOFF:").split()
        replica.main.call("REPLCONF", "set-rdb-client-id", number)
        assert not replica.was_hung_up()
        assert replica.main.call("PSYNC", replid, int(offset) + 1).startswith("CONTINUE")
        wait_until("the master has hung up", replica.was_hung_up)
