"""The way to other servers of a node that has no process around it."""

from __future__ import annotations

from pyrepl.node.migrating import CONNECTING, NoTarget


def test_no_server_can_be_reached() -> None:
    assert NoTarget().exchange("127.0.0.1", 6379, [b"x"], [], 1) == ([], [], CONNECTING)
