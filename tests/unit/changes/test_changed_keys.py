"""Which keys a command changed, with the positions of the real command table."""

from __future__ import annotations

import pytest

from pyrepl.changes.changed_keys import ChangedKeys, swapped
from pyrepl.commands.engine.table import Table
from pyrepl.errors import CommandError
from tests.unit.commands.rig import full_table


def positions(argv: list[bytes], table: Table | None = None) -> tuple[str, list[int]] | None:
    try:
        row = (table or full_table()).resolve_in_stream(argv)
    except CommandError:
        return None
    return row.name, row.keys.positions(argv)


@pytest.mark.parametrize(
    "line, keys",
    [
        ("SET a 1", ["a"]),
        ("set a 1", ["a"]),
        ("DEL a b a", ["a", "b"]),
        ("MSET a 1 b 2", ["a", "b"]),
        ("RENAME a b", ["a", "b"]),
        ("SMOVE a b m", ["a", "b"]),
        ("COPY a b", ["b"]),
        ("SINTERSTORE dst a b", ["dst"]),
        ("ZUNIONSTORE dst 2 a b", ["dst"]),
        ("BITOP AND dst a b", ["dst"]),
        ("SORT a BY nosort STORE dst", ["dst"]),
        ("XGROUP CREATE s g $", ["s"]),
        ("PEXPIREAT a 5", ["a"]),
        ("FLUSHALL", [None]),
        ("flushdb ASYNC", [None]),
        ("SWAPDB 0 1", [None]),
        ("PUBLISH ch msg", []),
        ("FUNCTION LOAD code", []),
        ("PFADD hll a b", ["hll"]),
        ("SOMEMODULE.SET k v", ["k"]),
        ("SOMEMODULE.TICK", []),
    ],
)
def test_keys(line: str, keys: list[str | None]) -> None:
    expected = [None if key is None else key.encode() for key in keys]
    assert ChangedKeys(positions).of(line.encode().split()) == expected


def test_a_renamed_command_changes_what_it_did_before() -> None:
    table = full_table()
    for name, new_name in ((b"FLUSHALL", b"AWAY"), (b"SINTERSTORE", b"COMMON"), (b"DEL", b"")):
        assert table.rename(name, new_name) is None
    changed = ChangedKeys(lambda argv: positions(argv, table))
    assert changed.of([b"away"]) == [None]
    assert changed.of([b"common", b"dst", b"a", b"b"]) == [b"dst"]
    assert changed.of([b"DEL", b"a", b"b"]) == [b"a", b"b"]


def test_both_databases_of_a_swap() -> None:
    assert swapped([b"swapdb", b"3", b"5"]) == [3, 5]
    assert swapped([b"FLUSHALL"]) == []
