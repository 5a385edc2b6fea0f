"""Conditions on strings. That replies are those of Redis 8.6 is shown by tests/property/test_differential_newer.py."""

from __future__ import annotations

import pytest

from pyrepl.commands.strings.comparisons import Condition, string_digest
from pyrepl.errors import CommandError
from pyrepl.resp.reply import OK
from tests.unit.commands.rig import Rig

V = "f7042be43fb80714"
"""What Redis 8.6.3 answers to DIGEST of `v`."""


@pytest.fixture
def rig() -> Rig:
    rig = Rig()
    rig.say("SET k v")
    rig.say("RPUSH l x")
    rig.stream()
    return rig


def test_delifeq_deletes_what_is_stated(rig: Rig) -> None:
    assert rig.error("DELIFEQ l v").startswith("WRONGTYPE")
    assert rig.say("DELIFEQ none v") == 0
    assert rig.say("DELIFEQ k w") == 0
    assert rig.stream() == []
    assert rig.say("DELIFEQ k v") == 1
    assert rig.stream()[-1:] == ["DEL k"]


def test_the_digest_is_redis_s(rig: Rig) -> None:
    assert string_digest(b"v").decode() == V
    assert string_digest(b"") == b"2d06800538d394c2"
    assert rig.say("DIGEST k") == V.encode()
    assert rig.say("DIGEST none") is None
    assert rig.error("DIGEST l").startswith("WRONGTYPE")


@pytest.mark.parametrize(
    ("word", "expected", "holds"),
    [
        (b"IFEQ", b"v", True),
        (b"IFEQ", b"V", False),
        (b"IFNE", b"v", False),
        (b"IFNE", b"", True),
        (b"IFDEQ", V.encode(), True),
        (b"IFDEQ", V.upper().encode(), True),
        (b"IFDEQ", b"0" * 16, False),
        (b"IFDNE", V.encode(), False),
        (b"IFDNE", b"g" * 16, True),
    ],
)
def test_conditions(word: bytes, expected: bytes, holds: bool) -> None:
    assert Condition(word, expected).is_met_by(b"v") is holds


def test_a_digest_has_sixteen_digits() -> None:
    for word in (b"IFDEQ", b"IFDNE"):
        with pytest.raises(CommandError, match="ERR must be exactly 16 hexadecimal characters"):
            Condition(word, b"0" * 15).is_met_by(b"v")


def test_set_on_a_condition_propagates_as_it_came_but_for_get_and_spans(rig: Rig) -> None:
    assert rig.say("SET k w IFEQ x") is None
    assert rig.say("SET k w IFEQ v") == OK
    assert rig.say("SET k get IFEQ w GET") == b"w"
    assert rig.say("SET k x IFEQ get GET KEEPTTL") == b"get"
    assert rig.say("SET none x IFDEQ y") is None
    assert rig.say("SET none x IFDNE y") == OK
    assert rig.stream() == [
        "SELECT 0",
        "SET k w IFEQ v",
        "SET k get IFEQ w",
        "SET k x IFEQ get KEEPTTL",
        "SET none x IFDNE y",
    ]


def test_get_with_a_digest_that_cannot_be_one_is_one_reply(rig: Rig) -> None:
    """Redis 8.6.3 answers twice there."""
    assert rig.error("SET k w IFDEQ x GET") == "ERR must be exactly 16 hexadecimal characters"
    assert rig.say("GET k") == b"v"


def test_delex_propagates_as_del(rig: Rig) -> None:
    assert rig.say("DELEX k IFEQ w") == 0
    assert rig.say("DELEX k IFDEQ " + V) == 1
    assert rig.say("DELEX k IFXX v") == 0
    assert rig.error("DELEX l IFEQ x") == "ERR Key should be of string type if conditions are specified"
    assert rig.say("DELEX l") == 1
    assert rig.stream() == ["SELECT 0", "DEL k", "DELEX l"]


def test_a_replica_does_what_its_master_says(rig: Rig) -> None:
    rig.follow()
    link = rig.node.replication.link_client
    rig.say("SET k w IFEQ v", client=link)
    rig.say("MSETEX 2 a 1 b 2 PXAT 4000000000000", client=link)
    rig.say("DELEX l", client=link)
    assert rig.say("MGET k a b") == [b"w", b"1", b"2"]
    assert rig.say("EXISTS l") == 0
