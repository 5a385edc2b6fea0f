"""Texts that ops lack. Requirement L3."""

from __future__ import annotations

from pyrepl.mailbox.journal_ops import by_guid
from pyrepl.mailbox.verbs import Save
from pyrepl.mailbox.words import Dot, Token
from tests.scenario.mailbox.cluster import ready
from tests.scenario.mailbox.cluster import save as words_of


def test_l3_a_text_that_is_missing_is_fetched() -> None:
    cluster = ready()
    cluster.say("m1>a 1 CREATE alice Archive")
    cluster.say("m1>a 2 SAVE alice INBOX " + words_of("G1"))
    cluster.held.add("a>b")
    cluster.say("m1>a 3 COPY alice INBOX to=Archive uids=1")
    cluster.say("m2>b 1 EXPUNGE alice INBOX uids=1")
    cluster.said()
    cluster.held.clear()
    cluster.settle()
    assert [line.split(" ")[0::2] for line in cluster.said("FETCH")] == [["b>a", "FETCH", "guid=G1"]]
    assert cluster.views() == [{"Archive/G1": (1, ())}] * 2
    rows = [[cluster.rows[name].message(guid, "G1") for guid in sorted(cluster.names)] for name in "ab"]
    assert rows[0] == rows[1] and [row.size for row in rows[0] if row is not None] == [4], "it says what came"


def test_of_two_mails_with_one_guid_the_right_text_is_waited_for() -> None:
    """The member that is asked has the other one, and has not applied the op."""
    cluster = ready("abc")
    cluster.cut("b", "c")
    b, [box] = cluster.nodes["b"], cluster.rows["a"].boxes("alice")
    cluster.say("m1>a 1 SAVE alice INBOX uid=* guid=G1 size=4 received=1795333408 flags=() sum=00000001 {text}")
    save = Save(user="alice", box=by_guid(box), uid=9, guid="G1", size=4, received=1, token=Token(1, 5), sum=(2,))
    b.hear("a", "*", save.replaced(at=Dot("c", 1), modseq=9), "", cluster.now)
    cluster._after("b")
    cluster.settle()
    assert [line for line in cluster.said("OK") if line.startswith("a>b f") and " sum=00000001" in line]
    assert b.core.lacking == {Dot("c", 1): ("alice", "G1")} and not b.core.texts and not b.core.textless
    assert b.core.unneeded() == ["drop"] and [row.sums for row in b.core.rows.messages(box.guid)] == [(1,)]
