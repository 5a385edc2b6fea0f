"""A node holds no more in memory the longer a member says whatever it likes (I17)."""

from __future__ import annotations

import random

from pyrepl.mailbox.causal import MOST_WAITING
from pyrepl.mailbox.checks import MOST_OF_PEER
from pyrepl.mailbox.peers import MOST_ORIGINS
from tests.scenario.mailbox.cluster import ready
from tests.simulation.mailbox.history import History
from tests.simulation.mailbox.hostile import Hostile
from tests.simulation.mailbox.memory import held

BOUNDS = {
    "Causal._waiting": 2 * MOST_WAITING,
    "Causal.held": MOST_ORIGINS,
    "Checks._heard": MOST_OF_PEER,
    "Core._told": 2 * MOST_WAITING,
    "Peer.held": MOST_ORIGINS + 3,
    "Root._questions": 64,
}
"""Where a member can make a node hold something, and how much at most; everything else is a matter of few."""
FEW = 40


def test_of_a_hostile_member() -> None:
    cluster = ready("abc")
    node, rng = cluster.nodes["a"], random.Random(1)
    [box] = cluster.names
    hostile, now = Hostile(rng, box), cluster.now
    for _ in range(6000):
        now += 0.001
        node.hear("b", hostile.tag(), hostile.command(), "", now)
        for take in (node.core.works, node.core.removals, node.core.sends, node.core.replies, node.core.notices):
            take()
        cluster.rows["a"].commit()
    assert {place: count for place, count in held(node).items() if count > BOUNDS.get(place, FEW)} == {}


def test_when_nothing_happens_nothing_is_held() -> None:
    for seed in range(6000, 6004):
        history = History(seed)
        history.run()
        for host in history.world.hosts.values():
            assert host.node is not None
            found = held(host.node)
            assert not {place for place in found if place.split(".")[0] in ("Acks", "Checks", "Tasks", "MailSide")}
            assert (
                found["Causal._waiting"] <= len(history.world.hosts) and not found["Core._told"] + found["Core.texts"]
            )
