"""Texts that ops lack. Requirement L3."""

from __future__ import annotations

from tests.scenario.mailbox.cluster import ready, save


def test_l3_a_text_that_is_missing_is_fetched() -> None:
    cluster = ready()
    cluster.say("m1>a 1 CREATE alice Archive")
    cluster.say("m1>a 2 SAVE alice INBOX " + save("G1"))
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
