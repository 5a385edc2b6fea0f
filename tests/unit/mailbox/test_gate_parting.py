"""Since when a node is apart, as its gates see it."""

from __future__ import annotations

from pyrepl.mailbox.gate_parting import PATIENCE_S, Parting
from pyrepl.mailbox.store import RaiseNext
from tests.unit.mailbox.gate_rig import GUID, Rig


def test_it_comes_back_once_and_is_patient_for_a_while_each_time() -> None:
    rig = Rig("abc", is_root=False)
    parting, tracker = Parting(rig.node.core, rig.node.mastering), rig.node.mastering.tracker
    tracker.is_apart = False
    assert not parting.tick(1.0) and parting.patient_until == float("inf")
    tracker.is_apart = True
    assert not parting.tick(2.0) and not parting.tick(3.0)
    assert parting.patient_until == 2.0 + PATIENCE_S
    tracker.is_apart = False
    assert parting.tick(4.0) and not parting.tick(5.0)
    assert parting.patient_until == float("inf")


def test_the_uids_of_one_that_is_apart_for_long_are_its_own_once() -> None:
    rig = Rig("abc", is_root=False)
    parting = Parting(rig.node.core, rig.node.mastering)
    rig.node.mastering.tracker.is_apart = True
    parting.tick(2.0)
    boxes = rig.gates.boxes()
    for now in (2.0, 2.0 + PATIENCE_S, 3.0 + PATIENCE_S):
        parting.part_uids(boxes, now)
    raised = [work for work in rig.node.core.works() if isinstance(work, RaiseNext)]
    assert [work.box for work in raised] == [GUID] and raised[0].uidnext > 1 and parting.is_parted
    rig.node.mastering.tracker.is_apart = False
    parting.tick(9.0)
    parting.part_uids(boxes, 9.0)
    assert not parting.is_parted
