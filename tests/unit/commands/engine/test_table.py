"""The table: rows, look-up, keys; and what must hold for every command there is."""

from __future__ import annotations

import hashlib
import pkgutil
import shlex
from importlib import import_module
from types import ModuleType

import pytest

import pyrepl.commands
from pyrepl.commands.describe.introspection import FAMILIES
from pyrepl.commands.engine.table import (
    ALL_ARGS,
    COUNTED_PAIRS,
    EVERY_SECOND,
    FAST,
    FIRST_ARG,
    NO_KEYS,
    READONLY,
    WRITE,
    Command,
    Keys,
    Table,
    command,
    container,
    numkeys_at,
)
from pyrepl.errors import CommandError
from tests.unit.commands.desk import Desk
from tests.unit.commands.rig import full_table


def rows() -> list[Command]:
    return [row for module in FAMILIES for row in vars(module).values() if isinstance(row, Command)]


class TestEveryCommand:
    def test_every_family_is_listed(self) -> None:
        """A module with commands that families.py does not know would be dead code."""
        found = set()
        for module_info in pkgutil.walk_packages(pyrepl.commands.__path__, "pyrepl.commands."):
            module = import_module(module_info.name)
            if any(isinstance(row, Command) and row.fn.__module__ == module.__name__ for row in vars(module).values()):
                found.add(module.__name__)
        assert found == {module.__name__ for module in FAMILIES}

    @pytest.mark.parametrize("row", rows(), ids=lambda row: row.name)
    def test_row(self, row: Command) -> None:
        assert row.summary, "the docstring's first line is the summary"
        assert row.name == row.name.upper()
        assert row.arity != 0
        assert row.flags & (WRITE | READONLY) != WRITE | READONLY
        assert not (row.flags & READONLY and row.keys is NO_KEYS) or row.group in ("generic", "server")

    @pytest.mark.parametrize("row", rows(), ids=lambda row: row.name)
    def test_keys_lie_within_the_shortest_call(self, row: Command) -> None:
        argv = [b"1"] * abs(row.arity)
        assert all(0 < position < len(argv) for position in row.keys.positions(argv))

    def test_names_of_all_kinds_are_there(self) -> None:
        table = full_table()
        for name in (b"GET", b"LPUSH", b"SADD", b"HSET", b"ZADD", b"XADD", b"EXPIRE", b"MULTI", b"SUBSCRIBE", b"INFO"):
            assert table.find(name) is not None


class TestLookup:
    def test_any_case(self) -> None:
        table = full_table()
        row = table.find(b"GET")
        assert row is not None and table.find(b"get") is row is table.find(b"gEt")
        assert table.find(b"nosuch") is None

    def test_resolve(self) -> None:
        table = full_table()
        assert table.resolve_in_stream([b"client", b"LIST"]).name == "CLIENT|LIST"
        with pytest.raises(CommandError, match="wrong number of arguments for 'client' command"):
            table.resolve_in_stream([b"client"])

    def test_iteration(self) -> None:
        table = full_table()
        assert len(list(table)) == len(table)
        assert all("|" not in row.name for row in table)


class TestKeys:
    @pytest.mark.parametrize(
        ("keys", "line", "positions"),
        [
            (NO_KEYS, "PING x", []),
            (FIRST_ARG, "GET a", [1]),
            (ALL_ARGS, "DEL a b c", [1, 2, 3]),
            (EVERY_SECOND, "MSET a 1 b 2", [1, 3]),
            (Keys(1, -2, 1), "BLPOP a b 0", [1, 2]),
            (numkeys_at(1), "ZUNION 2 a b", [2, 3]),
            (numkeys_at(2, leading=1), "ZUNIONSTORE d 2 a b WEIGHTS 1 2", [1, 3, 4]),
            (numkeys_at(1), "ZUNION x a b", []),
            (numkeys_at(1), "ZUNION 5 a b", []),
            (COUNTED_PAIRS, "MSETEX 2 a 1 b 2 NX", [2, 4]),
            (COUNTED_PAIRS, "MSETEX 2 a 1 b", []),
            (numkeys_at(2, leading=1), "ZUNIONSTORE d 9 a", [1]),
        ],
    )
    def test_positions(self, keys: Keys, line: str, positions: list[int]) -> None:
        assert keys.positions([word.encode() for word in line.split()]) == positions


class TestRows:
    def test_a_function_becomes_a_row(self) -> None:
        @command("TRY", arity=-2, flags=WRITE | FAST, keys=FIRST_ARG, group="string", since="9.9.9")
        def try_(call: object, key: bytes) -> None:
            """Try something

            And more.
            """

        assert (try_.name, try_.wire_name, try_.summary) == ("TRY", "try", "Try something")
        assert try_.flag_names() == ["write", "fast"]

    @pytest.mark.parametrize(
        ("arity", "size", "fits"),
        [(2, 2, True), (2, 1, False), (2, 3, False), (-2, 2, True), (-2, 9, True), (-2, 1, False)],
    )
    def test_arity(self, arity: int, size: int, fits: bool) -> None:
        row = Command("TRY", lambda: None, arity, 0, NO_KEYS, "string", "1.0.0")
        assert (row.why_not_arity(size) is None) is fits

    def test_twice_the_same_name(self) -> None:
        first, second = ModuleType("first"), ModuleType("second")
        for module in (first, second):
            row = Command("TRY", lambda: None, 1, 0, NO_KEYS, "string", "1.0.0")
            row.fn.__module__ = module.__name__
            vars(module)["row"] = row
        with pytest.raises(ValueError, match="TRY stands in the table twice"):
            Table([first, second])

    def test_a_subcommand_needs_its_container(self) -> None:
        module = ModuleType("orphans")
        row = Command("PARENT|CHILD", lambda: None, 2, 0, NO_KEYS, "string", "1.0.0")
        row.fn.__module__ = module.__name__
        vars(module)["row"] = row
        with pytest.raises(ValueError, match="has no container row PARENT"):
            Table([module])

    def test_a_container_refuses_to_run_alone(self) -> None:
        with pytest.raises(CommandError, match="wrong number of arguments for 'box' command"):
            container("BOX", group="server").fn(None)


@pytest.mark.parametrize("row", [row for row in rows() if row.words is not None], ids=lambda row: row.name)
def test_words_and_arguments_come_to_the_same(row: Command) -> None:
    """The function of a hot command, which tells of its arguments, hands them on in the right places."""
    by_words, by_arguments = Desk(*FAMILIES), Desk(*FAMILIES)
    entry = by_arguments.dispatcher._by_name[row.name.encode()]
    assert entry.words is row.words
    entry.words = None
    lines = [line for line in HOT_LINES if line.startswith(row.name)]
    assert lines
    for line in (*PREPARED, *lines):
        words = shlex.split(line)
        assert by_words.encoded(*words) == by_arguments.encoded(*words)
    assert by_words.propagated() == by_arguments.propagated()


_SCRIPT = "return{KEYS[1],ARGV[1],redis.call('INCR','n')}"
_SHA = hashlib.sha1(_SCRIPT.encode()).hexdigest()
_LIBRARY = "#!lua name=lib\nredis.register_function('f', function(keys, args) return {keys[1], args[1]} end)"
PREPARED = (
    "SET text word",
    "RPUSH list a b c d e f",
    "SADD set a",
    "HSET hash f v",
    "ZADD zset 1 a",
    "GEOADD places 13.361389 38.115556 Palermo 15.087269 37.502669 Catania",
    f'SCRIPT LOAD "{_SCRIPT}"',
    f'FUNCTION LOAD "{_LIBRARY}"',
)
HOT_LINES = (
    f"EVALSHA {_SHA} 1 key argument",
    f"EVALSHA {_SHA} 0",
    f"EVALSHA {_SHA} 2 key",
    f"EVALSHA {_SHA} x",
    "EVALSHA nosuch 0",
    "FCALL f 1 key argument",
    "FCALL f 0",
    "FCALL f x",
    "FCALL nosuch 0",
    "GEOSEARCH places FROMLONLAT 15 37 BYRADIUS 200 km ASC",
    "GEOSEARCH places FROMMEMBER Palermo BYBOX 400 400 km WITHDIST WITHCOORD COUNT 1",
    "GEOSEARCH places FROMLONLAT 15 37 BYRADIUS 200 parsecs",
    "GEOSEARCH none FROMLONLAT 15 37 BYRADIUS 200 km",
    "GEOSEARCH text FROMLONLAT 15 37 BYRADIUS 200 km",
    "GET text",
    "GET none",
    "GET list",
    "SET text other",
    "SET text other NX",
    "SET text other XX GET",
    "SET text other EX 10",
    "MSET one 1 two 2",
    "MSET one 1 two",
    "INCR number",
    "INCR number",
    "INCR text",
    "PFADD visitors a b",
    "PFADD visitors a",
    "PFADD text a",
    "LPUSH list x",
    "LPUSH list x y z",
    "LPUSH new x y z",
    "LPUSH text x",
    "RPUSH list x",
    "RPUSH list x y z",
    "RPUSH new x y z",
    "RPUSH text x",
    "LPOP list",
    "LPOP list 2",
    "LPOP list 2 3",
    "LPOP none",
    "LRANGE list 0 -1",
    "LRANGE list 2 3",
    "LRANGE list x 3",
    "SADD set a",
    "SADD set b",
    "SADD set a b c",
    "SADD new a b a",
    "SADD text a",
    "SPOP set",
    "SPOP set 3",
    "SPOP set 3 4",
    "SPOP none",
    "HSET hash f w",
    "HSET hash g w h w",
    "HSET hash g",
    "HSET new g w",
    "HSET text g w",
    "ZADD zset 2 a",
    "ZADD zset 1.5 b",
    "ZADD zset x b",
    "ZADD zset NX 3 a 4 c",
    "ZADD new CH 3 a",
    "ZADD text 3 a",
)
