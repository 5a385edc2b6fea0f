"""Texts that the store lost are fetched from who has them. Requirement L4."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyrepl.mailbox.answers import No, Ok, Reason
from pyrepl.mailbox.mending import PAUSE_S
from pyrepl.mailbox.peers import Missing
from pyrepl.mailbox.store import AddMessage, Ended, Outcome, Result
from pyrepl.mailbox.verbs import Command
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


Says = Callable[[Cluster, str, str], None]


def _drops(cluster: Cluster, name: str, box: str) -> None:
    cluster.rows[name].drop_message(box, "G1")


def _lacks(cluster: Cluster, name: str, box: str) -> None:
    cluster.nodes[name].core.missing[box, "G1"] = Missing("alice")


def _cannot_read(reason: Reason) -> Says:
    def change(cluster: Cluster, name: str, box: str) -> None:
        hear = cluster.nodes["b"].hear

        def heard(peer: str, tag: str, command: Command, text: str, now: float) -> None:
            is_it = peer == name and isinstance(command, Ok) and bool(text)
            hear(peer, tag, No(reason=reason) if is_it else command, "" if is_it else text, now)

        cluster.hears["b"] = heard

    return change


def _is_away(cluster: Cluster, name: str, box: str) -> None:
    cluster.cut("b", name)


@pytest.mark.parametrize(
    ("says", "is_lost"),
    [
        (_drops, True),
        (_lacks, True),
        (_cannot_read(Reason.NOUID), False),
        (_cannot_read(Reason.FAILED), False),
        (_is_away, False),
    ],
    ids=["has no such message", "lacks the text too", "its file is not there", "cannot read it", "is away"],
)
def test_l4_a_copy_of_which_all_say_two_times_that_they_have_no_text_is_expunged(says: Says, is_lost: bool) -> None:
    cluster, box, _ = lost()
    node, row = cluster.nodes["b"], cluster.rows["b"].message
    _drops(cluster, "a", box)
    says(cluster, "c", box)
    cluster.run(PAUSE_S - 1.0)
    assert row(box, "G1") is not None, "all were asked once"
    cluster.run(5 * PAUSE_S)
    notes = {note.name: note.about for note in node.core.notices() if note.name in ("text_unmended", "text_lost")}
    assert notes == {"text_unmended": "alice G1"} | ({"text_lost": "alice INBOX G1"} if is_lost else {})
    assert (row(box, "G1") is None, node.core.missing == {}) == (is_lost, is_lost)
    assert any("guids=G1 kills=a:" in line for line in cluster.said("EXPUNGE")) == is_lost


def test_a_damaged_text_that_nobody_has_is_kept() -> None:
    cluster, box, _ = lost()
    cluster.nodes["b"].core.missing[box, "G1"] = Missing("alice", is_damaged=True)
    for name in "ac":
        _drops(cluster, name, box)
    cluster.run(5 * PAUSE_S)
    assert cluster.rows["b"].message(box, "G1") is not None and len(cluster.nodes["b"].core.missing) == 1


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
