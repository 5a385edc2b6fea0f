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
        followers = [Follower("commands", ports, start, seed) for seed in range(3)]
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
