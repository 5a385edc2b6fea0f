"""The index finds every pair that is possible, and in a large fleet looks at few others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pyrepl.metrics.candidates import MOST, Side, candidates, may_be_pair

MINUTE = 60_000_000
LABELS = st.sampled_from(["", "h:1", "h:2", "i:1", "1", "h:"])
SIDES = st.lists(
    st.builds(
        Side,
        st.sampled_from("abc"),
        LABELS,
        st.frozensets(st.sampled_from("xyz"), max_size=2),
        st.lists(st.integers(0, 5), max_size=3).map(lambda times: tuple(sorted(times))),
    ),
    max_size=MOST,
)


@given(SIDES, SIDES, st.dictionaries(st.sampled_from("abc"), st.integers(1, 2)))
def test_every_pair_that_is_possible(masters: list[Side], replicas: list[Side], ports: dict[str, int]) -> None:
    possible = {
        (place, other)
        for place, master in enumerate(masters)
        for other, replica in enumerate(replicas)
        if may_be_pair(master, replica, ports)
    }
    found = list(candidates(masters, replicas, ports))
    assert len(found) == len(set(found)) and set(found) == possible


def fleet(count: int, *, ids: bool, one_port: bool) -> tuple[list[Side], list[Side], dict[str, int]]:
    """As many masters as replicas, those of one place being pairs, a minute from one pair to the next."""
    masters, replicas = [], []
    ports: dict[str, int] = {}
    for place in range(count):
        port = 6379 if one_port else 10_000 + place
        ports |= {f"m{place}": port, f"r{place}": port}
        told = frozenset({f"{place:040x}"} if ids else ())
        begin = place * MINUTE
        masters.append(Side(f"m{place}", f"10.0.1.{place}:{port}", told, (begin, begin + 7 * MINUTE)))
        replicas.append(Side(f"r{place}", f"10.0.0.{place}:{port}", told, (begin + 5, begin + 7 * MINUTE + 5)))
    return masters, replicas, ports


def test_ids_or_ports_leave_one() -> None:
    for ids, one_port in ((True, True), (False, False)):
        found = list(candidates(*fleet(2000, ids=ids, one_port=one_port)))
        assert found == [(place, place) for place in range(2000)]


def test_where_nothing_tells_the_nearest_in_time_are_tried() -> None:
    found = list(candidates(*fleet(500, ids=False, one_port=True)))
    assert len(found) <= 500 * MOST
    assert {(place, place) for place in range(500)} <= set(found)


def test_those_that_tell_nothing_do_not_crowd_out_those_that_do() -> None:
    masters, _, ports = fleet(500, ids=False, one_port=True)
    far = Side("far", "10.0.2.1:6379", frozenset({"x"}), (10**15,))
    replica = Side("r", "10.0.2.2:6379", frozenset({"x"}), (0,))
    assert 500 in {place for place, _ in candidates([*masters, far], [replica], ports)}
