"""Broken requests of clients: the same error text as real Redis, that connection closed, everybody else served."""

from __future__ import annotations

import socket
from contextlib import suppress

import pytest

from tests.fault.processes import resident_bytes
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.ports import HOST

BROKEN = {
    "count of letters": b"*abc\r\n",
    "count beyond the limit": b"*2147483648\r\n",
    "count beyond 32 bits": b"*99999999999\r\n",
    "no dollar": b"*1\r\nPING\r\n",
    "another mark": b"*1\r\n:4\r\nPING\r\n",
    "size of letters": b"*1\r\n$abc\r\n",
    "negative size": b"*1\r\n$-5\r\n",
    "size beyond the limit": b"*1\r\n$536870913\r\n",
    "size beyond 64 bits": b"*1\r\n$99999999999999999999\r\n",
    "size with a plus": b"*1\r\n$+4\r\nPING\r\n",
    "unbalanced quotes": b'SET a "b\r\n',
    "quote within a word": b'SET a "b"c\r\n',
    "inline too long": b"x" * 70_000,
    "count too long": b"*" + b"1" * 70_000,
    "size too long": b"*1\r\n$" + b"1" * 70_000,
}

TOLERATED = {
    "empty line": b"\r\nPING\r\n",
    "count of nothing": b"*0\r\nPING\r\n",
    "negative count": b"*-1\r\nPING\r\n",
    "only a newline": b"PING\n",
    "quotes and escapes": b'ECHO "a\\x41\\n\\"" \r\n',
    "single quotes": b"ECHO 'it\\'s'\r\n",
    "no arguments": b"GET\r\n",
    "unknown command": b"*2\r\n$10\r\nFROBNICATE\r\n$1\r\na\r\n",
    "unknown command, binary": b"*2\r\n$3\r\na\r\n\r\n$5\r\nb\x00\xff'\"\r\n",
}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> object:
    with Lab(tmp_path_factory.mktemp("requests")) as lab:
        yield lab.start("pyrepl"), lab.start("redis7")


def answer(node: Node, request: bytes) -> bytes:
    """All bytes that come back until the node closes the connection. Raises TimeoutError if it does not."""
    return answer_up_to(node, request, b"")[0]


def answer_up_to(node: Node, request: bytes, end: bytes) -> tuple[bytes, bool]:
    """All bytes that come back up to `end`, or until the node closes the connection, and whether it did."""
    with socket.create_connection((HOST, node.port), 60) as sock:
        sock.sendall(request)
        got = b""
        with suppress(ConnectionResetError):
            while data := sock.recv(65536):
                got += data
                if end and got.endswith(end):
                    return got, False
        return got, True


@pytest.mark.parametrize("what", BROKEN)
def test_protocol_error_as_redis_words_it(both: tuple[Node, Node], what: str) -> None:
    ours, real = both
    bystander = ours.connect()
    assert answer(ours, BROKEN[what]) == answer(real, BROKEN[what])
    assert bystander.call("PING") == "PONG"
    bystander.close()


@pytest.mark.parametrize("what", TOLERATED)
def test_odd_but_fine_as_redis_answers_it(both: tuple[Node, Node], what: str) -> None:
    ours, real = both
    request = TOLERATED[what] + b"ECHO this-is-all\r\n"
    theirs = answer_up_to(real, request, b"this-is-all\r\n")
    assert answer_up_to(ours, request, b"this-is-all\r\n") == theirs
    assert not theirs[1], "real Redis closes: this is a broken request"


def test_http_is_an_attack(both: tuple[Node, Node]) -> None:
    """A browser led to our port by a foreign page is cut before it can write."""
    ours, _ = both
    assert answer(ours, b"POST / HTTP/1.1\r\nHost: x\r\n\r\nSET a 1\r\n") == b""
    assert "SECURITY ATTACK" in ours.log()


def test_an_unfinished_request_is_bounded(lab: Lab) -> None:
    node = lab.start("pyrepl", directives={"client-query-buffer-limit": "1mb"})
    with socket.create_connection((HOST, node.port), 60) as sock, pytest.raises(OSError):
        sock.sendall(b"*2\r\n$4\r\nECHO\r\n$100000000\r\n")
        for _ in range(400):
            sock.sendall(b"x" * 65536)
    wait_until("the log says so", lambda: "max query buffer length" in node.log())
    assert node.call("PING") == "PONG"


def test_announced_sizes_cost_nothing(lab: Lab) -> None:
    """Two hundred clients that announce a great deal and send nothing must not take memory for it."""
    node = lab.start("pyrepl")
    before = resident_bytes(node)
    socks = [socket.create_connection((HOST, node.port), 60) for _ in range(200)]
    for sock in socks:
        sock.sendall(b"*1000000\r\n$500000000\r\nx")
    assert node.call("PING") == "PONG"
    assert resident_bytes(node) < before + 60_000_000
    for sock in socks:
        sock.close()


def test_unauthenticated_clients_get_small_limits(lab: Lab) -> None:
    """As in Redis: at most 10 words and 16 KiB a word before AUTH."""
    ours, real = (lab.start(kind, directives={"requirepass": "secret"}) for kind in ("pyrepl", "redis7"))
    for request in (b"*11\r\n", b"*1\r\n$16385\r\n"):
        assert answer(ours, request) == answer(real, request)
    then = b"*1\r\n$4\r\nPING\r\nAUTH secret\r\n"
    assert answer_up_to(ours, then, b"+OK\r\n") == answer_up_to(real, then, b"+OK\r\n")
    assert "secret" not in ours.log()


def test_max_clients(lab: Lab) -> None:
    ours, real = (
        lab.start(kind, directives={"maxclients": "3", **more})
        for kind, more in (("pyrepl", {"maxclients-reserve": "0"}), ("redis7", {}))
    )
    for node in (ours, real):
        node.hang_up()
    got = []
    for node in (real, ours):
        held: list[socket.socket] = []
        # Those of the start may not have been missed yet, so a seat may take more than one try.
        wait_until("all three are served", lambda node=node, held=held: served(node, held) == 3)  # type: ignore[misc]
        got.append(answer(node, b""))
        for sock in held:
            sock.close()
    assert got[0] == got[1]
    assert got[0].startswith(b"-ERR max number of clients reached")


def served(node: Node, held: list[socket.socket]) -> int:
    """How many connections it serves, after one try more."""
    sock = socket.create_connection((HOST, node.port), 60)
    sock.sendall(b"PING\r\n")
    if sock.recv(100) == b"+PONG\r\n":
        held.append(sock)
    else:
        sock.close()
    return len(held)
