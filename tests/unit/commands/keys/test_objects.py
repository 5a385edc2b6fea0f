"""OBJECT: the encodings of Redis 7.2 and later, computed from contents and thresholds."""

from __future__ import annotations

import pytest

from pyrepl.resp.reply import Simple
from tests.unit.commands.rig import Rig


@pytest.mark.parametrize(
    ("line", "encoding"),
    [
        ("SET k 12", b"int"),
        ("SET k 012", b"embstr"),
        ("SET k " + "x" * 44, b"embstr"),
        ("SET k " + "x" * 45, b"raw"),
        ("RPUSH k a b", b"listpack"),
        ("RPUSH k " + "x" * 9000, b"quicklist"),
        ("SADD k 1 2", b"intset"),
        ("SADD k 1 a", b"listpack"),
        ("SADD k " + "x" * 65, b"hashtable"),
        ("HSET k a 1", b"listpack"),
        ("HSET k a " + "x" * 65, b"hashtable"),
        ("ZADD k 1 a", b"listpack"),
        ("ZADD k 1 " + "x" * 65, b"skiplist"),
        ("XADD k 1-1 a 1", b"stream"),
    ],
)
def test_encodings(line: str, encoding: bytes) -> None:
    rig = Rig()
    rig.say(line)
    assert rig.say("OBJECT ENCODING k") == encoding


def test_encodings_by_the_number_of_elements() -> None:
    rig = Rig(
        set_max_intset_entries=3, set_max_listpack_entries=4, hash_max_listpack_entries=2, list_max_listpack_size=2
    )
    for line, encoding in (
        ("SADD k 1 2 3", b"intset"),
        ("SADD k 4", b"listpack"),
        ("SADD k 5", b"hashtable"),
        ("HSET h a 1 b 2", b"listpack"),
        ("HSET h c 3", b"hashtable"),
        ("RPUSH l a b", b"listpack"),
        ("RPUSH l c", b"quicklist"),
    ):
        rig.say(line)
        assert rig.say(f"OBJECT ENCODING {line.split()[1]}") == encoding


def test_a_hash_with_times_to_live() -> None:
    rig = Rig()
    rig.say("HSET k a 1")
    rig.say("HEXPIRE k 100 FIELDS 1 a")
    assert rig.say("OBJECT ENCODING k") == b"listpackex"


def test_an_idle_time_that_nobody_keeps_is_not_told() -> None:
    rig = Rig()
    rig.say("SET text x")
    assert rig.say("OBJECT IDLETIME nosuch") is None
    assert rig.error("OBJECT IDLETIME text").startswith("ERR An LRU maxmemory policy is not selected")


def test_the_rest() -> None:
    rig = Rig()
    rig.say("MSET small 9999 big 10000 text x")
    assert [rig.say(f"OBJECT REFCOUNT {key}") for key in ("small", "big", "text", "nosuch")] == [2**31 - 1, 1, 1, None]
    assert rig.say("OBJECT FREQ nosuch") is None
    assert rig.error("OBJECT FREQ text").startswith("ERR An LFU maxmemory policy is not selected")
    assert rig.error("OBJECT FOO text") == "ERR unknown subcommand 'FOO'. Try OBJECT HELP."
    help_lines = rig.say("OBJECT HELP")
    assert isinstance(help_lines, list)
    assert help_lines[0] == Simple(b"OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:")
