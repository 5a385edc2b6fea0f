"""Commands on keys: what copies share, what WATCH hears, what propagates. More in tests/property."""

from __future__ import annotations

import pytest

from pyrepl.errors import CommandError
from pyrepl.keyspace.packed import Packed
from pyrepl.resp.reply import NULL_ARRAY, OK, Simple
from tests.unit.commands.rig import Rig


@pytest.fixture
def rig() -> Rig:
    rig = Rig()
    rig.stream()
    return rig


def test_del_counts_keys_that_were_there(rig: Rig) -> None:
    rig.say("MSET a 1 b 2")
    assert rig.say("DEL a a nosuch b") == 2
    assert rig.say("UNLINK a") == 0
    assert rig.stream() == ["SELECT 0", "MSET a 1 b 2", "DEL a a nosuch b"]


def test_deleting_an_expired_key_deletes_nothing(rig: Rig) -> None:
    rig.say("SET a 1 PX 1")
    rig.pass_s(1)
    rig.stream()
    assert rig.say("DEL a") == 0
    assert rig.stream() == ["DEL a"]


def test_rename_carries_the_time_to_live_and_replaces(rig: Rig) -> None:
    rig.say("SET a 1 EX 10")
    rig.say("SET b 2")
    assert rig.say("RENAMENX a b") == 0
    assert rig.say("RENAME a b") == OK
    assert rig.say("GET b") == b"1"
    assert rig.say("PTTL b") == 10_000
    assert rig.say("EXISTS a") == 0
    assert rig.error("RENAME a b") == "ERR no such key"


def test_rename_tells_who_watches_either_name(rig: Rig) -> None:
    for watched in ("a", "b"):
        rig.say("SET a 1")
        rig.say("DEL b")
        rig.say(f"WATCH {watched}")
        rig.say("RENAME a b", client=rig.connect())
        rig.say("MULTI")
        assert rig.say("EXEC") == NULL_ARRAY


def test_a_copy_shares_nothing_that_can_change(rig: Rig) -> None:
    lines = ("RPUSH list a", "SADD set a", "HSET hash a 1", "ZADD zset 1 a", "XADD stream 1-1 a 1", "SET string a")
    for line in lines:
        rig.say(line)
        name = line.split()[1]
        assert rig.say(f"COPY {name} copy:{name}") == 1
    rig.say("XGROUP CREATE stream g 0")
    rig.say("COPY stream copy:stream REPLACE")
    digests = rig.say("DEBUG DIGEST-VALUE list set hash zset stream string")
    for line in (
        "RPUSH list b",
        "SADD set b",
        "HSET hash a 2",
        "ZADD zset 2 a",
        "XADD stream 2-1 a 1",
        "APPEND string b",
    ):
        rig.say(line)
    rig.say("XREADGROUP GROUP g c STREAMS stream >")
    copies = "copy:list copy:set copy:hash copy:zset copy:stream copy:string"
    assert rig.say(f"DEBUG DIGEST-VALUE {copies}") == digests
    assert rig.say("XPENDING copy:stream g") == [0, None, None, NULL_ARRAY]


def test_copy_to_another_database_keeps_the_time_to_live(rig: Rig) -> None:
    rig.say("SET a 1 EX 10")
    rig.stream()
    assert rig.say("COPY a a DB 3") == 1
    assert rig.say("COPY a a DB 3") == 0
    assert rig.stream() == ["COPY a a DB 3"]
    rig.say("SELECT 3")
    assert rig.say("PTTL a") == 10_000


def test_move(rig: Rig) -> None:
    rig.say("SET a 1 EX 10")
    assert rig.say("MOVE a 1") == 1
    assert rig.say("MOVE a 1") == 0
    assert rig.say("EXISTS a") == 0
    rig.say("SELECT 1")
    assert rig.say("PTTL a") == 10_000


def test_keys_and_types(rig: Rig) -> None:
    rig.say("MSET one 1 two 2 three 3")
    assert sorted(rig.say("KEYS t*")) == [b"three", b"two"]  # type: ignore[arg-type, type-var]
    assert rig.say("TYPE one") == Simple(b"string")
    assert rig.say("TYPE four") == Simple(b"none")
    assert rig.say("RANDOMKEY") in (b"one", b"two", b"three")
    assert rig.say("EXISTS one one four") == 2
    assert rig.say("TOUCH one four") == 1


MADE = ["HSET k f v", "HSET k f v g w", "RPUSH k a", "LPUSH k a b", "ZADD k 1 m", "ZADD k 1 m 2 n"]
ASKED = ["EXISTS k", "TOUCH k", "TYPE k", "EXPIRE k 100", "TTL k", "PERSIST k", "SCAN 0 TYPE hash", "OBJECT ENCODING k"]
ASKED += [
    "MEMORY USAGE k",
    "DUMP k",
    "RENAME k k2",
    "COPY k k2",
    "MOVE k 1",
    "SETNX k x",
    "DEBUG OBJECT k",
    "RANDOMKEY",
]


@pytest.mark.parametrize("make", MADE)
@pytest.mark.parametrize("line", ASKED)
def test_what_asks_about_a_key_leaves_its_value_packed(rig: Rig, make: str, line: str) -> None:
    rig.say(make)
    assert not isinstance(rig.say(line), CommandError)
    kept = [value for db in rig.node.keyspace.databases for value in db.store.values.values()]
    assert kept and all(isinstance(value, Packed) for value in kept)
