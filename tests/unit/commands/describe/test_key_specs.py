"""Where keys are and what is done with them. Every command is compared with real servers in tests/house."""

from __future__ import annotations

from typing import Any

import pytest

from pyrepl.commands.describe.key_specs import SPECS, KeySpec, Search, ends_before_a_key, named_specs, specs_of
from tests.unit.commands.rig import Rig, full_table

ROWS = {row.name: row for parent in full_table() for row in (parent, *parent.subcommands.values())}
ONE = Search("range", (("lastkey", 0), ("keystep", 1), ("limit", 0)))


def test_places() -> None:
    assert specs_of(ROWS["GET"]) == (KeySpec(("RO", "access"), Search("index", (("index", 1),)), ONE),)
    assert specs_of(ROWS["PING"]) == ()
    assert [spec.begin.spec for spec in specs_of(ROWS["LMOVE"])] == [(("index", 1),), (("index", 2),)]
    assert specs_of(ROWS["MSET"])[0].find == Search("range", (("lastkey", -1), ("keystep", 2), ("limit", 0)))
    assert specs_of(ROWS["MSETEX"])[0].find == Search("keynum", (("keynumidx", 0), ("firstkey", 1), ("keystep", 2)))
    streams = specs_of(ROWS["XREADGROUP"])[0]
    assert streams.begin == Search("keyword", (("keyword", b"STREAMS"), ("startfrom", 4)))
    stored = specs_of(ROWS["GEORADIUS"])[1]
    assert stored.begin == Search("keyword", (("keyword", b"STORE"), ("startfrom", 6))) and stored.find == ONE
    assert streams.find == Search("range", (("lastkey", -1), ("keystep", 1), ("limit", 2)))


def test_only_rows_that_there_are() -> None:
    assert SPECS.keys() <= ROWS.keys()


def test_keys_that_a_pattern_makes_are_no_arguments() -> None:
    assert [spec.begin.type for spec in specs_of(ROWS["SORT"])] == ["index", "unknown", "unknown"]
    assert (named_specs(ROWS["SORT"]), named_specs(ROWS["SORT_RO"])) == ([0, 2], [0])


@pytest.mark.parametrize(
    ("line", "flags"),
    [
        ("LMOVE a b LEFT RIGHT", ["RW access delete", "RW insert"]),
        ("SET a 1", ["OW update"]),
        ("SET a 1 GET", ["RW access update"]),
        ("SET a GET", ["OW update"]),
        ("BITFIELD a GET u8 0", ["RO access"]),
        ("BITFIELD a INCRBY u8 0 1", ["RW access update"]),
        ("DELEX a", ["RM delete"]),
        ("DELEX a IFEQ b", ["RW delete"]),
        ("SORT a BY b STORE c", ["RO access", "OW update"]),
        ("ZUNIONSTORE a 2 b c", ["OW update", "RO access", "RO access"]),
        ("EXISTS a b", ["RO", "RO"]),
    ],
)
def test_what_a_call_does(line: str, flags: list[str]) -> None:
    reply: Any = Rig().say(f"COMMAND GETKEYSANDFLAGS {line}")
    assert [" ".join(flag.text.decode() for flag in words) for _, words in reply] == flags


def test_calls_that_end_before_a_key() -> None:
    assert ends_before_a_key(ROWS["PFMERGE"], 2)
    assert not ends_before_a_key(ROWS["PFMERGE"], 3)
    assert not ends_before_a_key(ROWS["PFCOUNT"], 2)
