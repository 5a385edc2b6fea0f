"""Who may have synced with whom, where no log names both ends and no stream's id tells."""

from __future__ import annotations

import pytest

from pyrepl.metrics.meets import FEW, NEAR_US, End, may_meet, meets

A, B = "a" * 40, "b" * 40


def end(
    node: str, is_master: bool, ids: str = "", labels: str = "", port: int | None = None, asked: tuple[int, ...] = ()
) -> End:
    return End(node, is_master, frozenset(ids.split()), frozenset(labels.split()), port, asked)


def pairs(ends: list[End], **group_of: str) -> set[frozenset[str]]:
    return {frozenset(pair) for pair in meets(ends, {one.node: one.node for one in ends} | group_of)}


@pytest.mark.parametrize(
    ("master", "replica", "may"),
    [
        (end("m", True), end("r", False), True),
        (end("m", True), end("m", False), False),
        (end("m", True, A), end("r", False), True),
        (end("m", True), end("r", False, B), True),
        (end("m", True, A), end("r", False, B), False),
        (end("m", True, A), end("r", False, f"{A} {B}"), True),
        (end("m", True, port=6379), end("r", False, labels="10.0.0.1:6379"), True),
        (end("m", True, port=6380), end("r", False, labels="10.0.0.1:6379"), False),
        (end("m", True, port=6380), end("r", False, labels="10.0.0.1:6379 db:6380"), True),
        (end("m", True, port=6380), end("r", False), True),
    ],
)
def test_what_ports_and_ids_allow(master: End, replica: End, may: bool) -> None:
    assert may_meet(master, replica) is may_meet(replica, master) is may


def test_of_few_all_that_may_have_synced() -> None:
    ends = [end("m", True), end("n", True), end("r", False, asked=(1,)), end("s", False, asked=(10**12,))]
    assert pairs(ends) == {frozenset(pair) for pair in ("mr", "ms", "nr", "ns")}


def test_who_has_another_end_in_its_group_is_not_asked() -> None:
    ends = [end("m", True, A), end("r", False, A), end("n", True, B), end("s", False, B)]
    assert pairs(ends, m="1", r="1", n="2", s="2") == set()


def test_one_that_stands_alone_may_be_of_a_group_that_is_whole() -> None:
    ends = [end("m", True, A), end("r", False, A), end("n", True)]
    assert pairs(ends, m="1", r="1") == {frozenset("nr")}


def test_in_a_fleet_the_times_decide() -> None:
    masters = [end(f"m{n}", True, asked=(n * 10 * NEAR_US, n * 20 * NEAR_US)) for n in range(1, FEW + 2)]
    replicas = [end(f"r{n}", False, asked=(n * 10 * NEAR_US + 7, n * 20 * NEAR_US + 7)) for n in (17, 51)]
    assert {frozenset(pair) for pair in (("m17", "r17"), ("m51", "r51"))} <= pairs([*masters, *replicas])
    alone = end("far", False, asked=(-(10**12),))
    assert not any("far" in pair for pair in pairs([*masters, alone]))


def test_in_a_fleet_ids_forbid_what_times_allow() -> None:
    others = [end(f"m{n}", True, asked=(n * 10 * NEAR_US,)) for n in range(FEW)]
    near = [end("m", True, A, asked=(-1,)), end("n", True, B, asked=(-900,)), end("r", False, B, asked=(0,))]
    assert frozenset("nr") in pairs([*near, *others]) and frozenset("mr") not in pairs([*near, *others])
