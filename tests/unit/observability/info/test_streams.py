"""INFO streams: the port and each subscriber."""

from __future__ import annotations

from pyrepl.node.streams import Subscriber
from tests.unit.changes.rig import FakeCatalog
from tests.unit.changes.rig import Rig as SubscriptionRig
from tests.unit.commands.rig import Rig
from tests.unit.observability.info.reading import info


def test_without_a_port_there_is_nobody() -> None:
    shown = info(Rig(), "streams")
    assert (shown["stream_port"], shown["stream_clients"], shown["stream_rows_sent"]) == ("0", "0", "0")


def test_each_subscriber_has_a_line() -> None:
    rig = Rig()
    one = SubscriptionRig(FakeCatalog(keys=5, caches=9))
    one.say("NAME my,name=x", "REPLICATE keys NOW", "REPLICATE caches 3")
    state = rig.node.streams
    state.port, state.name = 7000, "node-a"
    state.subscribers[3] = Subscriber(3, "127.0.0.1:5", rig.node.process.now, one.subscription)
    shown = info(rig, "streams")
    assert shown["stream_clients"] == "1"
    assert shown["stream_client0"] == (
        "id=3,addr=127.0.0.1:5,name=my_name_x,user=default,age=0,rows=0,lines_in=3,output_bytes=0,streams=keys/5|caches/9"
    )
