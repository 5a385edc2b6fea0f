"""What INFO and ACL LOG show of a subscriber."""

from __future__ import annotations

from pyrepl.node.streams import Subscriber
from pyrepl.observability.subscriber_line import subscriber_fields
from tests.unit.changes.rig import FakeCatalog, Rig, users_of


def test_nothing_in_a_value_separates_fields() -> None:
    rig = Rig(FakeCatalog(keys=5), users=users_of())
    rig.users.set(b"a=b,c", [b"on", b">x"])
    rig.say("NAME me, id=5 \x00", "AUTH a=b,c x")
    fields = subscriber_fields(Subscriber(3, "127.0.0.1:5", 1.0, rig.subscription), 11.5)
    assert fields == [
        "id=3",
        "addr=127.0.0.1:5",
        "name=me__id_5_\x00",
        "user=a_b_c",
        "age=10",
        "rows=0",
        "lines_in=2",
        "output_bytes=0",
    ]
