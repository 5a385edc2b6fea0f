"""The command table against COMMAND INFO and COMMAND DOCS of real servers: arity, flags, keys, group, since.

A row must agree with Redis 7.0 or, in what a later one changed or added, with 8.2 or 8.6; what only Valkey has, with
Valkey 9.1. What 7.0 has and the table
has not is listed here, so that nothing is forgotten and no listing outlives its reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from pyrepl.commands.engine.table import Command
from tests.peers.lab import Lab, Node
from tests.unit.commands.rig import full_table

SHOWN_ALONE = {"no_async_loading", "asking", "module"}
"""Flags that decide nothing here: `describe/shown.py` has them, and test_command_info compares them."""

OURS = {f"streams.{word}" for word in ("reserve", "complete", "abort", "append", "position", "list")} | {
    f"mailbox{word}"
    for word in (
        *("", "|status", "|info", "|master", "|check", "|root", "|help"),
        *("|allow", "|deny", "|renew", "|join", "|leave", "|users", "|messages", "|scrub", "|resync"),
    )
}
"""Commands that no real server has."""

NOT_YET_GROUPS: set[str] = set()
NOT_YET: set[str] = set()


class Real(NamedTuple):
    """A command as a real server describes it."""

    arity: int
    flags: frozenset[str]
    keys: tuple[int, int, int]
    group: str
    since: str


def described(node: Node) -> dict[str, Real]:
    """Every command and subcommand of a server, by its name in lower case (`client|list`)."""
    docs: dict[str, dict[bytes, Any]] = {}

    def note(name: bytes, flat: list[Any]) -> None:
        doc = dict(zip(flat[::2], flat[1::2]))
        docs[name.decode()] = doc
        below = doc.get(b"subcommands", [])
        for child, child_flat in zip(below[::2], below[1::2]):
            note(child, child_flat)

    flat = node.call("COMMAND", "DOCS")
    for name, doc in zip(flat[::2], flat[1::2]):
        note(name, doc)
    found: dict[str, Real] = {}
    rows: list[list[Any]] = list(node.call("COMMAND"))
    while rows:
        row = rows.pop()
        name = row[0].decode()
        rows += row[9]
        doc = docs.get(name, {})
        group, since = (doc.get(field, b"").decode() for field in (b"group", b"since"))
        found[name] = Real(row[1], frozenset(row[2]), (row[3], row[4], row[5]), group, since)
    return found


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Node, ...]]:
    """Redis 7.0, 8.2 and 8.6, and Valkey 9.1."""
    with Lab(tmp_path_factory.mktemp("lab")) as lab:
        yield lab.start("redis7"), lab.start("redis8"), lab.start("redis86"), lab.start("valkey91")


@pytest.fixture(scope="module")
def real(redis: tuple[Node, ...]) -> tuple[dict[str, Real], ...]:
    return tuple(described(node) for node in redis)


def rows() -> list[Command]:
    """Every command and subcommand of ours."""
    return [row for parent in full_table() for row in (parent, *parent.subcommands.values())]


def ours(row: Command) -> Real:
    flags = frozenset(row.flag_names())
    return Real(row.arity, flags, (row.keys.first, row.keys.last, row.keys.step), row.group, row.since)


def test_each_row_agrees_with_a_real_server(real: tuple[dict[str, Real], ...]) -> None:
    differences = []
    for row in rows():
        known = [server[row.wire_name] for server in real[:-1] if row.wire_name in server]
        known = known or [server[row.wire_name] for server in real[-1:] if row.wire_name in server]
        if not known and row.wire_name in OURS:
            continue
        if not known:
            differences.append(f"{row.wire_name}: no real server has it")
            continue
        for field in Real._fields:
            wanted = [getattr(other, field) for other in known]
            if field == "flags":
                wanted = [flags - SHOWN_ALONE for flags in wanted]
            if getattr(ours(row), field) not in wanted:
                differences.append(f"{row.wire_name}: {field} is {getattr(ours(row), field)}, theirs {wanted}")
    assert differences == []


def test_nothing_of_redis_is_missing_but_what_is_listed(real: tuple[dict[str, Real], ...]) -> None:
    have = {row.wire_name for row in rows()}
    missing = {name for name, one in real[0].items() if name not in have and one.group not in NOT_YET_GROUPS}
    assert missing - NOT_YET == set()
    assert NOT_YET & have == set(), "listed as missing, and there"


def test_every_row_says_what_it_does() -> None:
    for row in rows():
        assert row.summary, row.name


@pytest.mark.parametrize(
    "line",
    [
        "GET a",
        "MSET a 1 b 2",
        "DEL a b c",
        "RENAME a b",
        "XREAD COUNT 2 STREAMS a b 0 0",
        "XREADGROUP GROUP g c NOACK STREAMS a >",
        "XGROUP CREATE a g $",
        "XINFO STREAM a",
        "ZUNIONSTORE dst 2 a b WEIGHTS 1 2",
        "ZINTER 2 a b",
        "ZINTERCARD 2 a b LIMIT 1",
        "ZDIFF 3 a b c",
        "ZMPOP 2 a b MIN",
        "LMPOP 2 a b LEFT",
        "BLPOP a b 0",
        "BLMPOP 0 2 a b LEFT",
        "BZMPOP 0 2 a b MIN",
        "BZPOPMAX a b 0",
        "BLMOVE a b LEFT RIGHT 0",
        "SINTERCARD 1 a",
        "SINTERSTORE dst a b",
        "LMOVE a b LEFT RIGHT",
        "COPY a b",
        "BITOP AND dst a b",
        "OBJECT ENCODING a",
        "MEMORY USAGE a",
        "WATCH a b",
        "SORT a BY nosort STORE dst",
        "MSETEX 2 a 1 b 2 NX",
        "XCFGSET a IDMP-MAXSIZE 5",
        "XIDMPRECORD a p i 1-1",
        "DELEX a IFEQ b",
        "DIGEST a",
        "GEOSEARCHSTORE a b FROMMEMBER m BYRADIUS 1 M",
        "GEORADIUS a 1 2 3 m STORE b STOREDIST c",
        "GEORADIUSBYMEMBER a m 3 m COUNT 1 storedist c",
        "PFMERGE a b c",
        "PFDEBUG ENCODING a",
    ],
)
def test_keys_are_found_where_redis_finds_them(redis: tuple[Node, ...], line: str) -> None:
    argv = line.encode().split()
    row = full_table().resolve_in_stream(argv)
    theirs = redis[0 if row.since < "8" else 2].call("COMMAND", "GETKEYS", *argv)
    assert [argv[position] for position in row.keys.positions(argv)] == theirs
