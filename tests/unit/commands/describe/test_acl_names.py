"""The commands as rules know them."""

from __future__ import annotations

import pytest

from pyrepl.commands.describe.acl_names import AclNames
from pyrepl.commands.describe.introspection import FAMILIES
from pyrepl.commands.engine.renaming import renamed_table
from pyrepl.config.kinds import Rename
from pyrepl.config.settings import Settings


@pytest.fixture(scope="module")
def names() -> AclNames:
    return AclNames(renamed_table(Settings(rename_command=(Rename(b"GET", b"FETCH"), Rename(b"DEL", b""))), FAMILIES))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("SET", "set"),
        ("Client|List", "client|list"),
        ("get", "get"),
        ("del", "del"),
        ("fetch", None),
        ("set|x", None),
        ("client|nosuch", None),
        ("", None),
    ],
)
def test_names_are_the_first_ones(names: AclNames, name: str, expected: str | None) -> None:
    assert names.find(name) == expected


def test_a_command_brings_its_subcommands(names: AclNames) -> None:
    members = names.with_subcommands("config")
    assert members[0] == "config" and "config|set" in members
    assert names.with_subcommands("config|set") == ["config|set"]


def test_categories(names: AclNames) -> None:
    assert names.of_category("nosuch") is None and names.in_category("nosuch") is None
    strings = names.in_category("String")
    assert strings is not None and {"get", "set"} <= set(strings) and "del" not in strings
    slow, shown = names.of_category("slow"), names.in_category("slow")
    assert slow is not None and shown is not None
    assert set(slow) >= set(shown), "subcommands come with the container, which is slow"
