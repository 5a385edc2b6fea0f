"""One owner for who is let in: nobody else compares passwords, or asks a setting whether there is one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from tests.house.source import python, shown

OWNER: Final = "pyrepl/acl/passwords.py"
PASSWORDS: Final = {
    "requirepass": {"pyrepl/node/node.py"},
}
"""Setting -> who may read it: whoever makes users of it."""


def attributes(source: str) -> Iterator[str]:
    """The names behind dots."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            yield node.attr


def test_passwords_are_compared_in_one_place() -> None:
    guilty = [shown(path) for path in python("pyrepl") if "compare_digest" in attributes(path.read_text())]
    assert guilty == [OWNER]


def test_settings_with_passwords_are_read_by_their_owners() -> None:
    found: dict[str, set[str]] = {name: set() for name in PASSWORDS}
    for path in python("pyrepl"):
        for name in PASSWORDS.keys() & set(attributes(path.read_text())):
            found[name].add(shown(path))
    assert found == PASSWORDS
