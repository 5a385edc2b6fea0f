"""The processes of a node, seen from outside: its children, and what a dead node left behind."""

from __future__ import annotations

import os
from contextlib import suppress

import psutil

from tests.peers.lab import Node, wait_until


def children(node: Node) -> list[psutil.Process]:
    """Its living descendants."""
    with suppress(psutil.NoSuchProcess):
        return [child for child in psutil.Process(node.process.pid).children(recursive=True) if runs(child)]
    return []


def snapshot_child(node: Node, timeout_s: float = 30) -> psutil.Process:
    """The one child of a node that is taking a snapshot; waits until there is one."""
    wait_until(f"{node.name} has a child", lambda: children(node), timeout_s)
    found = children(node)
    assert len(found) == 1, f"the snapshot child is not the only one: {found}"
    return found[0]


def gone(process: psutil.Process) -> bool:
    """Does it not run any more? A zombie does not run, but somebody still owes it a wait."""
    return not runs(process)


def reaped(process: psutil.Process) -> bool:
    """Is nothing left of it, not even a zombie?"""
    return not process.is_running()


def left_behind(node: Node) -> list[int]:
    """Process ids that still run in the node's own session after it has ended."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError):
            if process.pid != node.process.pid and os.getsid(process.pid) == node.process.pid and runs(process):
                found.append(process.pid)
    return found


def resident_bytes(node: Node) -> int:
    """Its memory now."""
    return int(psutil.Process(node.process.pid).memory_info().rss)


def descriptors(node: Node) -> int:
    """How many files and sockets it has open now."""
    return int(psutil.Process(node.process.pid).num_fds())


def runs(process: psutil.Process) -> bool:
    """Does it run? A zombie does not."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
