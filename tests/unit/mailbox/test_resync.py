"""SYNC. Requirement L1."""

from __future__ import annotations

from tests.scenario.mailbox.cluster import ready, save


def test_l1_who_was_away_gets_what_it_missed() -> None:
    cluster = ready()
    cluster.cut("a", "b")
    cluster.say("m1>a 1 STORE alice INBOX uids=1 add=\\Seen")
    cluster.say("m1>a 2 SAVE alice INBOX " + save("G1"))
    cluster.link("a", "b")
    cluster.run(0.1)
    one, other = cluster.views()
    assert one == other == {"INBOX/G1": (1, ())}


def test_ops_of_a_dead_node_spread_from_who_has_them() -> None:
    cluster = ready("abc")
    cluster.held.add("a>c")
    cluster.say("m1>a 1 SAVE alice INBOX " + save("G1"))
    assert cluster.views()[2] == {}
    cluster.crash("a")
    cluster.held.clear()
    cluster.run(3.0)
    assert cluster.views() == [{"INBOX/G1": (1, ())}] * 2
