"""`pyrepl status` over real topologies of every kind of server: what is there, what is wrong, and its exit status."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from tests.interop.sentinels import Deployment
from tests.peers.lab import Lab, Node, pyrepl_command, wait_until
from tests.peers.ports import HOST


class Seen(NamedTuple):
    """One run of the command with --json."""

    exit_status: int
    document: dict[str, Any]

    def node(self, node: Node) -> dict[str, Any]:
        (found,) = [one for one in self.document["nodes"] if one["address"] == where(node) and not one["loop"]]
        return dict(found)

    def problems(self) -> set[tuple[str, str]]:
        return {(problem["node"], problem["code"]) for problem in self.document["problems"]}


def where(node: Node) -> str:
    return f"{HOST}:{node.port}"


def status(address: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [*pyrepl_command(), "status", "--timeout", "20", *words, address]
    return subprocess.run(command, capture_output=True, text=True, timeout=200)


def seen(node: Node, *words: str) -> Seen:
    done = status(where(node), "--json", *words)
    assert not done.stderr
    return Seen(done.returncode, json.loads(done.stdout))


def in_sync(node: Node, *words: str) -> Seen:
    """The first look that finds nothing wrong: links come up at both ends within a second of each other."""
    looks: list[Seen] = []

    def is_well() -> bool:
        looks.append(seen(node, *words))
        return looks[-1].exit_status == 0

    wait_until("all is in sync", is_well)
    return looks[-1]


def test_a_chain_of_all_kinds(lab: Lab) -> None:
    """Redis 7.0 at the top, pyrepl below it, Valkey and pyrepl below that, found from the last of them."""
    top = lab.start("redis7", directives={"repl-backlog-size": "2mb"})
    middle = lab.start("pyrepl", top)
    middle.wait_link_up()
    leaves = [lab.start(kind, middle) for kind in ("valkey8", "pyrepl")]
    for leaf in leaves:
        leaf.wait_link_up()
    top.call("SET", "key", "value")
    for start in (top, middle, *leaves):
        look = in_sync(start)
        assert len(look.document["nodes"]) == 4
        assert look.node(top)["parent"] is None and look.node(top)["role"] == "master"
        assert look.node(middle)["parent"] == where(top)
        assert {look.node(leaf)["parent"] for leaf in leaves} == {where(middle)}
    replica = look.node(middle)
    assert replica["link"] == "up" and replica["state_at_parent"] == "online"
    assert 0 <= replica["lag_bytes"] < 1000 and replica["lag_s"] <= 2
    assert 2 * 1024 * 1024 - 1000 < replica["cover_bytes"] <= 2 * 1024 * 1024
    software = [look.node(node)["software"].split()[0] for node in (top, middle, *leaves)]
    assert software == ["redis", "pyrepl", "valkey", "pyrepl"]
    text = status(where(top))
    assert text.returncode == 0 and text.stdout.rstrip().endswith("in sync: 4 nodes")


def test_the_write_rate_tells_how_long_a_cut_may_last(lab: Lab) -> None:
    master = lab.start("pyrepl")
    replica = lab.start("pyrepl", master)
    replica.wait_link_up()
    stream = [["SET", "key", "x" * 1000]] * 100
    look = None
    command = [*pyrepl_command(), "status", "--json", where(replica)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            with master.connect() as wire:
                wire.pipeline(stream)
        assert process.stdout is not None
        look = Seen(process.returncode, json.loads(process.stdout.read()))
    rate = look.node(master)["write_bytes_per_s"]
    assert rate > 10_000
    found = look.node(replica)
    assert found["cover_s"] is None or abs(found["cover_s"] - found["cover_bytes"] / rate) < 0.01


def test_a_link_that_is_down(lab: Lab) -> None:
    master = lab.start("redis8")
    replica = lab.start("pyrepl", master)
    replica.wait_link_up()
    in_sync(replica)
    master.kill()
    wait_until("the replica sees it", lambda: not replica.link_is_up())
    look = seen(replica)
    assert look.exit_status == 1
    assert {(where(master), "unreachable"), (where(replica), "link_down")} <= look.problems()
    found = look.node(replica)
    assert found["parent"] == where(master) and found["link"] == "down" and found["last_error"]
    assert status(where(master)).returncode == 2


def test_two_that_follow_each_other(lab: Lab) -> None:
    first = lab.start("pyrepl")
    second = lab.start("pyrepl", first)
    second.wait_link_up()
    first.call("REPLICAOF", HOST, second.port)
    look = seen(second)
    assert look.exit_status == 1
    assert "loop" in {code for _, code in look.problems()}


def test_passwords(lab: Lab) -> None:
    secret = {"requirepass": "geheim", "masterauth": "geheim"}
    master = lab.start("pyrepl", directives=secret)
    replica = lab.start("redis7", master, directives=secret)
    replica.wait_link_up()
    refused = status(where(replica))
    assert refused.returncode == 2 and "NOAUTH Authentication required: set PYREPL_PASSWORD" in refused.stdout
    wrong = status(where(replica), "--password", "falsch")
    assert wrong.returncode == 2 and "WRONGPASS" in wrong.stdout and "falsch" not in wrong.stdout
    assert len(in_sync(replica, "--password", "geheim").document["nodes"]) == 2


def test_a_sync_under_way_and_a_frozen_node(lab: Lab) -> None:
    master = lab.start("redis7", directives={"rdb-key-save-delay": "2000", "repl-diskless-sync": "yes"})
    master.call("DEBUG", "POPULATE", 20_000, "key", 100)
    replica = lab.start("pyrepl", master)
    wait_until("the snapshot comes", lambda: replica.info("replication").get("master_sync_in_progress") == "1")
    look = seen(replica)
    assert look.exit_status == 1 and (where(replica), "syncing") in look.problems()
    assert look.node(replica)["sync"] is not None and look.node(replica)["lag_bytes"] is None
    replica.process.send_signal(19)
    try:
        done = status(where(master), "--timeout", "2")
        assert done.returncode == 1 and "no answer within 2 s" in done.stdout
    finally:
        replica.process.send_signal(18)


def test_from_a_sentinel(lab: Lab, tmp_path: Path) -> None:
    with Deployment(lab, ("pyrepl", "pyrepl", "redis7"), "redis7", tmp_path) as made:
        done = status(f"{HOST}:{made.sentinels[0].port}", "--json")
        document = json.loads(done.stdout)
        assert (document["status"], len(document["nodes"])) == ("ok", 3)
        assert document["nodes"][0]["address"] == where(made.master)
