"""Services that work in slices leave the planned slice, and its stop, to one owner."""

from __future__ import annotations

import ast

from tests.house.source import ROOT, python, shown

_ROOM = ROOT / "pyrepl" / "daemon" / "memory"


def _planned(source: str) -> list[int]:
    """Lines that plan something by the loop itself."""
    return sorted(
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute) and node.attr in ("call_later", "call_at", "TimerHandle")
    )


def test_slices_are_planned_by_their_timer() -> None:
    guilty = {shown(path) for path in python("pyrepl") if path.is_relative_to(_ROOM) and _planned(path.read_text())}
    assert guilty == {"pyrepl/daemon/memory/slice_timer.py"}


def test_planning_is_seen() -> None:
    assert _planned("loop.call_later(1, work)\nhandle: asyncio.TimerHandle") == [1, 2]
    assert _planned("timer.set(1, work)") == []
