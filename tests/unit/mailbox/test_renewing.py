"""A mailbox gets a new UIDVALIDITY: its messages are there in their order, and nothing of the old one is."""

from __future__ import annotations

from pyrepl.mailbox.boxes import view
from pyrepl.mailbox.gate_states import GateResult, GateState, GateWork
from pyrepl.mailbox.gates import ENTER_S
from pyrepl.mailbox.rows import BoxRow, Rows
from pyrepl.mailbox.words import Box
from tests.scenario.mailbox.cluster import Cluster, ready, save
from tests.unit.mailbox.gate_rig import READS, RELEASED, Rig, mail


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
    assert rig.state() is GateState.SHUT and set(rig.messages()) == {1, 2} and len(view(rig.rows, "alice")) == 2
    rig.node.tick(rig.now)
    [(new, (name, _))] = view(rig.rows, "alice").items()
    assert new != old.guid and name == "INBOX" and [row.uid for row in rig.rows.messages(new)] == [1, 2]


def saved_while_it_waits(cluster: Cluster) -> None:
    """A LOCK is open, and a message is saved in the mailbox that is to take the place of the old one, of which nobody
    has asked for the mastership: that is done in the order of GUIDs."""
    old, journal = box_of(cluster.rows["b"]).guid, cluster.nodes["b"].core.journal
    while journal.new_box_guid("alice", "INBOX") < old:
        cluster.say("m2>b 4 STORE alice INBOX uids=1 add=again")
    cluster.say("m1>a 5 LOCK alice INBOX")
    renew(cluster, "b")
    [new] = [guid for guid, (name, _) in view(cluster.rows["b"], "alice").items() if name != "INBOX"]
    cluster.say(f"m2>a 6 SAVE alice #{new} " + save("G9"))


def test_what_was_saved_in_the_new_one_meanwhile_keeps_its_uid() -> None:
    cluster = filled()
    saved_while_it_waits(cluster)
    cluster.say("m1>a * UNLOCK alice INBOX")
    cluster.run(1.0)
    assert any(line.startswith("b>op 1 OK") for line in cluster.said("OK"))
    uids = {"INBOX/G9": 1, "INBOX/G1": 2, "INBOX/G3": 3, "INBOX/G4": 4, "INBOX/G5": 5}
    assert [{name: uid for name, (uid, _) in shown.items()} for shown in cluster.views()] == [uids] * 2


def test_what_was_saved_in_the_new_one_is_there_when_the_masterships_cannot_be_had() -> None:
    cluster = filled()
    saved_while_it_waits(cluster)
    cluster.run(12.0)
    assert any(line.startswith("b>op 1 NO TIMEOUT") for line in cluster.said("NO"))
    cluster.say("m1>a * UNLOCK alice INBOX")
    cluster.run(20.0)
    assert [set(shown) for shown in cluster.views()] == [{f"INBOX/G{number}" for number in (1, 3, 4, 5, 9)}] * 2
