"""Texts that ops lack. Requirement L3."""

from __future__ import annotations

from pyrepl.mailbox.answers import No, Ok, Reason
from pyrepl.mailbox.journal_ops import by_guid
from pyrepl.mailbox.peers import Missing
from pyrepl.mailbox.rows import BoxRow
from pyrepl.mailbox.verbs import Fetch, Save
from pyrepl.mailbox.words import Dot, Stamp, Token
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


def test_of_two_mails_with_one_guid_the_right_one_is_answered() -> None:
    cluster = ready()
    a, [box] = cluster.nodes["a"], cluster.rows["a"].boxes("alice")
    cluster.say("m1>a 1 SAVE alice INBOX uid=* guid=G1 size=4 received=1795333408 flags=() sum=00000001 {text}")
    row = a.core.rows.message(box.guid, "G1")
    assert row is not None
    other = BoxRow("f" * 32, "alice", "Other", Stamp(9, "a"), 5, created_stamp=Stamp(9, "a"))
    a.core.rows.put_box(other)
    a.core.rows.put_message(row._replace(box=other.guid, sums=(2,)))
    a.core.sends()
    for sums, found in (((), (1,)), ((1,), (1,)), ((2,), (2,)), ((3,), None)):
        a.resync.fetching.hear_fetch("b", "f1", Fetch(user="alice", guid="G1", sum=sums))
        [answer] = [send.command for send in a.core.sends()]
        assert answer.__dict__["sum"] == (found or ()) and isinstance(answer, No) is (found is None)


def test_who_lacks_the_text_as_well_says_so_and_answers_from_another_mailbox_that_has_it() -> None:
    cluster = ready()
    a, [box] = cluster.nodes["a"], cluster.rows["a"].boxes("alice")
    cluster.say("m1>a 1 SAVE alice INBOX " + words_of("G1"))
    a.core.missing[box.guid, "G1"] = Missing("alice")
    a.core.sends()
    fetch = Fetch(user="alice", guid="G1")
    a.resync.fetching.hear_fetch("b", "f1", fetch)
    assert [send.command for send in a.core.sends()] == [No(reason=Reason.NOTEXT)]
    cluster.say("m1>a 2 CREATE alice Archive")
    cluster.say("m1>a 3 COPY alice INBOX to=Archive uids=1")
    a.resync.fetching.hear_fetch("b", "f2", fetch)
    assert [send.text_of for send in a.core.sends() if isinstance(send.command, Ok)] == [("alice", "G1")]


def test_what_a_member_has_expunged_by_an_op_that_has_not_come_is_known_to_be_shown() -> None:
    cluster = ready()
    b, [box] = cluster.nodes["b"], cluster.rows["a"].boxes("alice")
    save = Save(user="alice", box=by_guid(box), uid=9, guid="G1", size=4, received=1, token=Token(1, 5))
    b.hear("a", "*", save.replaced(at=Dot("c", 1), modseq=9), "", cluster.now)
    [asked] = [send for send in b.core.sends() if isinstance(send.command, Fetch)]
    b.hear("a", asked.tag, No(reason=Reason.NOUID, held=(Dot("c", 3),)), "", cluster.now)
    assert b.core.rows.gone(box.guid, "G1") is not None and b.core.journal.ahead == {"c": 3}


def test_a_text_that_is_of_another_mail_is_not_taken() -> None:
    cluster = ready()
    b, [box] = cluster.nodes["b"], cluster.rows["a"].boxes("alice")
    save = Save(user="alice", box=by_guid(box), uid=9, guid="G1", size=4, received=1, token=Token(1, 5), sum=(2,))
    b.hear("a", "*", save.replaced(at=Dot("c", 1), modseq=9), "", cluster.now)
    [asked] = [send for send in b.core.sends() if isinstance(send.command, Fetch)]
    assert asked.command.__dict__["sum"] == (2,)
    b.hear("a", asked.tag, Ok(size=4, received=1, sum=(1,)), "drop", cluster.now)
    assert b.core.lacking == {Dot("c", 1): ("alice", "G1")} and not b.core.texts and b.core.unneeded() == ["drop"]
