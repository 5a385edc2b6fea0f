"""What every wire does, and addresses for people."""

from __future__ import annotations

import pytest

from pyrepl.daemon.wires.plain_wire import PlainWire
from pyrepl.daemon.wires.wire import Wire, host_port

METHODS = [name for name in vars(Wire) if callable(getattr(Wire, name)) and not name.startswith("_")]


@pytest.mark.parametrize("kind", [PlainWire])
def test_each_kind_does_all_of_it(kind: type[Wire]) -> None:
    assert len(METHODS) > 8
    assert [name for name in METHODS if name not in vars(kind)] == []


def test_ip6_in_brackets() -> None:
    assert host_port(("127.0.0.1", 5)) == "127.0.0.1:5"
    assert host_port(("fe80::1%eth0", 6, 0, 2)) == "[fe80::1%eth0]:6"
