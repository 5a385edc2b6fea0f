"""Change streams of an ordinary Redis: subscribers that are cut go on elsewhere, lose nothing, get nothing twice."""

from __future__ import annotations

import socket
from itertools import islice

import pytest

from tests.interop.following import Fact, Follower, words_of
from tests.interop.pair import BACKLOG
from tests.peers import compare
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.ports import free_port
from tests.peers.stream_judge import StreamJudge
from tests.peers.writer import Writer


def with_port(lab: Lab, master: Node) -> tuple[Node, int]:
    """A pyrepl replica with a stream port."""
    port = free_port()
    node = lab.start("pyrepl", master, directives={**BACKLOG, "stream-port": str(port)})
    node.wait_link_up()
    return node, port


def streamed(judge: StreamJudge, start: int) -> list[tuple[int, list[tuple[int, list[bytes]]]]]:
    return [fact for fact in judge.facts() if fact[0] > start]


def check(follower: Follower, expected: list[tuple[int, list[tuple[int, list[bytes]]]]], facts: list[Fact]) -> None:
    got = [words_of(fact) for fact in facts]
    assert len(expected) > 100 and follower.connections > 5
    assert [token for token, _ in got] == [token for token, _ in expected]
    assert got == expected


@pytest.mark.parametrize("kind", ["redis8", "valkey8"])
def test_cut_at_random_and_resumed_anywhere_through_a_promotion(lab: Lab, kind: str) -> None:
    """The union of rows is the replication stream, of the real master and then of the promoted node, row by row."""
    real = lab.start(kind, directives=BACKLOG)
    real.call("SET", "first", "1")
    one, one_port = with_port(lab, real)
    two, two_port = with_port(lab, real)
    three, three_port = with_port(lab, one)
    ports = [one_port, two_port, three_port]
    compare.settle(real, three)
    start = one.offset()
    with StreamJudge(real) as judge:
        followers = [Follower("commands", ports, judge.token(start), seed) for seed in range(3)]
        for follower in followers:
            follower.start()
        with Writer(real, seed=3, per_second=3000) as writer:
            wait_until("something was written", lambda: writer.written > 2500)
        compare.settle(real, two)
        compare.settle(real, three)
        fork = real.offset()
        judge.wait_for(fork)
        before = [fact for fact in streamed(judge, start) if fact[0] <= fork]
    one.call("REPLICAOF", "NO", "ONE")
    two.call("REPLICAOF", "127.0.0.1", str(one.port))
    wait_until("the others follow the promoted node", lambda: two.link_is_up() and three.link_is_up())
    old, begun = one.info("replication")["master_replid"], one.offset()
    with StreamJudge(one, (old, begun)) as judge:
        with Writer(one, seed=4, per_second=3000) as writer:
            wait_until("something more was written", lambda: writer.written > 2500)
        compare.settle(one, two)
        compare.settle(one, three)
        end = one.offset()
        judge.wait_for(end)
        after = streamed(judge, begun)
    last = max(token for token, _ in after)
    for follower in followers:
        check(follower, before + after, follower.finish(last))
    assert two.stat("sync_full") == three.stat("sync_full") == 0


@pytest.mark.parametrize("kind", ["pyrepl", "redis8"])
def test_a_master_that_comes_back_without_its_data(lab: Lab, kind: str) -> None:
    """Its offsets begin anew, and a number of before would lie amid the new rows: it is refused, here and below it."""
    ports = {name: free_port() for name in ("master", "replica")}
    directives = {"save": "", **({"stream-port": str(ports["master"])} if kind == "pyrepl" else {})}
    master = lab.start(kind, directives=directives)
    below = lab.start("pyrepl", master, directives={**BACKLOG, "stream-port": str(ports["replica"])})
    below.wait_link_up()
    asked = [port for name, port in ports.items() if kind == "pyrepl" or name == "replica"]
    for key in "abc":
        master.call("SET", key, "1")
    compare.settle(master, below)
    tokens = [int(line.split()[2]) for line in said(asked[0], "REPLICATE keys 0", 3) if line.startswith("RDATA")]
    for port in asked:
        assert said(port, f"REPLICATE keys {tokens[0]}", 2)[-1].startswith(f"RDATA keys {tokens[2]} ")
    master.kill()
    again = lab.start(kind, directives=directives, port=master.port)
    for key in "uvwxyz":
        again.call("SET", key, "1")
    wait_until(
        "the replica follows it", lambda: below.link_is_up() and below.info("keyspace") == again.info("keyspace")
    )
    while again.offset() <= tokens[-1] // 100_000:
        again.call("SET", "last", "1")
    compare.settle(again, below)
    for port in asked:
        for token in tokens:
            (line,) = said(port, f"REPLICATE keys {token}", 1)
            assert line.startswith(f"ERROR FORKED token {token} is of another history: ")
        assert said(port, "REPLICATE keys NOW", 1)[0].startswith("POSITION keys ")
    if kind == "pyrepl":
        rows = [line.split(" ", 3)[3] for line in said(asked[0], "REPLICATE keys 0", 6)]
        assert rows == [f'[0,"{key}","set"]' for key in "uvwxyz"]


def said(port: int, line: str, count: int) -> list[str]:
    """What a node answers to a line: so many lines, without its greeting and PING."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as sock, sock.makefile("rb") as lines:
        sock.sendall(f"{line}\n".encode())
        answers = (line.decode().rstrip("\n") for line in lines if not line.startswith((b"SERVER ", b"PING ")))
        return list(islice(answers, count))


def test_a_thousand_subscribers_and_one_that_never_reads(lab: Lab) -> None:
    """Each of the thousand gets every row, the silent one is cut, and the node goes on in bounded memory."""
    port = free_port()
    directives = {"stream-port": str(port), "repl-backlog-size": "16mb", "stream-output-buffer-limit": "1mb"}
    node = lab.start("pyrepl", directives=directives)
    before = int(node.info("memory")["used_memory_rss"])
    crowd = [subscribe(port, "keys") for _ in range(1000)]
    silent = subscribe(port, "commands")
    wait_until("all follow", lambda: node.info("streams")["stream_clients"] == "1001")
    for number in range(100):
        node.call("SET", f"k{number}", "x" * 100_000)
    wait_until("it is cut", lambda: node.info("streams")["stream_output_limit_disconnections"] == "1")
    for sock in crowd:
        with sock, sock.makefile("rb") as lines:
            rows = (line.split(b" ", 3)[3] for line in lines if line.startswith(b"RDATA "))
            assert list(islice(rows, 100)) == [b'[0,"k%d","set"]\n' % number for number in range(100)]
    silent.close()
    assert int(node.info("memory")["used_memory_rss"]) - before < 100 << 20
    wait_until("all are gone", lambda: node.info("streams")["stream_clients"] == "0")
    assert int(node.info("streams")["stream_rows_sent"]) >= 100_000


def subscribe(port: int, stream: str) -> socket.socket:
    """A connection that follows a stream from now on."""
    sock = socket.create_connection(("127.0.0.1", port), timeout=60)
    sock.sendall(f"REPLICATE {stream} NOW\n".encode())
    received = b""
    while b"POSITION " not in received:
        received += sock.recv(4096)
    return sock
