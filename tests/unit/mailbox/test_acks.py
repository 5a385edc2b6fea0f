"""Who waits until another node has an op. Requirement V8."""

from __future__ import annotations

from pyrepl.mailbox.acks import AckOptions
from pyrepl.mailbox.answers import Ok
from pyrepl.mailbox.words import Dot
from tests.scenario.mailbox.cluster import Cluster, ready, save


def test_v8_a_tagged_save_is_answered_when_another_node_has_it() -> None:
    cluster = ready()
    cluster.held.add("b>a")
    cluster.say("m1>a 1 SAVE alice INBOX " + save("G1"))
    assert not [line for line in cluster.said("OK") if line.startswith("a>m1")]
    cluster.held.clear()
    cluster.settle()
    assert cluster.said("OK") == ["a>m1 1 OK uid=1 at=a:2 acks=1"]


def test_v8_without_another_node_it_is_told_that_there_is_one_copy() -> None:
    cluster = ready()
    cluster.cut("a", "b")
    cluster.say("m1>a 1 SAVE alice INBOX " + save("G1"))
    assert cluster.said("OK") == ["a>m1 1 OK uid=1 at=a:2 acks=0"]
    assert [notice.name for notice in cluster.nodes["a"].core.notices()][-1] == "single_copy"


def test_v8_who_does_not_answer_in_time_is_not_waited_for() -> None:
    cluster = ready()
    cluster.held.add("b>a")
    cluster.say("m1>a 1 SAVE alice INBOX " + save("G1"))
    cluster.run(4.9)
    assert "a>m1 1 OK uid=1 at=a:2 acks=0" not in cluster.said()
    cluster.run(0.2)
    assert "a>m1 1 OK uid=1 at=a:2 acks=0" in cluster.said()


def test_v8_a_node_alone_answers_at_once() -> None:
    cluster = Cluster("a")
    cluster.run(4)
    cluster.say("m1>a 1 CREATE alice INBOX")
    assert "a>m1 1 OK at=a:1 acks=0" in cluster.said("OK")


def three(wanted: int) -> Cluster:
    """Nodes a, b and c; a mailbox, and nothing more to be said."""
    cluster = Cluster("abc", acks=AckOptions(wanted, 2.0))
    cluster.run(4)
    cluster.say("m1>a 1 CREATE alice INBOX")
    cluster.run(1)
    cluster.said()
    return cluster


def answers(cluster: Cluster) -> list[str]:
    return [line.rpartition(" ")[2] for line in cluster.said("OK") if line.startswith("a>m1")]


def test_v8_two_nodes_are_waited_for_where_two_are_wanted() -> None:
    for wanted, expected in ((1, ["acks=1"]), (2, [])):
        cluster = three(wanted)
        cluster.held.add("c>a")
        cluster.say("m1>a 2 SAVE alice INBOX " + save("G1"))
        assert answers(cluster) == expected
        cluster.held.clear()
        cluster.settle()
        assert answers(cluster) == [[], ["acks=2"]][wanted - 1]


def test_v8_no_more_are_waited_for_than_can_be_reached() -> None:
    cluster = three(2)
    cluster.cut("a", "c")
    cluster.say("m1>a 2 SAVE alice INBOX " + save("G1"))
    assert answers(cluster) == ["acks=1"]
    cluster.held.add("b>a")
    cluster.say("m1>a 3 SAVE alice INBOX " + save("G2"))
    cluster.run(1.9)
    assert answers(cluster) == []
    cluster.run(0.2)
    assert answers(cluster) == ["acks=0"]


def test_v8_what_would_be_on_one_node_alone_is_refused_before_it_is_stored() -> None:
    cluster = Cluster("ab", acks=AckOptions(accepts_single=False))
    cluster.run(4)
    cluster.say("m1>a 1 CREATE alice INBOX")
    cluster.say("m1>a 2 SAVE alice INBOX " + save("G1"))
    cluster.cut("a", "b")
    cluster.said()
    cluster.say("m1>a 3 SAVE alice INBOX " + save("G2"))
    cluster.say("m1>a 4 STORE alice INBOX uids=1 add=work")
    cluster.say("m1>a * TX-BEGIN alice tx=x")
    cluster.say("m1>a * STORE alice INBOX uids=1 add=work tx=x")
    cluster.say("m1>a 5 TX-END alice tx=x")
    cluster.say("m1>a * STORE alice INBOX uids=1 add=nobody-waits")
    cluster.say("m1>a 6 FETCH alice guid=G1")
    said = [line.split(" why=")[0] for line in cluster.said("OK", "NO") if line.startswith("a>m1")]
    assert said[:3] == ["a>m1 3 NO APART", "a>m1 4 NO APART", "a>m1 5 NO APART"] and said[3].startswith("a>m1 6 OK")
    assert cluster.views()[0] == {"INBOX/G1": (1, ("nobody-waits",))}
    cluster.link("a", "b")
    cluster.say("m1>a 7 SAVE alice INBOX " + save("G3"))
    assert next(line for line in cluster.said("OK") if line.startswith("a>m1 7 OK")).endswith("acks=1")


def test_v8_who_keeps_mail_with_nobody_is_not_refused() -> None:
    cluster = Cluster("a", acks=AckOptions(accepts_single=False))
    cluster.run(4)
    cluster.say("m1>a 1 CREATE alice INBOX")
    assert "a>m1 1 OK at=a:1 acks=0" in cluster.said("OK")


def test_who_has_waited_before_is_answered_sooner() -> None:
    cluster = three(1)
    cluster.held |= {"b>a", "c>a"}
    cluster.say("m1>a 1 SAVE alice INBOX " + save("G1"))
    acks, at = cluster.nodes["a"].saving.acks, Dot("a", cluster.nodes["a"].core.causal.held["a"])
    acks.wait_until("m2", "2", at, Ok(), cluster.now + 1.0)
    cluster.run(0.9)
    assert not [line for line in cluster.said("OK") if line.startswith("a>m")]
    cluster.run(0.2)
    assert [line for line in cluster.said("OK") if line.startswith("a>m")] == ["a>m2 2 OK acks=0"]
    cluster.run(1.0)
    assert answers(cluster) == ["acks=0"]
