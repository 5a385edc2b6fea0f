"""SORT: the ways to order and to look up. Texts and corner cases are compared in tests/property."""

from __future__ import annotations

import pytest

from pyrepl.commands.keys.sort import sort
from tests.unit.commands.rig import Rig


@pytest.fixture
def rig() -> Rig:
    rig = Rig()
    rig.say("RPUSH list 3 1 10 2")
    rig.say("MSET w_3 c w_1 d w_10 a w_2 b")
    rig.say("HSET h_1 f one")
    rig.stream()
    rig.say("SET first v")
    rig.stream()
    return rig


def test_orders(rig: Rig) -> None:
    assert rig.say("SORT list") == [b"1", b"2", b"3", b"10"]
    assert rig.say("SORT list ALPHA DESC") == [b"3", b"2", b"10", b"1"]
    assert rig.say("SORT list BY w_* ALPHA") == [b"10", b"2", b"3", b"1"]
    assert rig.say("SORT list BY constant") == [b"3", b"1", b"10", b"2"]
    assert rig.say("SORT list LIMIT 1 2") == [b"2", b"3"]


def test_look_ups(rig: Rig) -> None:
    assert rig.say("SORT list LIMIT 0 2 GET # GET w_* GET h_*->f GET nosuch_* GET x") == [
        b"1", b"d", b"one", None, None, b"2", b"b", None, None, None,
    ]  # fmt: skip


def test_a_field_whose_time_has_passed_is_not_found(rig: Rig) -> None:
    rig.say("HPEXPIRE h_1 100 FIELDS 1 f")
    assert rig.say("SORT list LIMIT 0 1 GET h_*->f") == [b"one"]
    rig.pass_s(0.1)
    assert rig.say("SORT list LIMIT 0 1 GET h_*->f") == [None]


def test_a_stored_result_is_a_list_and_an_empty_one_deletes(rig: Rig) -> None:
    assert rig.say("SORT list GET h_*->f STORE target") == 4
    assert rig.say("LRANGE target 0 -1") == [b"one", b"", b"", b""]
    assert rig.stream() == ["SORT list GET h_*->f STORE target"]
    assert rig.say("SORT nosuch STORE target") == 0
    assert rig.say("EXISTS target") == 0


def test_a_set_is_stored_in_an_order_that_every_replica_finds(rig: Rig) -> None:
    rig.say("SADD set c a b")
    assert rig.say("SORT set BY constant STORE target") == 3
    assert rig.say("LRANGE target 0 -1") == [b"a", b"b", b"c"]


def test_errors(rig: Rig) -> None:
    rig.say("RPUSH words a b")
    assert rig.error("SORT words") == "ERR One or more scores can't be converted into double"
    assert rig.error("SORT_RO list STORE x") == "ERR syntax error"
    assert rig.error("SORT w_1").startswith("WRONGTYPE")


def test_keys_of_a_call() -> None:
    argv = b"SORT list BY store GET STORE LIMIT 0 store STORE one STORE two".split()
    assert [argv[i] for i in sort.keys.positions(argv)] == [b"list", b"two"]
    assert sort.keys.positions([b"SORT", b"list", b"STORE"]) == [1]
