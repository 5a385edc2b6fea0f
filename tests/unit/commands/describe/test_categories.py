"""ACL categories of rows; those of real commands are held against Redis in test_introspection.py."""

from __future__ import annotations

import pytest

from pyrepl.commands.describe.categories import CATEGORIES, categories
from pyrepl.commands.describe.introspection import FAMILIES
from pyrepl.commands.engine.table import ADMIN, BLOCKING, FAST, NO_KEYS, PUBSUB, READONLY, WRITE, Command


def row(name: str, flags: int, group: str, arity: int = 2) -> Command:
    return Command(name, lambda call: None, arity, flags, NO_KEYS, group, "1.0.0")


@pytest.mark.parametrize(
    ("flags", "group", "expected"),
    [
        (READONLY | FAST, "string", ["read", "string", "fast"]),
        (WRITE, "sorted-set", ["write", "sortedset", "slow"]),
        (ADMIN, "server", ["admin", "slow", "dangerous"]),
        (PUBSUB | FAST, "pubsub", ["pubsub", "fast"]),
        (WRITE | BLOCKING, "list", ["write", "list", "slow", "blocking"]),
        (0, "transactions", ["slow", "transaction"]),
    ],
)
def test_by_flags_and_group(flags: int, group: str, expected: list[str]) -> None:
    assert categories(row("TRY", flags, group)) == expected


def test_a_mere_container_has_none_of_its_group() -> None:
    assert categories(row("BOX", 0, "connection", -2), has_children=True) == ["slow"]


def test_what_is_a_module_in_redis_has_none() -> None:
    assert categories(row("TRY", WRITE | FAST, "module")) == []


def test_each_command_is_either_fast_or_slow() -> None:
    for module in FAMILIES:
        for found in vars(module).values():
            if isinstance(found, Command) and found.group != "module":
                names = categories(found)
                assert ("fast" in names) is not ("slow" in names)
                assert set(names) <= set(CATEGORIES)
