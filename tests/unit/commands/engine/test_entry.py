"""What a dispatcher knows of a row before it looks at a command."""

from __future__ import annotations

import pytest

from pyrepl.commands.engine.entry import Entry
from pyrepl.node.stats import Stats
from tests.unit.commands.rig import full_table


def entry_of(name: str, child: str = "") -> Entry:
    row = full_table().rows[name.encode()]
    if child:
        row = row.subcommands[child.encode()]
    return Entry(row, Stats().of(row.wire_name), 2 if child else 1)


@pytest.mark.parametrize(("name", "sizes"), [("GET", {2}), ("SET", {3, 4, 5, 6, 7}), ("PING", {1, 2, 3, 4, 5, 6, 7})])
def test_how_many_words_fit(name: str, sizes: set[int]) -> None:
    entry = entry_of(name)
    assert {size for size in range(1, 8) if entry.fits(size)} == sizes


def test_what_a_batch_executes_by_itself() -> None:
    assert entry_of("GET").is_plain and entry_of("MULTI").is_plain
    assert not entry_of("EXEC").is_plain, "it executes others"
    assert not entry_of("CLIENT").is_plain and not entry_of("CLIENT", "LIST").is_plain, "its name has two words"


def test_what_opens_and_closes_a_unit() -> None:
    assert [name for name in ("MULTI", "EXEC", "DISCARD", "SET") if entry_of(name).frames] == ["MULTI", "EXEC"]
    assert entry_of("EXEC").is_exec and not entry_of("MULTI").is_exec


def test_what_counts_as_an_access() -> None:
    assert entry_of("GET").is_access and entry_of("OBJECT", "HELP").is_access
    assert not entry_of("TTL").is_access and not entry_of("OBJECT", "ENCODING").is_access


def test_hot_commands_take_their_words_whole() -> None:
    assert entry_of("GET").words is entry_of("GET").row.words is not None
    assert entry_of("TTL").words is None
