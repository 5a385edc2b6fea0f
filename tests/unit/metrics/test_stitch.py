"""Halves of one attempt find each other by address, id, verdict and time."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from pyrepl.metrics.stitch import BUCKET_US, VOTERS, Half, _fits, _skew, _voters, stitch

SECOND = 1_000_000


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
    ports = {"r1": 7001, "r2": 7002}
    return {(match.master.sync[1:], match.replica.sync[1:]) for match in stitch(found, ports, {})}


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
    found = {(match.master.sync[1:], match.replica.sync[1:]) for match in stitch(one + two, {}, {})}
    assert found == {(f"m-{r}-{i}", f"m-{r}-{i}") for r in "ab" for i in range(3)}


def test_another_history_is_another_master() -> None:
    master = Half("m", "m", True, "h:7001", 0, "full")
    replica = Half("r", "r1", False, "10.0.0.1:6379", 0, "full", replid="b" * 40)
    assert stitch([master, replica], {"r1": 7001}, {"m": frozenset({"a" * 40})}) == []
    assert len(stitch([master, replica], {"r1": 7001}, {"m": frozenset({"b" * 40})})) == 1


def test_verdicts_and_requests_must_agree() -> None:
    master = Half("m", "m", True, "h:7001", 0, "continue", asked_offset=5)
    other = Half("r", "r1", False, "h:1", 0, "full")
    off = Half("r", "r1", False, "h:1", 0, "continue", asked_offset=6)
    same = Half("r", "r1", False, "h:1", 0, None, asked_offset=5)
    assert [len(stitch([master, half], {"r1": 7001}, {})) for half in (other, off, same)] == [0, 0, 1]


def skew(masters: list[Half], replicas: list[Half]) -> tuple[int, int]:
    """As _skew(), one by one."""
    apart = [other.at_us - one.at_us for one in masters for other in replicas if _fits(one, other)]
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
    codes: dict[str, int] = {}
    assert _skew(_voters(masters, codes), _voters(replicas, codes)) == skew(masters, replicas)


def test_only_the_first_attempts_vote() -> None:
    every = [Half(str(number), "n", True, "", number) for number in range(VOTERS + 5)]
    assert len(_voters(every, {}).at_us) == VOTERS
