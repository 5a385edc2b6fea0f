"""A mailbox gets a new UIDVALIDITY: its messages are there in their order, and nothing of the old one is."""

from __future__ import annotations

from pyrepl.mailbox.boxes import view
from pyrepl.mailbox.gate_states import GateResult, GateState, GateWork
from pyrepl.mailbox.gates import ENTER_S
from pyrepl.mailbox.rows import BoxRow, Rows
from pyrepl.mailbox.words import Box
from tests.scenario.mailbox.cluster import Cluster, ready, save
from tests.unit.mailbox.gate_rig import READS, RELEASED, Rig, mail
from tests.unit.mailbox.test_uniting import many_flags, many_origins


def box_of(rows: Rows, name: str = "INBOX") -> BoxRow:
    [guid] = [guid for guid, (shown, _) in view(rows, "alice").items() if shown == name]
    box = rows.box(guid)
    assert box is not None
    return box


def filled() -> Cluster:
    cluster = ready()
    for number in range(1, 6):
        cluster.say("m1>a 1 SAVE alice INBOX " + save(f"G{number}"))
    cluster.say("m1>a 1 EXPUNGE alice INBOX uids=2")
    cluster.say("m1>a 1 STORE alice INBOX uids=3,5 add=\\Seen,work")
    cluster.say("m1>a 1 SUBSCRIBE alice INBOX")
    cluster.said()
    return cluster


def renew(cluster: Cluster, node: str) -> None:
    found = cluster.nodes[node].mail.find("alice", Box("INBOX"))
    assert found is not None
    cluster.nodes[node].renew("op", "1", found, cluster.now)
    cluster._after(node)
    cluster.settle()


def test_all_is_there_under_uids_from_one_on() -> None:
    cluster = filled()
    before = box_of(cluster.rows["b"])
    renew(cluster, "b")
    cluster.run(1.0)
    assert any(line.startswith("b>op 1 OK") and line.endswith("acks=1") for line in cluster.said("OK"))
    seen = ("\\Seen", "work")
    assert (
        cluster.views()
        == [{"INBOX/G1": (1, ()), "INBOX/G3": (2, seen), "INBOX/G4": (3, ()), "INBOX/G5": (4, seen)}] * 2
    )
    for rows in cluster.rows.values():
        after = box_of(rows)
        assert after.uidvalidity > before.uidvalidity and after.uidnext == 5 and after.subscribed
        assert after.guid != before.guid and len(view(rows, "alice")) == 1
    cluster.say("m1>a 7 SAVE alice INBOX " + save("G9"))
    assert cluster.views()[1]["INBOX/G9"] == (5, ())


def test_nothing_is_changed_where_the_masterships_cannot_be_had() -> None:
    cluster = filled()
    cluster.say("m1>a 5 LOCK alice INBOX")
    before = [box_of(rows).guid for rows in cluster.rows.values()]
    renew(cluster, "b")
    cluster.run(12.0)
    assert any(line.startswith("b>op 1 NO TIMEOUT") for line in cluster.said("NO"))
    assert [box_of(rows).guid for rows in cluster.rows.values()] == before
    assert [len(view(rows, "alice")) for rows in cluster.rows.values()] == [1, 1]


def test_a_node_that_is_apart_renews_nothing() -> None:
    cluster = filled()
    cluster.cut("a", "b")
    cluster.run(20.0)
    renew(cluster, "b")
    cluster.run(1.0)
    assert any(line.startswith("b>op 1 NO APART") for line in cluster.said("NO"))
    assert len(view(cluster.rows["b"], "alice")) == 1


def test_beside_an_open_gate_it_goes_on_when_all_that_was_found_is_told() -> None:
    """What was found in other mailboxes, and of folders, is compared with the rows as they were when it was looked."""
    rig = Rig()
    rig.see(READS)
    rig.found = mail(1, 2)
    rig.see(RELEASED)
    rig.now += ENTER_S
    [old] = rig.rows.boxes("alice")
    rig.node.renew("op", "1", old, rig.now)
    [order] = rig.gates.orders((), rig.now)
    assert order.work is GateWork.SHUT
    rig.gates.done(order, GateResult(rig.found), rig.now)
    assert rig.state() is GateState.SHUT and set(rig.messages()) == {1, 2} and len(view(rig.rows, "alice")) == 1
    rig.node.tick(rig.now)
    [(new, (name, _))] = view(rig.rows, "alice").items()
    assert new != old.guid and name == "INBOX" and [row.uid for row in rig.rows.messages(new)] == [1, 2]


def test_an_empty_one_is_renewed_and_nothing_is_said_of_its_uids() -> None:
    cluster = ready()
    before = box_of(cluster.rows["b"])
    renew(cluster, "b")
    assert any(line.startswith("b>op 1 OK") for line in cluster.said("OK"))
    for rows in cluster.rows.values():
        after = box_of(rows)
        assert after.uidvalidity > before.uidvalidity and after.guid != before.guid and len(view(rows, "alice")) == 1
    assert not [notice for notice in cluster.nodes["b"].core.notices() if notice.name.startswith("uids_")]


def test_one_that_is_gone_meanwhile_is_not_renewed() -> None:
    cluster = filled()
    cluster.say("m1>a 4 CREATE alice Work")
    cluster.say("m1>a 5 LOCK alice Work")
    found = cluster.nodes["b"].mail.find("alice", Box("Work"))
    assert found is not None
    cluster.nodes["b"].renew("op", "1", found, cluster.now)
    cluster._after("b")
    cluster.say("m2>b 6 DELETE alice Work")
    cluster.say("m1>a * UNLOCK alice Work")
    cluster.settle()
    assert any(line.startswith("b>op 1 NO NOBOX") for line in cluster.said("NO"))
    assert len(view(cluster.rows["a"], "alice")) == 1


def test_more_flags_than_a_line_can_say_are_set_by_several_ops() -> None:
    cluster = filled()
    flags = tuple(f"keyword{number:03d}{'y' * 200}" for number in range(400))
    many_flags(cluster, "G1", flags)
    renew(cluster, "b")
    cluster.run(1.0)
    assert [view["INBOX/G1"] for view in cluster.views()] == [(1, flags)] * 2


def test_what_no_line_can_say_is_answered_and_changes_nothing() -> None:
    cluster = filled()
    before = cluster.views()
    many_origins(cluster, "b")
    renew(cluster, "b")
    assert any(line.startswith("b>op 1 NO FAILED why=DELETE") for line in cluster.said("NO"))
    assert cluster.views() == before


def test_one_that_is_too_large_for_a_transaction_stays_as_it_is() -> None:
    cluster = filled()
    before = cluster.views()
    cluster.nodes["b"].core.journal.most_tx_bytes = 5_000
    renew(cluster, "b")
    cluster.run(1.0)
    [answer] = [line for line in cluster.said("NO") if line.startswith("b>op 1")]
    assert answer.startswith("b>op 1 NO FAILED why=a%20transaction%20of%20") and cluster.views() == before
