"""Users beside real servers: who follows whom with which rights, what CONFIG REWRITE and ACL SAVE leave behind, and
sessions that end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.peers import compare
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.wire import ErrorReply, Wire

RULES = (
    "on >p1 #" + "ab" * 32 + " ~app:* %R~shared* &news.* +@read -keys +set +client|list +select|0",
    "on nopass allkeys allchannels allcommands -@dangerous",
    "off resetchannels (~a +get) (%W~b* +@write -del)",
)


def asked(wire: Wire, *words: str) -> Any:
    try:
        return wire.call(*words)
    except ErrorReply as error:
        return str(error)


def set_users(node: Node) -> Any:
    for number, rules in enumerate(RULES):
        node.call("ACL", "SETUSER", f"user{number}", *rules.split())
    return node.call("ACL", "LIST")


def test_a_rewritten_configuration_is_read_by_either(lab: Lab, tmp_path: Path) -> None:
    """Each rewrites its file; the other then starts with the same users."""
    rewritten: dict[str, Path] = {}
    for kind in ("pyrepl", "redis8"):
        rewritten[kind] = path = tmp_path / f"{kind}.conf"
        path.write_text("acllog-max-len 7\n")
        node = lab.start(kind, directives={"config": str(path), "requirepass": "pw"})
        users = set_users(node)
        assert node.call("CONFIG", "REWRITE") == "OK"
        assert path.read_text().count("\nuser ") == 4
        node.end()
    for kind, other in (("pyrepl", "redis8"), ("redis8", "pyrepl")):
        lines = [line for line in rewritten[kind].read_text().splitlines() if line.startswith(("user ", "acllog"))]
        path = tmp_path / f"for-{other}.conf"
        path.write_text("\n".join([*lines, ""]))
        node = lab.start(other, directives={"config": str(path), "requirepass": "pw"})
        assert node.call("ACL", "LIST") == users
        assert node.call("CONFIG", "GET", "acllog-max-len") == [b"acllog-max-len", b"7"]


def test_a_user_file_goes_both_ways(lab: Lab, tmp_path: Path) -> None:
    path = tmp_path / "users.acl"
    path.write_text("")
    seen: list[Any] = []
    for kind in ("pyrepl", "redis8", "pyrepl"):
        node = lab.start(kind, directives={"aclfile": str(path)})
        if not seen:
            set_users(node)
            assert node.call("ACL", "SAVE") == "OK"
        seen.append(node.call("ACL", "LIST"))
        assert node.call("ACL", "LOAD") == "OK"
        seen.append(node.call("ACL", "LIST"))
        node.end()
    assert all(users == seen[0] for users in seen) and len(seen[0]) == 4


@pytest.mark.parametrize("kinds", [("pyrepl", "redis8"), ("pyrepl", "valkey8"), ("redis8", "pyrepl"), ("pyrepl",) * 2])
def test_a_replica_is_a_user(lab: Lab, kinds: tuple[str, str]) -> None:
    """With +psync +replconf +ping alone a replica follows; without +psync it does not, and the log says what lacks."""
    master = lab.start(kinds[0])
    master.call("ACL", "SETUSER", "repl", "on", ">pw", "+psync", "+replconf", "+ping")
    master.call("SET", "k", "v")
    replica = lab.start(kinds[1], master, {"masteruser": "repl", "masterauth": "pw"})
    replica.wait_link_up()
    compare.settle(master, replica)
    master.call("ACL", "SETUSER", "repl", "-psync")
    assert replica.link_is_up(), "a link that stands is not asked again"
    replica.call("REPLICAOF", "NO", "ONE")
    replica.call("REPLICAOF", "127.0.0.1", master.port)
    wait_until("a refusal", lambda: b"psync" in str(master.call("ACL", "LOG")).encode())
    if kinds[1] == "pyrepl":
        replica.wait_log("needs the rights +psync +replconf +ping")
    master.call("ACL", "SETUSER", "repl", "+psync")
    replica.wait_link_up()


def test_a_replica_that_may_not_acknowledge_is_cut_off(lab: Lab) -> None:
    """The refusal of its REPLCONF ACK must not get into the stream: the link ends, and comes back with the right."""
    master = lab.start("pyrepl")
    master.call("ACL", "SETUSER", "repl", "on", ">pw", "+psync", "+replconf", "+ping")
    replicas = [lab.start(kind, master, {"masteruser": "repl", "masterauth": "pw"}) for kind in ("pyrepl", "redis8")]
    for replica in replicas:
        replica.wait_link_up()
    master.call("ACL", "SETUSER", "repl", "-replconf")
    for replica in replicas:
        wait_until("the link is down", lambda replica=replica: not replica.link_is_up())  # type: ignore[misc]
    master.call("SET", "k", "v")
    assert "Replica generated a reply to command 'replconf'" in master.log()
    master.call("ACL", "SETUSER", "repl", "+replconf")
    for replica in replicas:
        replica.wait_link_up()
        compare.settle(master, replica)
    assert master.stat("sync_partial_ok") >= 2 and master.stat("sync_full") == 2


def test_sessions_end_as_with_redis(lab: Lab) -> None:
    """What is left of connections when their users go, or lose their channels; each node is told the same."""
    seen = []
    for kind in ("pyrepl", "redis8"):
        node = lab.start(kind)
        set_users(node)
        said: list[Any] = []
        listener, other, gone = node.connect(), node.connect(), node.connect()
        for wire in (listener, other, gone):
            said.append(asked(wire, "AUTH", "user1", "x"))
        said.append(asked(listener, "SUBSCRIBE", "news.1"))
        node.call("ACL", "SETUSER", "user1", "resetchannels", "&other")
        said.append(listener.read_to_end())
        said.append(asked(other, "SUBSCRIBE", "news.1"))
        said.append(asked(other, "GET", "k"))
        said.append(node.call("ACL", "DELUSER", "user1", "user2"))
        said += [other.read_to_end(), gone.read_to_end()]
        said.append([node.stat(f"acl_access_denied_{what}") for what in ("auth", "cmd", "key", "channel")])
        strange = node.connect()
        said += [asked(strange, "AUTH", "user0", "wrong"), asked(strange, "AUTH", "user2", "x")]
        said += [asked(strange, "HELLO", "2", "AUTH", "user0", "p1")[:2], asked(strange, "ACL", "WHOAMI")]
        node.call("ACL", "SETUSER", "user0", "off")
        said += [asked(strange, "GET", "app:1"), asked(strange, "AUTH", "user0", "p1")]
        said += [node.stat("acl_access_denied_auth"), asked(strange, "RESET"), asked(strange, "ACL", "WHOAMI")]
        seen.append(said)
    assert seen[0] == seen[1]


def test_blocked_clients_are_asked_again(lab: Lab) -> None:
    """Who waits for a key and loses the right to it gets an error when it comes."""
    seen: list[Any] = []
    for kind in ("pyrepl", "redis8"):
        node = lab.start(kind)
        node.call("ACL", "SETUSER", "bob", "on", "nopass", "+@all", "~*")
        bob = node.connect()
        bob.call("AUTH", "bob", "x")
        bob.send(b"*3\r\n$5\r\nBLPOP\r\n$1\r\nl\r\n$1\r\n0\r\n")
        wait_until("bob waits", lambda node=node: node.info("clients")["blocked_clients"] == "1")  # type: ignore[misc]
        node.call("ACL", "SETUSER", "bob", "resetkeys")
        node.call("RPUSH", "l", "v")
        seen.append(str(bob.read()))
        seen.append(node.call("LLEN", "l"))
    assert seen[:2] == seen[2:]
