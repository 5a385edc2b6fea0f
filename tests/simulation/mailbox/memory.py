"""How much a node holds in memory: what its machines keep besides rows, which are on disk (I17)."""

from __future__ import annotations

from collections import Counter, deque
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any

from pyrepl.mailbox.node import Node

_ROOM = "pyrepl.mailbox."
_FIELD = (MemberDescriptorType, GetSetDescriptorType)


def held(node: Node) -> Counter[str]:
    """Where something is held, as `Class.field`, and how many things: items of containers within containers as well."""
    found: Counter[str] = Counter()
    seen: set[int] = set()
    waiting: list[Any] = [node]
    while waiting:
        part = waiting.pop()
        if id(part) in seen or not type(part).__module__.startswith(_ROOM):
            continue
        seen.add(id(part))
        for name, value in _fields(part):
            if name != "rows":
                found[f"{type(part).__name__}.{name}"] += _count(value, waiting)
    return +found


def _fields(part: Any) -> list[tuple[str, Any]]:
    """Of either form: what mypyc compiled has no `__dict__`, and a descriptor for each field."""
    kinds = [kind for kind in type(part).__mro__ if kind.__module__.startswith(_ROOM)]
    own = [name for kind in kinds for name, what in vars(kind).items() if isinstance(what, _FIELD)]
    names = [name for name in own if not name.startswith("__") and hasattr(part, name)]
    return [*getattr(part, "__dict__", {}).items(), *((name, getattr(part, name)) for name in names)]


def _count(value: Any, waiting: list[Any]) -> int:
    """The items of a container; machines among them are looked into as well."""
    if not isinstance(value, dict | list | set | deque):
        waiting.append(value)
        return 0
    items = value.values() if isinstance(value, dict) else value
    return len(value) + sum(_count(item, waiting) for item in items)
