"""Two mails of one GUID: each gets one of its own, on all nodes the same, and none is lost. Requirement L1."""

from __future__ import annotations

from itertools import combinations

import pytest

from pyrepl.mailbox.clashes import are_two, guid_of_other, ops_apart
from pyrepl.mailbox.maildir.uidlist import why_not_guid
from pyrepl.mailbox.rows import BoxRow, GoneRow, MessageRow
from pyrepl.mailbox.verbs import Expunge, Save
from pyrepl.mailbox.words import Dot, Register, Stamp, Token
from tests.scenario.mailbox.cluster import Cluster, ready
from tests.simulation.mailbox.memory_rows import MemoryRows

BOX = "1" * 32
FLAGS = (Register("\\Seen", True, Stamp(3, "b")),)
ROW = MessageRow(BOX, "G1", 4, Token(1, 0), (Dot("b", 7),), 9, 5, FLAGS, sums=(2,))


def save(sums: str, guid: str = "G1") -> str:
    return f"SAVE alice INBOX uid=* guid={guid} size=4 received=1795333408 flags=() sum={sums} {{text}}"


def sums(cluster: Cluster) -> list[dict[str, tuple[int, ...]]]:
    """By node: GUID -> checksums."""
    return [
        {row.guid: row.sums for box in rows.boxes("alice") for row in rows.messages(box.guid)}
        for _, rows in sorted(cluster.rows.items())
    ]


def test_mails_are_told_apart_by_their_checksums_if_both_have_some() -> None:
    assert are_two((1,), (2,)) and are_two((1,), (1, 2))
    assert not are_two((1,), (1,)) and not are_two((), (1,)) and not are_two((1,), ())


def test_each_mail_has_a_guid_of_its_own_and_the_same_again() -> None:
    mails = [("G1", (1,)), ("G1", (2,)), ("G2", (1,)), ("G1", (1, 2)), ("G1 1", (2,))]
    guids = [guid_of_other(*mail) for mail in mails]
    assert guids == [guid_of_other(*mail) for mail in mails] and len(set(guids)) == len(mails)
    assert all(len(guid) == 32 and why_not_guid(guid.encode()) is None for guid in guids)


def test_it_is_saved_with_all_that_is_known_of_it_and_expunged_where_it_was() -> None:
    rows, guid = MemoryRows(), guid_of_other("G1", (2,))
    rows.put_box(BoxRow(BOX, "alice", "INBOX", Stamp(1, "a"), 5))
    saved, expunged = ops_apart(rows, ROW)
    assert isinstance(saved, Save) and isinstance(expunged, Expunge)
    assert (saved.guid, saved.size, saved.received, saved.flags, saved.sum) == (guid, 9, 5, ("\\Seen",), (2,))
    assert (expunged.guids, expunged.kills) == (("G1",), (Dot("b", 7),))
    rows.put_gone(GoneRow(BOX, 4, guid, (Dot("c", 1),), 6))
    assert ops_apart(rows, ROW) == (saved, expunged), "it was there once, and comes again"
    rows.put_message(ROW._replace(guid=guid))
    assert ops_apart(rows, ROW) == (expunged,), "another node saved it"


@pytest.mark.parametrize("names", ["ab", "abc"])
def test_two_mails_that_nodes_saved_apart_are_both_on_all(names: str) -> None:
    cluster = ready(names)
    for one, other in combinations(names, 2):
        cluster.cut(one, other)
    cluster.run(20.0)
    cluster.say("m1>a 1 " + save("00000001"))
    cluster.say("m2>b 1 " + save("00000002"))
    cluster.run(1.0)
    assert [sorted(each.values()) for each in sums(cluster)][:2] == [[(1,)], [(2,)]]
    for one, other in combinations(names, 2):
        cluster.link(one, other)
    cluster.run(20.0)
    own = {guid_of_other("G1", (1,)): (1,), guid_of_other("G1", (2,)): (2,)}
    assert sums(cluster) == [own] * len(names)
    views = cluster.views()
    assert all(view == views[0] for view in views) and all(uid for uid, _ in views[0].values())
    assert {notice.about for node in cluster.nodes.values() for notice in node.core.notices()} >= {"alice INBOX G1"}


def test_a_mail_process_that_saves_another_mail_of_a_guid_has_it_under_another_one() -> None:
    cluster = ready()
    cluster.say("m1>a 1 " + save("00000001"))
    cluster.say("m1>a 2 " + save("00000002"))
    cluster.run(1.0)
    assert [line for line in cluster.said("OK") if line.startswith("a>m1 2")]
    assert sums(cluster) == [{"G1": (1,), guid_of_other("G1", (2,)): (2,)}] * 2
