"""The kinds of events: their names are Redis's, each has a class."""

from __future__ import annotations

from pyrepl.keyspace import events
from pyrepl.node.notifications import EVERYTHING


def test_each_kind_has_a_class_of_its_own_name() -> None:
    kinds = {name: kind for name, kind in vars(events).items() if isinstance(kind, events.Event)}
    assert kinds.pop("CHANGED").kind == ""
    assert {kind.kind for kind in kinds.values()} <= EVERYTHING | set("mnoc")
    assert len({kind.name for kind in kinds.values()}) == len(kinds)
    assert repr(events.NEW) == "Event('n', 'new')"
