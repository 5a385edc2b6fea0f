"""SYNC. Requirement L1."""

from __future__ import annotations

from collections import Counter

from pyrepl.mailbox.answers import No, Ok, Reason
from pyrepl.mailbox.verbs import Boxes, Command, Op, Save, Sync
from tests.scenario.mailbox.cluster import Cluster, ready, save


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


def _taken_until(cluster: Cluster, name: str, most: int) -> Counter[str]:
    """How often a node hears what from now on; more than `most` lines are a fault."""
    heard: Counter[str] = Counter()
    hear = cluster.nodes[name].hear

    def count(peer: str, tag: str, command: Command, text: str, now: float) -> None:
        heard[command.VERB] += 1
        assert heard.total() < most, heard
        hear(peer, tag, command, text, now)

    cluster.hears[name] = count
    return heard


def _few_at_once(cluster: Cluster) -> None:
    for node in cluster.nodes.values():
        node.resync.most_ops = 5


def test_ops_of_two_nodes_that_wait_for_each_other_come_in_parts() -> None:
    cluster = ready("abc")
    _few_at_once(cluster)
    cluster.say("m1>a 1 SAVE alice INBOX " + save("G1"))
    cluster.run(2.0)
    for other in "ab":
        cluster.cut("c", other)
    for number in range(20):
        for name in "ab":
            cluster.say(f"m{name}>{name} {number} STORE alice INBOX uids=1 add=k{number % 3}{name}")
    heard = _taken_until(cluster, "c", 200)
    cluster.link("b", "c")
    cluster.run(0.1)
    assert cluster.nodes["c"].core.causal.held == cluster.nodes["a"].core.causal.held
    assert heard["STORE"] == 40


def test_a_transaction_of_more_ops_than_an_answer_has_comes() -> None:
    cluster = ready("ab")
    _few_at_once(cluster)
    cluster.say("m1>a 1 SAVE alice INBOX " + save("G1"))
    cluster.cut("a", "b")
    cluster.say("m1>a * TX-BEGIN alice tx=t")
    for number in range(20):
        cluster.say(f"m1>a {number} STORE alice INBOX uids=1 add=k{number} tx=t")
    cluster.say("m1>a e TX-END alice tx=t")
    heard = _taken_until(cluster, "b", 100)
    cluster.link("a", "b")
    cluster.run(0.1)
    assert cluster.nodes["b"].core.causal.held == cluster.nodes["a"].core.causal.held and heard["STORE"] == 20


def _lacks_its_first_text(cluster: Cluster) -> Counter[str]:
    """Node b gets ten mails of node a, the first without its text, which a has not."""
    cluster.cut("a", "b")
    for number in range(10):
        cluster.say(f"m1>a {number} SAVE alice INBOX " + save(f"G{number}"))
    heard = _taken_until(cluster, "b", 500)
    hear = cluster.hears["b"]

    def without(peer: str, tag: str, command: Command, text: str, now: float) -> None:
        if isinstance(command, Ok) and tag[0] == "f":
            command, text = No(reason=Reason.FAILED), ""
        hear(peer, tag, command, "" if isinstance(command, Save) and command.guid == "G0" else text, now)

    cluster.hears["b"] = without
    cluster.link("a", "b")
    return heard


def test_what_waits_for_a_text_is_not_sent_again() -> None:
    cluster = ready("ab")
    heard = _lacks_its_first_text(cluster)
    cluster.run(20.0)
    assert heard["SAVE"] == 10 and cluster.nodes["b"].core.causal.held == {"a": 1}


def test_the_ops_behind_those_that_wait_come_as_well() -> None:
    cluster = ready("ab")
    _few_at_once(cluster)
    heard = _lacks_its_first_text(cluster)
    cluster.run(20.0)
    assert heard["SAVE"] == 10 and cluster.nodes["b"].core.causal.reach("a") == 11


def test_an_op_that_was_lost_on_the_way_is_asked_for_again() -> None:
    cluster = ready("ab")
    hear = cluster.nodes["b"].hear
    lost: list[str] = []

    def lossy(peer: str, tag: str, command: Command, text: str, now: float) -> None:
        if isinstance(command, Save) and command.guid == "G1" and not lost:
            lost.append(command.guid)
        else:
            hear(peer, tag, command, text, now)

    cluster.hears["b"] = lossy
    for number in range(3):
        cluster.say(f"m1>a {number} SAVE alice INBOX " + save(f"G{number}"))
    assert cluster.nodes["b"].core.causal.held == {"a": 2} and lost
    cluster.run(5.0)
    assert cluster.nodes["b"].core.causal.held == {"a": 4}


def test_an_answer_that_was_of_no_use_is_not_asked_for_at_once() -> None:
    node = ready().nodes["a"]
    node.core.sends()
    node.link_up("b", 0.0)
    for number in range(3):
        [tag] = [send.tag for send in node.core.sends() if isinstance(send.command, Sync)]
        node.hear("b", tag, Ok(left=1), "", 0.0)
        assert not any(isinstance(send.command, Sync) for send in node.core.sends())
        node.tick(100.0 * (number + 1))


def test_an_answer_is_bounded_in_bytes() -> None:
    cluster = ready()
    node = cluster.nodes["a"]
    for number in range(5):
        cluster.say(f"m1>a {number} CREATE alice Box{number}")
    node.core.sends()
    for most, count in ((1, 1), (2500, 2), (10**6, 6)):
        node.resync.most_bytes = most
        node.hear("b", "s1", Sync(), "", 0.0)
        sends = node.core.sends()
        assert sum(isinstance(send.command, Op) for send in sends) == count
        assert [send.command.__dict__["left"] for send in sends if send.tag == "s1"] == [0 if count == 6 else 1]
