"""Broken requests of clients: the same error text as real Redis, that connection closed, everybody else served."""

from __future__ import annotations

import socket

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


def answer(node: Node, request: bytes, wait_s: float) -> tuple[bytes, bool]:
    """All bytes that come back, and whether the connection was closed by the node."""
    with socket.create_connection((HOST, node.port), 10) as sock:
        sock.sendall(request)
        sock.settimeout(wait_s)
        got = b""
        try:
            while data := sock.recv(65536):
                got += data
        except TimeoutError:
            return got, False
        except ConnectionResetError:
            pass
        return got, True


@pytest.mark.parametrize("what", BROKEN)
def test_protocol_error_as_redis_words_it(both: tuple[Node, Node], what: str) -> None:
    ours, real = both
    bystander = ours.connect()
    theirs = answer(real, BROKEN[what], 5)
    assert answer(ours, BROKEN[what], 5) == theirs
    assert theirs[1], "real Redis does not close: this is no broken request"
    assert bystander.call("PING") == "PONG"
    bystander.close()


@pytest.mark.parametrize("what", TOLERATED)
def test_odd_but_fine_as_redis_answers_it(both: tuple[Node, Node], what: str) -> None:
    ours, real = both
    assert answer(ours, TOLERATED[what], 0.3) == answer(real, TOLERATED[what], 0.3)


def test_http_is_an_attack(both: tuple[Node, Node]) -> None:
    """A browser led to our port by a foreign page is cut before it can write."""
    ours, _ = both
    assert answer(ours, b"POST / HTTP/1.1\r\nHost: x\r\n\r\nSET a 1\r\n", 5) == (b"", True)
    assert "SECURITY ATTACK" in ours.log()


def test_an_unfinished_request_is_bounded(lab: Lab) -> None:
    node = lab.start("pyrepl", directives={"client-query-buffer-limit": "1mb"})
    with socket.create_connection((HOST, node.port), 10) as sock, pytest.raises(OSError):
        sock.sendall(b"*2\r\n$4\r\nECHO\r\n$100000000\r\n")
        for _ in range(400):
            sock.sendall(b"x" * 65536)
    wait_until("the log says so", lambda: "max query buffer length" in node.log())
    assert node.call("PING") == "PONG"


def test_announced_sizes_cost_nothing(lab: Lab) -> None:
    """Two hundred clients that announce a great deal and send nothing must not take memory for it."""
    node = lab.start("pyrepl")
    before = resident_bytes(node)
    socks = [socket.create_connection((HOST, node.port), 10) for _ in range(200)]
    for sock in socks:
        sock.sendall(b"*1000000\r\n$500000000\r\nx")
    assert node.call("PING") == "PONG"
    assert resident_bytes(node) < before + 60_000_000
    for sock in socks:
        sock.close()


def test_unauthenticated_clients_get_small_limits(lab: Lab) -> None:
    """As in Redis: at most 10 words and 16 KiB a word before AUTH."""
    ours, real = (lab.start(kind, directives={"requirepass": "secret"}) for kind in ("pyrepl", "redis7"))
    for request in (b"*11\r\n", b"*1\r\n$16385\r\n", b"*1\r\n$4\r\nPING\r\n"):
        assert answer(ours, request, 1) == answer(real, request, 1)
    assert "secret" not in ours.log()


def test_max_clients(lab: Lab) -> None:
    ours, real = (lab.start(kind, directives={"maxclients": "3"}) for kind in ("pyrepl", "redis7"))
    for node in (ours, real):
        node.hang_up()
    got = []
    for node in (real, ours):
        held = [socket.create_connection((HOST, node.port), 10) for _ in range(3)]
        for sock in held:
            sock.sendall(b"PING\r\n")
            assert sock.recv(100) == b"+PONG\r\n"
        got.append(answer(node, b"", 5))
        for sock in held:
            sock.close()
    assert got[0] == got[1]
    assert got[0][0].startswith(b"-ERR max number of clients reached")
