"""COMMAND. Shapes and texts are those of redis-server 7.0.15."""

from __future__ import annotations

from typing import Any

import pytest

from pyrepl.resp.reply import Simple
from tests.unit.commands.rig import Rig


@pytest.fixture
def rig() -> Rig:
    return Rig()


def info(rig: Rig, name: str) -> list[Any]:
    reply = rig.say(f"COMMAND INFO {name}")
    assert isinstance(reply, list) and isinstance(reply[0], list)
    return reply[0]


def words(reply: Any) -> list[str]:
    return [word.text.decode() for word in reply]


class TestInfo:
    def test_get(self, rig: Rig) -> None:
        assert rig.wire("COMMAND INFO get") == (
            b"*1\r\n*10\r\n$3\r\nget\r\n:2\r\n*2\r\n+readonly\r\n+fast\r\n:1\r\n:1\r\n:1\r\n"
            b"*3\r\n+@read\r\n+@string\r\n+@fast\r\n*0\r\n"
            b"*1\r\n*6\r\n$5\r\nflags\r\n*2\r\n+RO\r\n+access\r\n$12\r\nbegin_search\r\n*4\r\n$4\r\ntype\r\n$5\r\nindex"
            b"\r\n$4\r\nspec\r\n*2\r\n$5\r\nindex\r\n:1\r\n$9\r\nfind_keys\r\n*4\r\n$4\r\ntype\r\n$5\r\nrange\r\n$4\r\n"
            b"spec\r\n*6\r\n$7\r\nlastkey\r\n:0\r\n$7\r\nkeystep\r\n:1\r\n$5\r\nlimit\r\n:0\r\n*0\r\n"
        )

    @pytest.mark.parametrize(
        ("name", "arity", "keys", "flags"),
        [
            ("mset", -3, [1, -1, 2], ["write", "denyoom"]),
            ("ping", -1, [0, 0, 0], ["fast"]),
            ("client|list", -2, [0, 0, 0], ["admin", "noscript", "loading", "stale"]),
            ("CLIENT|LIST", -2, [0, 0, 0], ["admin", "noscript", "loading", "stale"]),
            ("memory|usage", -3, [2, 2, 1], ["readonly"]),
            ("role", 1, [0, 0, 0], ["noscript", "loading", "stale", "fast"]),
        ],
    )
    def test_facts(self, rig: Rig, name: str, arity: int, keys: list[int], flags: list[str]) -> None:
        row = info(rig, name)
        assert row[1] == arity
        assert words(row[2]) == flags
        assert row[3:6] == keys

    @pytest.mark.parametrize(
        ("name", "categories"),
        [
            ("client|kill", ["@admin", "@slow", "@dangerous", "@connection"]),
            ("client", ["@slow"]),
            ("info", ["@slow", "@dangerous"]),
            ("lastsave", ["@admin", "@fast", "@dangerous"]),
            ("wait", ["@slow", "@blocking", "@connection"]),
            ("command", ["@slow", "@connection"]),
            ("role", ["@admin", "@fast", "@dangerous"]),
            ("dbsize", ["@keyspace", "@read", "@fast"]),
            ("flushall", ["@keyspace", "@write", "@slow", "@dangerous"]),
            ("zadd", ["@write", "@sortedset", "@fast"]),
            ("publish", ["@pubsub", "@fast"]),
            ("exec", ["@slow", "@transaction"]),
        ],
    )
    def test_categories(self, rig: Rig, name: str, categories: list[str]) -> None:
        """As COMMAND INFO of Redis 8.2 shows them."""
        assert words(info(rig, name)[6]) == categories

    def test_movable_keys(self, rig: Rig) -> None:
        assert "movablekeys" in words(info(rig, "zunionstore")[2])

    def test_subcommands_hang_below(self, rig: Rig) -> None:
        names = [child[0] for child in info(rig, "config")[9]]
        assert sorted(names) == [b"config|get", b"config|help", b"config|resetstat", b"config|rewrite", b"config|set"]

    def test_unknown_is_null(self, rig: Rig) -> None:
        assert rig.wire("COMMAND INFO nosuch client|nosuch") == b"*2\r\n$-1\r\n$-1\r\n"

    def test_sets_and_maps_in_resp3(self, rig: Rig) -> None:
        rig.client.speak(3)
        reply = rig.wire("COMMAND INFO get")
        assert reply.startswith(
            b"*1\r\n*10\r\n$3\r\nget\r\n:2\r\n~2\r\n+readonly\r\n+fast\r\n:1\r\n:1\r\n:1\r\n~3\r\n+@read"
        )
        assert b"~0\r\n~1\r\n%3\r\n$5\r\nflags\r\n~2\r\n+RO\r\n" in reply

    def test_all(self, rig: Rig) -> None:
        assert len(rig.say("COMMAND INFO")) == rig.say("COMMAND COUNT") == len(rig.say("COMMAND"))  # type: ignore[arg-type]


class TestDocs:
    def test_one(self, rig: Rig) -> None:
        docs = rig.say("COMMAND DOCS echo")
        assert docs == {
            b"echo": {
                b"summary": b"Answer the message",
                b"since": b"1.0.0",
                b"group": b"connection",
                b"arguments": [{b"name": b"message", b"type": b"string", b"display_text": b"message"}],
            }
        }

    def test_keys_and_optional_words(self, rig: Rig) -> None:
        docs: Any = rig.say("COMMAND DOCS del memory|usage")
        key = docs[b"del"][b"arguments"][0]
        assert key[b"type"] == b"key" and key[b"key_spec_index"] == 0
        options = docs[b"memory|usage"][b"arguments"][1]
        assert (options[b"flags"], options[b"token"]) == ([Simple(b"optional")], b"SAMPLES")

    def test_subcommands(self, rig: Rig) -> None:
        docs: Any = rig.say("COMMAND DOCS slowlog")
        assert docs[b"slowlog"][b"subcommands"][b"slowlog|len"][b"since"] == b"2.2.12"

    def test_unknown_is_left_out(self, rig: Rig) -> None:
        assert rig.say("COMMAND DOCS nosuch") == {}

    def test_all_encode(self, rig: Rig) -> None:
        assert rig.wire("COMMAND DOCS").startswith(b"*")
        rig.client.speak(3)
        assert rig.wire("COMMAND DOCS").startswith(b"%")


class TestList:
    def test_all_with_subcommands(self, rig: Rig) -> None:
        names = rig.say("COMMAND LIST")
        assert isinstance(names, list)
        assert b"get" in names and b"client|list" in names

    @pytest.mark.parametrize(
        ("filter_", "expected"),
        [
            ("PATTERN xre*", {b"xread", b"xrevrange", b"xreadgroup"}),
            ("pattern CLIENT|LI*", {b"client|list"}),
            ("MODULE foo", set()),
            ("ACLCAT nosuch", set()),
        ],
    )
    def test_filters(self, rig: Rig, filter_: str, expected: set[bytes]) -> None:
        names = rig.say(f"COMMAND LIST FILTERBY {filter_}")
        assert isinstance(names, list)
        assert set(names) == expected

    def test_by_category(self, rig: Rig) -> None:
        names = rig.say("COMMAND LIST FILTERBY ACLCAT transaction")
        assert isinstance(names, list)
        assert set(names) == {b"multi", b"exec", b"discard", b"watch", b"unwatch"}

    @pytest.mark.parametrize("words_", ["foo", "FILTERBY", "FILTERBY foo x", "FILTERBY MODULE a b"])
    def test_errors(self, rig: Rig, words_: str) -> None:
        assert rig.error(f"COMMAND LIST {words_}") == "ERR syntax error"


class TestGetkeys:
    @pytest.mark.parametrize(
        ("line", "keys"),
        [
            ("GET a", [b"a"]),
            ("mset a 1 b 2", [b"a", b"b"]),
            ("ZUNIONSTORE d 2 a b", [b"d", b"a", b"b"]),
            ("OBJECT ENCODING a", [b"a"]),
            ("MEMORY USAGE a SAMPLES 5", [b"a"]),
            ("XREAD COUNT 2 STREAMS a b 0 0", [b"a", b"b"]),
        ],
    )
    def test_keys(self, rig: Rig, line: str, keys: list[bytes]) -> None:
        assert rig.say(f"COMMAND GETKEYS {line}") == keys

    def test_with_flags(self, rig: Rig) -> None:
        assert rig.say("COMMAND GETKEYSANDFLAGS get a") == [[b"a", [Simple(b"RO"), Simple(b"access")]]]

    @pytest.mark.parametrize(
        ("line", "text"),
        [
            ("foo x", "ERR Invalid command specified"),
            ("object|encoding encoding a", "ERR Invalid command specified"),
            ("object nosuch a", "ERR Invalid command specified"),
            ("ping x", "ERR The command has no key arguments"),
            ("mset a", "ERR Invalid number of arguments specified for command"),
            ("zunion x a", "ERR Invalid arguments specified for command"),
        ],
    )
    def test_errors(self, rig: Rig, line: str, text: str) -> None:
        assert rig.error(f"COMMAND GETKEYS {line}") == text


def test_help(rig: Rig) -> None:
    assert b"+GETKEYS <full-command>\r\n" in rig.wire("COMMAND HELP")
