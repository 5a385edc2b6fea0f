"""INFO cpu: processor time with microseconds."""

from __future__ import annotations

from tests.unit.commands.rig import Rig
from tests.unit.observability.info.reading import info


def test_times() -> None:
    rig = Rig()
    process = rig.node.process
    process.cpu_sys_s, process.cpu_user_s = 1.5, 2.25
    process.cpu_sys_children_s, process.cpu_user_children_s = 0.0000014, 3.0
    assert list(info(rig, "cpu").items()) == [
        ("used_cpu_sys", "1.500000"),
        ("used_cpu_user", "2.250000"),
        ("used_cpu_sys_children", "0.000001"),
        ("used_cpu_user_children", "3.000000"),
    ]
