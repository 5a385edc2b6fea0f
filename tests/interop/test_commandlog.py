"""COMMANDLOG beside Valkey 9.1: which commands are large, and by how many bytes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.peers.lab import Lab, Node
from tests.peers.wire import ErrorReply

SETTINGS = {"commandlog-request-larger-than": "100", "commandlog-reply-larger-than": "50"}
WORDS = frozenset((b"SET", b"GET", b"MGET", b"HSET", b"HGETALL", b"EVAL", b"AUTH"))


def entries(node: Node, kind: str) -> list[tuple[int, list[bytes]]]:
    """(bytes, words) of each entry of the commands that both sides are sent."""
    return [(amount, argv) for _, _, amount, argv, *_ in node.call("COMMANDLOG", "GET", -1, kind) if argv[0] in WORDS]


def talk(node: Node) -> None:
    wire = node.connect()
    for size in (*range(66, 76), 5000):
        wire.call("SET", "k", "x" * size)
        wire.call("GET", "k")
        wire.call("SET", "k", "y" * (size - 26))
        wire.call("GET", "k")
    wire.call("MGET", "k", "k", "nosuch")
    wire.call("HSET", "h", *[word for number in range(20) for word in (f"f{number}", "v")])
    wire.call("HELLO", 3)
    wire.call("HGETALL", "h")
    wire.call("EVAL", "return 1" + " " * 80, 0)
    wire.send(b"".join(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n%b\r\n" % (size, b"z" * size) for size in (70, 80, 90)))
    for _ in range(3):
        wire.read()


@pytest.mark.parametrize("kind", ["large-request", "large-reply"])
def test_the_same_commands_are_large(lab: Lab, kind: str) -> None:
    nodes = [lab.start(software, directives=SETTINGS) for software in ("pyrepl", "valkey91")]
    for node in nodes:
        talk(node)
    ours, theirs = (entries(node, kind) for node in nodes)
    assert ours == theirs
    assert len(ours) >= 9


def test_secrets_are_not_logged(lab: Lab) -> None:
    node = lab.start("pyrepl", directives={"commandlog-request-larger-than": "0"})
    wire = node.connect()
    for words in (("AUTH", "secret"), ("AUTH", "a", "secret", "secret"), ("AUTH", "nobody", "secret")):
        with pytest.raises(ErrorReply):
            wire.call(*words)
    wire.call("CONFIG", "SET", "requirepass", "secret")
    wire.call("AUTH", "secret")
    shown: Any = wire.call("COMMANDLOG", "GET", -1, "large-request")
    assert [argv[0] for _, _, _, argv, *_ in shown][:2] == [b"AUTH", b"CONFIG"]
    assert b"secret" not in b"".join(word for entry in shown for word in entry[3])
