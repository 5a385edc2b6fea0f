"""Halves of one attempt find each other by address, id, verdict and time."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import polars as pl
import pytest

from pyrepl.metrics.stitch import BUCKET_US, HALF, VOTERS, _attempts, _skew, stitch

SECOND = 1_000_000
NO_IDS: Mapping[str, frozenset[str]] = {}


class Half(NamedTuple):
    """A row of HALF."""

    sync: str
    node: str
    is_master: bool
    label: str
    at_us: int
    verdict: str | None = None
    asked_replid: str | None = None
    asked_offset: int | None = None
    replid: str | None = None


def stitched(
    found: list[Half],
    ports: Mapping[str, int],
    replids: Mapping[str, frozenset[str]] = NO_IDS,
    groups: Mapping[str, int] | None = None,
) -> list[tuple[str, str]]:
    """Syncs of the master's and of the replica's half."""
    pairs = stitch(pl.DataFrame(found, HALF, orient="row"), ports, replids, groups or {})
    return list(pairs.select("m.sync", "r.sync").iter_rows())


def halves(
    master: str, replica: str, label: str, begins: list[int], skew: int = 0, verdicts: str = "full"
) -> list[Half]:
    made = []
    for place, begin in enumerate(begins):
        name = f"{master}-{replica}-{place}"
        made.append(Half(f"m{name}", master, True, label, begin, verdicts))
        made.append(Half(f"r{name}", replica, False, "10.0.0.1:6379", begin + skew, verdicts))
    return made


def names(found: list[Half]) -> set[tuple[str, str]]:
    return {(ours[1:], theirs[1:]) for ours, theirs in stitched(found, {"r1": 7001, "r2": 7002})}


def test_in_any_order_and_with_clocks_apart() -> None:
    begins = [0, 90_000, 180_000, 270_000, 9 * SECOND]
    given = halves("m", "r1", "10.0.0.2:7001", begins, skew=3600 * SECOND)
    random.Random(1).shuffle(given)
    assert names(given) == {(f"m-r1-{i}", f"m-r1-{i}") for i in range(5)}


def test_the_address_decides_between_two_at_once() -> None:
    given = halves("m", "r1", "h:7001", [0, SECOND]) + halves("m", "r2", "h:7002", [0, SECOND])
    assert names(given) == {(f"m-r{r}-{i}", f"m-r{r}-{i}") for r in (1, 2) for i in (0, 1)}


def test_without_ports_time_decides() -> None:
    one = halves("m", "a", "h1:6379", [0, 7 * SECOND, 31 * SECOND])
    two = halves("m", "b", "h2:6379", [3 * SECOND, 55 * SECOND, 80 * SECOND])
    found = {(ours[1:], theirs[1:]) for ours, theirs in stitched(one + two, {})}
    assert found == {(f"m-{r}-{i}", f"m-{r}-{i}") for r in "ab" for i in range(3)}


def test_another_history_is_another_master() -> None:
    master = Half("m", "m", True, "h:7001", 0, "full")
    replica = Half("r", "r1", False, "10.0.0.1:6379", 0, "full", replid="b" * 40)
    assert stitched([master, replica], {"r1": 7001}, {"m": frozenset({"a" * 40})}) == []
    assert stitched([master, replica], {"r1": 7001}, {"m": frozenset({"b" * 40})}) == [("m", "r")]


def test_nodes_of_two_groups_have_no_attempt_in_common() -> None:
    given = halves("m", "r1", "h:7001", [0, 5 * SECOND])
    assert stitched(given, {"r1": 7001}, groups={"m": 1, "r1": 2}) == []
    assert stitched(given, {"r1": 7001}, groups={"m": 1}) == []
    both = stitched(given, {"r1": 7001}, groups={"m": 1, "r1": 1})
    assert both == stitched(given, {"r1": 7001}) == [(f"mm-r1-{place}", f"rm-r1-{place}") for place in (0, 1)]


def test_who_a_half_is_of_is_told_with_it() -> None:
    found = stitch(pl.DataFrame(halves("m", "r1", "h:7001", [0]), HALF, orient="row"), {}, {}, {})
    assert found.to_dicts() == [
        {"m.sync": "mm-r1-0", "m.node": "m", "m.label": "h:7001"}
        | {"r.sync": "rm-r1-0", "r.node": "r1", "r.label": "10.0.0.1:6379"}
    ]
    assert stitch(pl.DataFrame(schema=HALF), {}, {}, {}).columns == found.columns


def test_each_half_is_one_attempt_at_most_and_the_nearest_go_first() -> None:
    masters = [Half(f"m{at}", "m", True, "h:7001", at) for at in (0, 400_000, 900_000, 9 * SECOND)]
    replicas = [Half(f"r{at}", "r1", False, "h:1", at) for at in (10_000, 890_000, 1_000_000)]
    assert stitched(masters + replicas, {}) == [("m0", "r10000"), ("m900000", "r890000"), ("m400000", "r1000000")]


def test_verdicts_and_requests_must_agree() -> None:
    master = Half("m", "m", True, "h:7001", 0, "continue", asked_offset=5)
    other = Half("r", "r1", False, "h:1", 0, "full")
    off = Half("r", "r1", False, "h:1", 0, "continue", asked_offset=6)
    same = Half("r", "r1", False, "h:1", 0, None, asked_offset=5)
    assert [len(stitched([master, half], {"r1": 7001})) for half in (other, off, same)] == [0, 0, 1]


def fits(master: Half, replica: Half) -> bool:
    pairs = zip(master[5:8], replica[5:8], strict=True)
    return all(one is None or other is None or one == other for one, other in pairs)


def skew(masters: list[Half], replicas: list[Half]) -> tuple[int, int]:
    """As _skew(), one by one."""
    apart = [other.at_us - one.at_us for one in masters for other in replicas if fits(one, other)]
    votes = Counter(round(one / BUCKET_US) for one in apart)
    most = max(votes.values(), default=0)
    best = max((one for one, count in votes.items() if count == most), key=lambda one: (-abs(one), one), default=0)
    near = sorted(one for one in apart if round(one / BUCKET_US) == best)
    return (near[len(near) // 2], most) if near else (0, 0)


@pytest.mark.parametrize("seed", range(20))
def test_all_that_can_fit_decide_on_the_clocks(seed: int) -> None:
    rng = random.Random(seed)

    def half(number: int, is_master: bool) -> Half:
        told = rng.choice([None, "full", "continue"]), rng.choice([None, "a", "b"]), rng.choice([None, 1, 2, 3])
        return Half(str(number), "n", is_master, "", rng.randrange(-20, 20) * BUCKET_US // 4, *told)

    masters, replicas = ([half(number, one) for number in range(rng.randrange(1, 40))] for one in (True, False))
    every = _attempts(pl.DataFrame(masters + replicas, HALF, orient="row"))
    ours, theirs = every.of(slice(len(masters))), every.of(slice(len(masters), None))
    assert _skew(ours, theirs) == skew(masters, replicas)


def test_only_the_first_attempts_decide_on_the_clocks() -> None:
    begins = [number * 5 * SECOND for number in range(VOTERS + 300)]
    given = halves("m", "r1", "h:7001", begins[:VOTERS], skew=3 * SECOND) + [
        half._replace(sync=half.sync + "x") for half in halves("m", "r1", "h:7001", begins[VOTERS:])
    ]
    assert {ours[1:] for ours, _ in stitched(given, {})} == {f"m-r1-{place}" for place in range(VOTERS)}
