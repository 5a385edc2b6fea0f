"""Redis's and Valkey's own Sentinel over pyrepl nodes: it promotes a replica when the master goes, in whatever way, and
turns the rest to it; the old master returns as a replica, and clients that ask Sentinel go on.
"""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from tests.interop.sentinel_clients import Client, IoRedis, RedisPy
from tests.interop.sentinels import WAYS, Deployment, Times
from tests.peers.lab import Lab, wait_until

KINDS = ("pyrepl", "pyrepl", "pyrepl")
MIXED = ("pyrepl", "pyrepl", "redis7")
OTHERS = ("valkey8", "pyrepl", "pyrepl")
MANY = 20
SENTINEL_RIGHTS = (
    "&__sentinel__:hello +multi +exec +slaveof +ping +subscribe +publish +config|rewrite +role +info +client|setname"
    " +client|kill +script|kill"
)
"""What Redis's documentation lets Sentinel do."""


def assert_nothing_is_lost(made: Deployment, client: Client) -> None:
    """All nodes hold every key that both replicas had acknowledged."""
    assert client.safe
    for node in made.nodes.values():
        held = node.call("MGET", *client.safe)
        lost = [key for key, value in zip(client.safe, held, strict=True) if value is None]
        assert not lost, f"{node.name} lost {lost[:10]} of {client.library}"


def assert_equal(made: Deployment) -> None:
    """Once the stream has come everywhere, all hold the same."""
    others = [node for node in made.nodes.values() if node is not made.master]
    assert made.master.call("WAIT", 2, 50_000) == 2
    digest = made.master.call("DEBUG", "DIGEST")
    for node in others:
        wait_until(f"{node.name} holds the same", lambda node=node: node.call("DEBUG", "DIGEST") == digest)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("sentinel_kind", "way", "kinds"),
    [("redis7", "kill", KINDS), ("redis7", "freeze", MIXED), ("valkey8", "command", KINDS)],
)
def test_failover(lab: Lab, tmp_path: Path, sentinel_kind: str, way: str, kinds: tuple[str, ...]) -> None:
    with Deployment(lab, kinds, sentinel_kind, tmp_path) as made:
        with RedisPy(made.sentinels) as one, IoRedis(made.sentinels) as other:
            clients: tuple[Client, ...] = (one, other)
            for client in clients:
                client.wait_for_more()
            old = made.master
            print(made.fail_over(way))
            assert made.master.port != old.port
            for client in clients:
                client.wait_for_more()
        for client in clients:
            assert_nothing_is_lost(made, client)
        assert_equal(made)
        check_roles_are_kept(made)


def test_sentinel_and_replicas_are_users(lab: Lab, tmp_path: Path) -> None:
    """They log in as users that may do what they need and nothing else; the users outlive the rewritten files."""
    of_nodes = (
        f"user sentinel on >pw1 {SENTINEL_RIGHTS}\nuser repl on >pw2 +psync +replconf +ping\nmasteruser repl\n"
        "masterauth pw2\n"
    )
    of_sentinels = "sentinel auth-user m sentinel\nsentinel auth-pass m pw1\n"
    with Deployment(lab, MIXED, "redis7", tmp_path, of_nodes, of_sentinels) as made:
        old = made.master
        print(made.fail_over("kill"))
        assert made.master.port != old.port
        for node in made.nodes.values():
            assert node.call("ACL", "LOG") == []
            wait_until("sentinels are there", lambda node=node: b"user=sentinel" in node.call("CLIENT", "LIST"))  # type: ignore[misc]
        assert b"user=repl" in made.master.call("CLIENT", "LIST")
        check_roles_are_kept(made)
        assert made.master.call("ACL", "USERS") == [b"default", b"repl", b"sentinel"]


@pytest.mark.parametrize("kinds", [KINDS, OTHERS], ids=["pyrepl", "valkey8"])
def test_all_by_tls(lab: Lab, tmp_path: Path, kinds: tuple[str, ...]) -> None:
    """Nodes and sentinels know each other by their ports with TLS, and by certificates on both sides."""
    with Deployment(lab, kinds, "redis7", tmp_path, tls=True) as made:
        old = made.master
        print(made.fail_over("kill"))
        assert made.master.port != old.port
        assert made.sentinels[0].master_port() == made.master.tls_port != made.master.port
        made.master.call("SET", "after", "it")
        assert_equal(made)
        check_roles_are_kept(made)


def check_roles_are_kept(made: Deployment) -> None:
    """Sentinel had each node rewrite its file: started from it, all are what they were, by partial resyncs."""
    full = made.master.stat("sync_full")
    for node in list(made.nodes.values()):
        says = (node.folder / "node.conf").read_text()
        if node is made.master:
            assert "replicaof" not in says
        else:
            assert f"replicaof 127.0.0.1 {made.master.link_port}" in says
            node.call("SAVE")
            node.terminate()
            made.restart(node)
    made.wait_all_follow()
    assert made.master.stat("sync_full") == full


@pytest.mark.matrix
@pytest.mark.parametrize("sentinel_kind", ["redis7", "valkey8"])
def test_an_idle_deployment_is_switched_without_a_full_resync(lab: Lab, tmp_path: Path, sentinel_kind: str) -> None:
    """The sentinels' own messages do not move the old master past the switch; there is no PING in this hour."""
    with Deployment(lab, KINDS, sentinel_kind, tmp_path) as made:
        for node in made.nodes.values():
            node.call("CONFIG", "SET", "repl-ping-replica-period", "3600")
        full = {port: node.stat("sync_full") for port, node in made.nodes.items()}
        for _ in range(3):
            print(made.fail_over("command"))
        assert {port: node.stat("sync_full") for port, node in made.nodes.items()} == full
        assert_equal(made)


@pytest.mark.matrix
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("sentinel_kind", "kinds"), [("redis7", KINDS), ("valkey8", OTHERS)])
def test_many_failovers(lab: Lab, tmp_path: Path, sentinel_kind: str, kinds: tuple[str, ...]) -> None:
    """In turn by kill, freeze and command; the times are printed."""
    times: list[Times] = []
    with Deployment(lab, kinds, sentinel_kind, tmp_path) as made:
        with RedisPy(made.sentinels) as one, IoRedis(made.sentinels) as other:
            clients: tuple[Client, ...] = (one, other)
            for number in range(MANY):
                for client in clients:
                    client.wait_for_more()
                times.append(made.fail_over(WAYS[number % len(WAYS)]))
                print(f"{number + 1:3} {times[-1]}", flush=True)
            for client in clients:
                client.wait_for_more()
        for client in clients:
            assert_nothing_is_lost(made, client)
            print(
                f"{client.library}: {len(client.safe)} writes acknowledged by both replicas, none lost;"
                f" {client.errors} errors on the way"
            )
        assert_equal(made)
    for way in WAYS:
        of_way = [one for one in times if one.way == way]
        detected, switched = [one.detected_s for one in of_way], [one.switched_s for one in of_way]
        print(
            f"{way:8} {len(of_way)} times: detected after {span(detected)}, switched after {span(switched)}", flush=True
        )


def span(seconds: list[float]) -> str:
    """For people."""
    return f"{statistics.median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"
