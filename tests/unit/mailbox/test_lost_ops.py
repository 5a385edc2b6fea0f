"""Ops of a disk that is lost, of which a part is left. Requirement L3."""

from __future__ import annotations

from pyrepl.mailbox.lost_ops import LOST_S
from pyrepl.mailbox.verbs import Save, Store
from pyrepl.mailbox.words import Box, Dot
from tests.scenario.mailbox.cluster import Cluster, ready, save


def box_of(cluster: Cluster) -> str:
    return next(guid for guid, name in cluster.names.items() if name == "INBOX")


def test_what_nobody_has_any_more_is_given_up_when_all_have_said_so() -> None:
    cluster = ready("ab")
    cluster.say("m1>a 1 SAVE alice INBOX " + save("G1"))
    cluster.cut("a", "b")
    for guid in ("G2", "G3"):
        cluster.say(f"m1>a {guid} SAVE alice INBOX " + save(guid))
    cluster.said()
    # b had begun to take these when a's disk was lost.
    b = cluster.nodes["b"]
    b.core.journal.reaches([Dot("a", cluster.rows["a"].held()["a"])])
    cluster.say("m2>b 1 STORE alice INBOX uids=1 add=work")
    cluster.crash("a")
    cluster.lose_disk("a")
    b.core.notices()
    cluster.start("a")
    cluster.run(2 * LOST_S - 2)
    assert "ops_lost" not in [notice.name for notice in b.core.notices()]
    assert cluster.rows["a"].held() != cluster.rows["b"].held()
    cluster.run(5.0)
    told = [notice.name for notice in b.core.notices()]
    assert told.count("ops_lost") == 1
    assert told.index("resync_by_state_done") < told.index("ops_lost"), "others may show another part of them"
    cluster.run(5.0)
    assert cluster.rows["a"].held() == cluster.rows["b"].held()
    assert cluster.views() == [{"INBOX/G1": (1, ("work",))}] * 2


def test_an_op_whose_text_nobody_has_any_more_is_given_up_and_those_behind_it_are_not() -> None:
    cluster = ready("ab")
    b = cluster.nodes["b"]
    box = Box(box_of(cluster), True)
    seq = cluster.rows["a"].held()["a"]
    lost = Save(user="alice", box=box, uid=9, guid="G9", size=4, received=1, modseq=50, at=Dot("a", seq + 1))
    kept = Store(user="alice", box=box, guids=("G9",), add=("work",), modseq=51, at=Dot("a", seq + 2))
    for op in (lost, kept):
        b.hear("a", "*", op, "", cluster.now)
    cluster.crash("a")
    cluster.lose_disk("a")
    b.core.notices()
    cluster.start("a")
    cluster.run(2 * LOST_S - 2)
    assert b.core.causal.held["a"] == seq and "ops_lost" not in [notice.name for notice in b.core.notices()]
    cluster.run(6.0)
    assert [notice.about for notice in b.core.notices() if notice.name == "ops_lost"] == [f"a:{seq + 1}"]
    cluster.run(5.0)
    held = cluster.rows["a"].held()
    assert held == cluster.rows["b"].held() and held["a"] == seq + 2 and cluster.views() == [{}, {}]


def test_of_many_texts_that_nobody_has_the_first_alone_is_waited_for() -> None:
    cluster = ready("ab")
    b = cluster.nodes["b"]
    box = Box(box_of(cluster), True)
    seq = cluster.rows["a"].held()["a"]
    for place in range(1, 9):
        op = Save(user="alice", box=box, uid=8 + place, guid=f"G{place + 1}", size=4, received=1, modseq=49 + place)
        b.hear("a", "*", op.replaced(at=Dot("a", seq + place)), "", cluster.now)
    cluster.crash("a")
    cluster.lose_disk("a")
    cluster.start("a")
    cluster.run(2 * LOST_S + 15)
    assert cluster.rows["b"].held()["a"] == cluster.rows["a"].held()["a"] == seq + 8


def test_an_op_without_a_text_that_came_by_state_in_part_is_given_up_once() -> None:
    cluster = ready("ab")
    b = cluster.nodes["b"]
    seq = cluster.rows["a"].held()["a"]
    box = Box(box_of(cluster), True)
    b.core.journal.reaches([Dot("a", seq + 1)])
    lost = Save(user="alice", box=box, uid=9, guid="G9", size=4, received=1, modseq=50, at=Dot("a", seq + 1))
    b.hear("a", "*", lost, "", cluster.now)
    cluster.crash("a")
    cluster.lose_disk("a")
    b.core.notices()
    cluster.start("a")
    cluster.run(2 * LOST_S + 10)
    assert [notice.name for notice in b.core.notices()].count("ops_lost") == 1
    assert b.core.lacking == {} and cluster.rows["a"].held() == cluster.rows["b"].held()
