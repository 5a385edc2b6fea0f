"""CLIENT CAPA and import-mode beside Valkey 9.1."""

from __future__ import annotations

import time
from typing import Any

from tests.peers import compare
from tests.peers.lab import Lab, Node
from tests.peers.wire import ErrorReply, Wire

REDIRECTED = (
    "GET k|SET k 1|PING|CLIENT CAPA REDIRECT|GET k|SET k 1|PING|KEYS *|DBSIZE|PUBLISH a b|MULTI|GET k|EXEC|"
    "EVAL return(1) 0|EVAL_RO return(1) 0|WATCH k|OBJECT ENCODING k|SCAN 0|BLPOP l 0.1|FLUSHALL|RANDOMKEY|EXISTS k|"
    "MEMORY USAGE k|XREAD STREAMS x 0|READONLY|GET k|SET k v|READWRITE|GET k|RESET|GET k|"
    "CLIENT CAPA nonsense|CLIENT CAPA"
)
IMPORTED = (
    "own CLIENT IMPORT-SOURCE ON|own CONFIG SET import-mode yes|own CLIENT IMPORT-SOURCE on|own CLIENT IMPORT-SOURCE x|"
    "own SET k v PX 50|own SET p v PX 50|own SET q v PX 50|own HSET h f v|own PEXPIRE h 50|own SET t v|sleep|"
    "other GET k|other EXISTS k h|other DBSIZE|own GET k|own PTTL k|own EXISTS k h|own HGETALL h|other HGETALL h|"
    "other PTTL k|other KEYS *|other INCR k|other GET k|other PTTL k|own APPEND p w|other GET p|other SET p n NX|"
    "other GET p|own PEXPIREAT q 1000|own GET q|other EXPIRE q 100|other GET q|own SET z 1 PXAT 1000|own GET z|"
    "other GET z|other HSET h g w|other HGETALL h|own RENAME z y|own GET y|other GET y|own CONFIG SET import-mode no|"
    "own GET y|own CLIENT IMPORT-SOURCE OFF|own CLIENT IMPORT-SOURCE ON"
)


def asked(wire: Wire, line: str) -> Any:
    try:
        reply = wire.call(*line.split())
    except ErrorReply as error:
        return str(error)
    return sorted(reply) if line.endswith("KEYS *") else reply


def talk(node: Node, port: int) -> list[tuple[str, Any]]:
    """What a replica says; its master's port is named by a word."""
    wire = node.connect()
    replies = [(line, asked(wire, line)) for line in REDIRECTED.split("|")]
    return [(line, reply.replace(str(port), "PORT") if isinstance(reply, str) else reply) for line, reply in replies]


def test_redirections_are_those_of_valkey(lab: Lab) -> None:
    seen = []
    for kind in ("pyrepl", "valkey91"):
        master = lab.start(kind)
        replica = lab.start(kind, master)
        replica.wait_link_up()
        master.call("SET", "k", "v")
        compare.settle(master, replica)
        seen.append(talk(replica, master.port))
    assert seen[0] == seen[1]
    assert ("GET k", "REDIRECT 127.0.0.1:PORT") in seen[0]


def test_import_mode_is_that_of_valkey(lab: Lab) -> None:
    seen = []
    for kind in ("pyrepl", "valkey91"):
        node = lab.start(kind)
        wires = {"own": node.connect(), "other": node.connect()}
        replies = []
        for line in IMPORTED.split("|"):
            who, _, words = line.partition(" ")
            if who == "sleep":
                time.sleep(0.3)
            else:
                replies.append((line, asked(wires[who], words)))
        seen.append(replies)
    assert seen[0] == seen[1]


def test_replicas_follow_a_master_in_import_mode(lab: Lab) -> None:
    master = lab.start("pyrepl", directives={"import-mode": "yes"})
    replicas = [lab.start(kind, master) for kind in ("pyrepl", "valkey91", "redis8")]
    for replica in replicas:
        replica.wait_link_up()
    for number in range(20):
        master.call("SET", f"k{number}", "5", "PX", 1)
        master.call("HSET", f"h{number}", "f", "v")
    time.sleep(0.1)
    for number in range(0, 20, 2):
        master.call("INCR", f"k{number}")
    for replica in replicas:
        compare.settle(master, replica)
        compare.assert_equal(master, replica)
    assert master.call("DBSIZE") == 40 and master.call("GET", "k0") == b"1"
