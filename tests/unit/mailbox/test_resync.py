"""SYNC. Requirement L1."""

from __future__ import annotations

from pyrepl.mailbox.answers import No, Reason
from pyrepl.mailbox.verbs import Boxes, Op, Sync
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


def test_who_asks_again_before_it_is_answered_gets_no_ops() -> None:
    node = ready().nodes["a"]
    node.core.sends()
    for number in range(3):
        node.hear("b", f"s{number}", Sync(), "", 0.0)
    sends = node.core.sends()
    assert [send.command.VERB for send in sends if send.tag != "*"] == ["OK", "NO", "NO"]
    assert sum(isinstance(send.command, Op) for send in sends) == len(node.core.rows.ops("a", 0, 100)) > 0
    node.hear("b", "s9", Sync(), "", 0.0)
    assert [send.command.VERB for send in node.core.sends()][-1] == "OK"


def test_who_has_no_time_is_asked_again_at_the_next_look_and_not_for_its_state() -> None:
    node = ready().nodes["a"]
    node.core.sends()
    node.link_up("b", 0.0)
    [(tag, _)] = [(send.tag, send.command) for send in node.core.sends() if isinstance(send.command, Sync)]
    node.hear("b", tag, No(reason=Reason.BUSY), "", 0.0)
    assert not any(isinstance(send.command, Sync | Boxes) for send in node.core.sends())
    node.tick(100.0)
    assert [send.peer for send in node.core.sends() if isinstance(send.command, Sync)] == ["b"]
    node.tick(200.0)
    assert not any(isinstance(send.command, Sync) for send in node.core.sends())
