"""Kinds of value: ranges at their edges, Redis's error texts (compared with 7.0.15), text and lines."""

from __future__ import annotations

from typing import Any

import pytest

from pyrepl.config.kinds import (
    Addresses,
    BufferLimit,
    BufferLimits,
    CacheRules,
    Choice,
    Integer,
    KeyspaceEvents,
    Kind,
    MasterAddress,
    Memory,
    OctalMode,
    OutputBufferLimits,
    Percentiles,
    RdbVersion,
    Rename,
    Renames,
    ReplicaOf,
    SavePoint,
    SavePoints,
    Secret,
    Text,
    YesNo,
    shortest_memory,
)
from pyrepl.errors import ConfigError

LIMITS = BufferLimits(BufferLimit(0, 0, 0), BufferLimit(10, 5, 60), BufferLimit(32, 8, 60))

GOOD: list[tuple[Kind[Any], Any, list[bytes], Any, bytes]] = [
    (YesNo(), False, [b"YES"], True, b"yes"),
    (YesNo(), True, [b"no"], False, b"no"),
    (Integer(-1, 5), 0, [b"-1"], -1, b"-1"),
    (Integer(-1, 5), 0, [b"5"], 5, b"5"),
    (Memory(1), 0, [b"1"], 1, b"1"),
    (Memory(), 0, [b"64MB"], 64 << 20, b"67108864"),
    (Memory(), 0, [b"2k"], 2000, b"2000"),
    (OctalMode(), 0, [b"0700"], 0o700, b"700"),
    (OctalMode(), 0, [b"777"], 0o777, b"777"),
    (OctalMode(), 0, [b"0"], 0, b"0"),
    (Text(), "", [b"a b"], "a b", b"a b"),
    (Text(), "x", [b""], "", b""),
    (Text(), "", [b"\xff"], "\udcff", b"\xff"),
    (Text(path=False), "", [b"dump.rdb"], "dump.rdb", b"dump.rdb"),
    (Secret(), b"", [b"\x00\xff"], b"\x00\xff", b"\x00\xff"),
    (Secret(), b"", [b"x" * 512], b"x" * 512, b"x" * 512),
    (Choice("a", "b"), "a", [b"B"], "b", b"b"),
    (RdbVersion(10, 11), None, [b"11"], 11, b"11"),
    (RdbVersion(10, 11), 10, [b"Auto"], None, b"auto"),
    (Addresses(), (), [b"*", b"-::*"], ("*", "-::*"), b"* -::*"),
    (Addresses(), ("*",), [b""], (), b""),
    (SavePoints(), (), [b"900", b"1", b"60", b"5"], (SavePoint(900, 1), SavePoint(60, 5)), b"900 1 60 5"),
    (SavePoints(), (SavePoint(1, 1),), [b""], (), b""),
    (SavePoints(), (SavePoint(1, 1),), [], (), b""),
    (
        OutputBufferLimits(),
        LIMITS,
        [b"slave", b"1mb", b"2kb", b"3", b"Normal", b"1", b"2", b"3"],
        BufferLimits(BufferLimit(1, 2, 3), BufferLimit(1 << 20, 2048, 3), LIMITS.pubsub),
        b"normal 1 2 3 slave 1048576 2048 3 pubsub 32 8 60",
    ),
    (ReplicaOf(), None, [b"db1", b"6379"], MasterAddress("db1", 6379), b"db1 6379"),
    (ReplicaOf(), MasterAddress("db1", 1), [b"NO", b"one"], None, b""),
    (KeyspaceEvents(), "", [b"KEA"], "AKE", b"AKE"),
    (KeyspaceEvents(), "", [b"g$lshzxetd"], "A", b"A"),
    (KeyspaceEvents(), "", [b"nmxK"], "xnKm", b"xnKm"),
    (KeyspaceEvents(), "", [b"KEAonc"], "AnocKE", b"AnocKE"),
    (KeyspaceEvents(), "A", [b""], "", b""),
    (Percentiles(), (), [b"0", b"99.90", b"100"], (0.0, 99.9, 100.0), b"0 99.9 100"),
    (Percentiles(), (50.0,), [b""], (), b""),
]


@pytest.mark.parametrize(("kind", "current", "words", "value", "text"), GOOD)
def test_reads_and_shows(kind: Kind[Any], current: Any, words: list[bytes], value: Any, text: bytes) -> None:
    assert kind.parse(words, current) == value
    assert kind.text(value) == text


@pytest.mark.parametrize(("kind", "current", "words", "value", "text"), GOOD)
def test_lines_read_back(kind: Kind[Any], current: Any, words: list[bytes], value: Any, text: bytes) -> None:
    lines = kind.lines(value)
    if not lines:
        assert value in (None, "", b"")
        return
    read = kind.parse(lines[0], current)
    for line in lines[1:]:
        read = kind.again(line, read)
    assert read == value


BAD: list[tuple[Kind[Any], list[bytes], str]] = [
    (YesNo(), [b"maybe"], "argument must be 'yes' or 'no'"),
    (YesNo(), [], "wrong number of arguments"),
    (YesNo(), [b"yes", b"no"], "wrong number of arguments"),
    (Integer(0, 5), [b"6"], "argument must be between 0 and 5 inclusive"),
    (Integer(0, 5), [b"-1"], "argument must be between 0 and 5 inclusive"),
    (Integer(), [b"1.5"], "argument couldn't be parsed into an integer"),
    (Integer(), [b""], "argument couldn't be parsed into an integer"),
    (Integer(), [b"-"], "argument couldn't be parsed into an integer"),
    (Integer(), [b"01"], "argument couldn't be parsed into an integer"),
    (Integer(), [b"1" * 30], "argument couldn't be parsed into an integer"),
    (Memory(1), [b"0"], "argument must be between 1 and 9223372036854775807 inclusive"),
    (Memory(), [b"1tb"], "argument must be a memory value"),
    (Memory(), [b"-1"], "argument must be a memory value"),
    (Memory(), [b"10%"], "argument must be a memory value"),
    (OctalMode(), [b"999"], "argument couldn't be parsed as an octal number"),
    (OctalMode(), [b""], "argument couldn't be parsed as an octal number"),
    (OctalMode(), [b"1000"], "argument must be between 0 and 777 inclusive"),
    (Text(), [b"a", b"b"], "wrong number of arguments"),
    (Text(), [b"a\0"], "argument must not contain a zero byte"),
    (Text(path=False), [b"a/b"], "dbfilename can't be a path, just a filename"),
    (Text(needed=True), [b""], "argument must not be empty"),
    (Secret(needed=True), [b""], "argument must not be empty"),
    (Secret(), [b"x" * 513], "argument must be no longer than 512 bytes"),
    (Choice("a", "b"), [b"c"], "argument(s) must be one of the following: a, b"),
    (RdbVersion(10, 11), [b"12"], "argument(s) must be one of the following: auto, 10, 11"),
    (Addresses(), [], "wrong number of arguments"),
    (Addresses(), [b"a"] * 17, "Too many bind addresses specified."),
    (Addresses(), [b"-"], "'-' must be followed by an address"),
    (SavePoints(), [b"1"], "Invalid save parameters"),
    (SavePoints(), [b"0", b"1"], "Invalid save parameters"),
    (SavePoints(), [b"1", b"-1"], "Invalid save parameters"),
    (SavePoints(), [b"1", b"9" * 30], "Invalid save parameters"),
    (OutputBufferLimits(), [b"normal", b"1", b"2"], "Wrong number of arguments in buffer limit configuration."),
    (OutputBufferLimits(), [], "Wrong number of arguments in buffer limit configuration."),
    (
        OutputBufferLimits(),
        [b"x", b"1", b"2", b"3"],
        "Invalid client class specified in buffer limit configuration.",
    ),
    (
        OutputBufferLimits(),
        [b"normal", b"1", b"2", b"-3"],
        "Error in hard, soft or soft_seconds setting in buffer limit configuration.",
    ),
    (
        OutputBufferLimits(),
        [b"normal", b"1", b"x", b"3"],
        "Error in hard, soft or soft_seconds setting in buffer limit configuration.",
    ),
    (ReplicaOf(), [b"db1"], "wrong number of arguments"),
    (ReplicaOf(), [b"db1", b"0"], "Invalid master port"),
    (ReplicaOf(), [b"db1", b"65536"], "Invalid master port"),
    (ReplicaOf(), [b"", b"1"], "Invalid master port"),
    (Percentiles(), [b"50", b"x"], "Invalid latency-tracking-info-percentiles parameters"),
    (Percentiles(), [b"nan"], "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]"),
    (Percentiles(), [b"-1"], "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]"),
    (KeyspaceEvents(), [b"zzq"], "Invalid event class character. Use 'Ag$lshzxeKEtmdn'."),
]


@pytest.mark.parametrize(("kind", "words", "reason"), BAD)
def test_refuses_in_redis_words(kind: Kind[Any], words: list[bytes], reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        kind.parse(words, LIMITS)
    assert str(caught.value) == reason


def test_save_lines_add_up_until_an_empty_one() -> None:
    kind = SavePoints()
    first = kind.parse([b"1", b"1"], ())
    both = kind.again([b"2", b"2"], first)
    assert both == (SavePoint(1, 1), SavePoint(2, 2))
    assert kind.again([b""], both) == ()


def test_renames_come_in_pairs_and_add_up() -> None:
    kind = Renames()
    one = kind.parse([b"CONFIG", b"x"], ())
    both = kind.again([b"FLUSHALL", b""], one)
    assert both == (Rename(b"CONFIG", b"x"), Rename(b"FLUSHALL", b""))
    assert kind.lines(both) == [[b"CONFIG", b"x"], [b"FLUSHALL", b""]]
    assert kind.parse([b""], both) == ()
    for words in ([b"CONFIG"], [b"", b"x"], [b"a", b"b", b"c"]):
        with pytest.raises(ConfigError):
            kind.parse(words, ())


def test_cache_rules_are_pairs_whose_lines_add_up() -> None:
    kind = CacheRules()
    first = kind.parse([b"user:*", b"users"], ())
    both = kind.again([b"post:*", b"posts", b"tag:*", b"posts"], first)
    assert [rule.pattern for rule in both] == [b"user:*", b"post:*", b"tag:*"]
    assert kind.text(both) == b"user:* users post:* posts tag:* posts"
    assert kind.lines(both)[0] == [b"user:*", b"users"]
    assert kind.parse([b""], both) == kind.again([b""], both) == ()
    for words in ([b"user:*"], [b"a", b""]):
        with pytest.raises(ConfigError, match="pairs of a pattern of keys and the name of a cache"):
            kind.parse(words, ())


def test_other_kinds_let_the_last_line_win() -> None:
    assert Integer().again([b"2"], 1) == 2


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, b"0"), (1000, b"1000"), (1024, b"1kb"), (1536, b"1536"), (64 << 20, b"64mb"), (1 << 30, b"1gb")],
)
def test_memory_in_the_largest_unit_that_divides_it(size: int, text: bytes) -> None:
    assert shortest_memory(size) == text
