"""Where memory goes: the parts add up, and never to more than there is."""

from __future__ import annotations

from pyrepl.observability.memory_use import MemoryUse, memory_use
from pyrepl.units import Offset
from tests.unit.commands.rig import Rig

MB = 1 << 20


def use(**sizes: int) -> MemoryUse:
    return MemoryUse(
        **{"used": 0, "peak": 0, "startup": 0, "backlog": 0, "replicas": 0, "clients": 0, "keys": 0} | sizes
    )


def test_the_data_is_what_remains() -> None:
    subject = use(used=100 * MB, startup=20 * MB, backlog=5 * MB, clients=5 * MB, keys=10)
    assert subject.overhead == 30 * MB
    assert subject.dataset == 70 * MB
    assert subject.dataset_percent == 87.5
    assert subject.bytes_per_key == 8 * MB


def test_nothing_is_negative() -> None:
    subject = use(used=10, startup=30, keys=1)
    assert (subject.overhead, subject.dataset, subject.dataset_percent, subject.bytes_per_key) == (10, 0, 0.0, 0)
    assert use().peak_percent == 0.0


def test_the_stream_is_split_at_the_size_of_the_backlog() -> None:
    rig = Rig()
    backlog = rig.node.replication.backlog
    backlog.create()
    backlog.resize(1000)
    cursor = backlog.attach(Offset(backlog.end))
    backlog.append(b"x" * 5000)
    measured = memory_use(rig.node)
    assert measured.backlog == 1000
    assert 4000 <= measured.replicas < 6000
    backlog.detach(cursor)


def test_clients_by_kind() -> None:
    rig = Rig()
    rig.connect().is_replica = True
    measured = memory_use(rig.node)
    assert 0 < measured.clients == measured.replicas


def test_keys_of_all_databases() -> None:
    rig = Rig()
    rig.say("SET a 1")
    rig.say("SELECT 2")
    rig.say("MSET a 1 b 2")
    assert memory_use(rig.node).keys == 3
