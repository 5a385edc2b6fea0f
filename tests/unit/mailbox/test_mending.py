"""Texts that the store lost are fetched from who has them."""

from __future__ import annotations

from pyrepl.mailbox.answers import Ok
from pyrepl.mailbox.mending import PAUSE_S
from pyrepl.mailbox.store import AddMessage, Ended, Outcome, Result
from tests.scenario.mailbox.cluster import Cluster, ready, save


def lost(names: str = "abc") -> tuple[Cluster, str, AddMessage]:
    """A cluster in which b's store did not find the text of G1."""
    cluster = ready(names)
    cluster.say("m1>a 1 SAVE alice INBOX " + save("G1"))
    [box] = cluster.names
    row = cluster.rows["b"].message(box, "G1")
    assert row is not None
    del cluster.stores["b"].boxes[box]["G1"]
    cluster.stores["b"].seen[box] = 0
    add = AddMessage("alice", box, "G1", 1, (), row.received, row.size, "", row.dots[0])
    cluster.nodes["b"].core.ended([Ended(add, Result(Outcome.NO_TEXT))])
    cluster.said()
    return cluster, box, add


def test_it_is_fetched_from_another_holder_and_put_where_it_was() -> None:
    cluster, box, _ = lost()
    cluster.run(1.5)
    assert [line.split(" ")[0] for line in cluster.said("FETCH")] == ["b>a"]
    assert "G1" in cluster.stores["b"].boxes[box] and cluster.nodes["b"].core.missing == {}


def test_who_has_it_not_is_passed_over_and_all_are_asked_again_after_a_pause() -> None:
    cluster, box, _ = lost()
    for name in "ac":
        cluster.rows[name].drop_message(box, "G1")
    cluster.run(5.5)
    assert [line.split(" ")[0] for line in cluster.said("FETCH")] == ["b>a", "b>c"]
    cluster.run(PAUSE_S)
    assert [line.split(" ")[0] for line in cluster.said("FETCH")][:1] == ["b>a"]


def test_one_that_was_expunged_meanwhile_is_not_missed() -> None:
    cluster, box, _ = lost()
    cluster.say("m1>b 2 EXPUNGE alice INBOX uids=1")
    cluster.run(2.5)
    assert cluster.nodes["b"].core.missing == {} and "G1" not in cluster.stores["b"].boxes[box]


def test_what_is_missing_is_fetched_after_a_restart_too() -> None:
    cluster, box, _ = lost()
    cluster.rows["b"].commit()
    cluster.crash("b")
    cluster.start("b")
    cluster.run(1.5)
    assert "b>a" in [line.split(" ")[0] for line in cluster.said("FETCH")]
    assert "G1" in cluster.stores["b"].boxes[box] and cluster.rows["b"].missing() == []


def test_what_is_there_after_a_crash_is_not_missing() -> None:
    cluster, box, add = lost()
    cluster.rows["b"].commit()
    what = (add.guid, add.uid, add.flags, add.received, add.size, "text1", add.at)
    cluster.stores["b"].perform([AddMessage(add.user, box, *what)])
    cluster.crash("b")
    cluster.start("b")
    assert "G1" in cluster.stores["b"].boxes[box] and cluster.nodes["b"].core.missing == {}
    assert cluster.rows["b"].missing() == []


def test_an_answer_that_nobody_waits_for_leaves_no_text() -> None:
    cluster, *_ = lost()
    node = cluster.nodes["b"]
    node.hear("a", "m99", Ok(size=4), "late", cluster.now)
    assert node.core.unneeded() == ["late"] and len(node.core.missing) == 1
