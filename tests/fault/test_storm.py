"""A storm: random faults on the links of several replicas, and of their replicas, while two writers write; then calm.

At the end all hold the same, and no cut has cost a full resync. The seed decides the faults and what is written, not
the moments at which either happens: a failure's seed narrows it down, the nodes' logs tell the rest.
"""

from __future__ import annotations

import random
import time

import pytest

from tests.interop.pair import BACKLOG
from tests.peers import compare, dataset, kinds
from tests.peers.lab import Lab, Node
from tests.peers.proxy import Proxy
from tests.peers.writer import Writer

SCALE = 2000
FOLLOWERS = {
    "pyrepl": ("pyrepl", "redis7", "valkey8", "redis8"),
    "redis7": ("pyrepl", "pyrepl"),
    "redis8": ("pyrepl", "redis8"),
    "valkey8": ("pyrepl", "valkey8"),
}


def one_fault(rng: random.Random, proxy: Proxy, master: Node, replicas: list[Node]) -> None:
    match rng.randrange(5):
        case 0:
            proxy.cut()
        case 1:
            proxy.cut_after(rng.randrange(300, 200_000), "down")
            time.sleep(1)
            proxy.heal()
        case 2:
            proxy.stall()
            time.sleep(rng.random())
            proxy.heal()
        case 3:
            master.call("CLIENT", "KILL", "TYPE", "replica")
        case 4:
            rng.choice(replicas).call("CLIENT", "KILL", "TYPE", "master")


def full_syncs(master: Node) -> dict[str, str]:
    """How many it has given, and why."""
    return {name: count for name, count in master.info("stats").items() if name.startswith("sync_full")}


@pytest.mark.parametrize("kind", FOLLOWERS)
@pytest.mark.parametrize(
    ("seed", "seconds"),
    [(1, 6), *(pytest.param(seed, 60, marks=[pytest.mark.matrix, pytest.mark.timeout(400)]) for seed in (2, 3))],
)
def test_storm(lab: Lab, kind: str, seed: int, seconds: float) -> None:
    rng = random.Random(seed)
    followers = FOLLOWERS[kind]
    field_ttl = kinds.field_ttl(kind, *followers)
    delicate = kinds.delicate(*followers)
    master = lab.start(kind, directives={**BACKLOG, "repl-diskless-sync": rng.choice(("yes", "no"))})
    dataset.fill(master, dataset.commands(SCALE, seed=seed, field_ttl=field_ttl))
    with Proxy(master.port) as proxy:
        with (
            Writer(master, seed, field_ttl=field_ttl, without=delicate) as writer,
            Writer(master, seed + 1000, field_ttl=field_ttl, without=delicate) as other,
        ):
            replicas = [
                lab.start(name, proxy.port, {**BACKLOG, "repl-diskless-load": rng.choice(("disabled", "swapdb"))})
                for name in followers
            ]
            for replica in replicas:
                replica.wait_link_up()
            below = [lab.start(name, replicas[0], BACKLOG) for name in followers]
            for replica in below:
                replica.wait_link_up()
            full = full_syncs(master)
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                time.sleep(rng.random() * 2)
                one_fault(rng, proxy, master, replicas)
                writer.check()
                other.check()
        for replica in [*replicas, *below]:
            replica.wait_link_up(60)
        compare.settle(master, *replicas, *below, field_ttl=field_ttl)
        for replica in [*replicas, *below]:
            compare.assert_equal(master, replica)
    assert full_syncs(master) == full
    assert master.stat("sync_partial_ok") > 0
