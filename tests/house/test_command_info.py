"""COMMAND INFO of every command beside Redis 8.6 and Valkey 9.1: all ten elements, but for the notes of key specs.

What differs is listed with its reason, and a listing that is not needed any more fails. Notes are Redis's prose.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.peers.lab import Lab, Node

_FIELDS: Final = ("name", "arity", "flags", "first key", "last key", "step", "categories", "tips", "key specs")
ABSENT: Final[dict[str, dict[str, str]]] = {
    "redis86": {},
    "valkey91": {},
}
"""Commands of a server that we have not, by the reason."""

DIFFERENT: Final[dict[str, dict[tuple[str, str], str]]] = {
    "redis86": {
        ("flags", "subscribe psubscribe ssubscribe"): "8.6 refuses subscriptions over maxmemory; 8.2 does not",
    },
    "valkey91": {
        (
            "flags",
            "client|caching client|getname client|getredir client|id client|no-evict client|no-touch client|reply"
            " client|setinfo client|setname select",
        ): "Valkey serves them while a script is busy; Redis does not",
        (
            "flags",
            "cluster|info cluster|myid cluster|myshardid cluster|nodes memory|malloc-stats memory|purge",
        ): "Valkey serves them while it loads; Redis does not",
        ("flags", "script|exists script|flush"): "Valkey serves them on a stale replica; Redis does not",
        ("flags", "multi watch client|reply"): "Valkey refuses them in MULTI by a flag; Redis by their code",
        ("flags", "exec"): "Valkey's name of skip_slowlog is skip_commandlog",
        ("arity", "cluster|replicate script|debug"): "Valkey has options there that Redis has not",
        ("tips", "hpttl httl cluster|syncslots"): "Valkey gives them no tips",
        ("key specs", "hsetex"): "Valkey calls it an insert, Redis an update",
        ("key specs", "georadius georadiusbymember"): "Valkey marks the keys of STORE as variable",
    },
}
"""(element, commands): the reason. Where the two differ we are as Redis."""


def _plain(value: Any) -> Any:
    """A reply without an order that says nothing: lists of words sorted, and without the notes of key specs."""
    if isinstance(value, bytes):
        return value.decode()
    if not isinstance(value, list):
        return value if isinstance(value, int) else str(value)
    items = [_plain(item) for item in value]
    if items and items[0] == "notes":
        return items[2:]
    return sorted(items) if all(isinstance(item, str) for item in items) and "type" not in items else items


def _described(node: Node) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    rows = list(node.call("COMMAND"))
    while rows:
        row = rows.pop()
        rows += row[9]
        found[row[0].decode().lower()] = [_plain(element) for element in row[:9]]
    return found


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, list[Any]]]]:
    with Lab(tmp_path_factory.mktemp("lab")) as lab:
        yield {kind: _described(lab.start(kind)) for kind in ("pyrepl", "redis86", "valkey91")}


@pytest.mark.parametrize("kind", ["redis86", "valkey91"])
def test_no_command_is_missing_but_what_is_listed(kind: str, described: dict[str, dict[str, list[Any]]]) -> None:
    missing = set(described[kind]) - set(described["pyrepl"])
    assert missing == {name for names in ABSENT[kind] for name in names.split()}


@pytest.mark.parametrize("kind", ["redis86", "valkey91"])
def test_command_info_is_equal_but_for_what_is_listed(kind: str, described: dict[str, dict[str, list[Any]]]) -> None:
    ours, theirs = described["pyrepl"], described[kind]
    found = {
        (field, name): (mine, other)
        for name in theirs.keys() & ours.keys()
        for field, mine, other in zip(_FIELDS, ours[name], theirs[name], strict=True)
        if mine != other
    }
    listed = {(field, name) for field, names in DIFFERENT[kind] for name in names.split()}
    assert {key: pair for key, pair in found.items() if key not in listed} == {}
    assert listed - found.keys() == set(), "listed as different, and equal"
