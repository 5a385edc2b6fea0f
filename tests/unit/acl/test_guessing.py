"""Failed logins: free ones, longer and longer delays, and the bound on all of an address."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pyrepl.acl import guessing
from pyrepl.acl.guessing import FIRST_S, FORGOTTEN_S, FREE, LONGEST_S, MOST_LATE, Guesses


def fail(guesses: Guesses, addr: str, times: int, now: float) -> list[float]:
    return [guesses.failed(addr, now) for _ in range(times)]


def test_the_first_ones_cost_nothing_and_the_others_more_and_more() -> None:
    guesses = Guesses()
    delays = fail(guesses, "192.0.2.1:1", FREE + 9, 100.0)
    assert delays[:FREE] == [0.0] * FREE
    assert delays[FREE : FREE + 3] == [FIRST_S, 2 * FIRST_S, 4 * FIRST_S] and delays[-1] == LONGEST_S
    assert fail(guesses, "192.0.2.2:1", 1, 100.0) == [0.0], "another address"


def test_an_address_begins_anew_after_a_while() -> None:
    guesses = Guesses()
    fail(guesses, "192.0.2.1:1", 50, 100.0)
    assert guesses.failed("192.0.2.1:2", 100.0 + FORGOTTEN_S) == LONGEST_S, "the bound is inclusive"
    assert guesses.failed("192.0.2.1:2", 100.1 + 2 * FORGOTTEN_S) == 0.0


def test_so_many_and_no_more() -> None:
    guesses, addr = Guesses(), "192.0.2.1:1"
    fail(guesses, addr, FREE + MOST_LATE - 1, 0.0)
    assert not guesses.are_too_many(addr, 0.0)
    fail(guesses, addr, 1, 0.0)
    assert guesses.are_too_many(addr, 0.0) and not guesses.are_too_many("192.0.2.2:1", 0.0)
    assert not guesses.are_too_many(addr, FIRST_S), "the first of them is answered"
    assert not guesses.are_too_many("198.51.100.1:1", 0.0)


def test_places() -> None:
    guesses = Guesses()
    fail(guesses, "[2001:db8::1]:1", FREE, 0.0)
    assert guesses.failed("[2001:db8::ffff]:9", 0.0) > 0.0, "a machine has the whole network of 64 bits"
    assert guesses.failed("[2001:db8:0:1::1]:9", 0.0) == 0.0
    fail(guesses, "[::ffff:192.0.2.7]:1", FREE, 0.0)
    assert guesses.failed("192.0.2.7:5", 0.0) > 0.0, "the same address in another form"
    fail(guesses, "/run/pyrepl.sock:0", FREE, 0.0)
    assert guesses.failed("/run/pyrepl.sock:0", 0.0) > 0.0
    assert guesses.failed("[fe80::1%eth0]:5", 0.0) == 0.0


def test_memory_is_bounded() -> None:
    guesses = Guesses()
    fail(guesses, "192.0.2.1:1", FREE, 0.0)
    for number in range(guessing.MOST_ADDRESSES):
        guesses.failed(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}:1", 1.0)
    assert guesses.failed("192.0.2.1:1", 2.0) == 0.0, "the one that failed longest ago was forgotten"


@given(st.lists(st.tuples(st.floats(0.0, 3.0), st.integers(1, 40)), max_size=60))
def test_an_address_has_few_guesses_in_any_span(steps: list[tuple[float, int]]) -> None:
    """Whoever tries as often as it may: in no span of LONGEST_S more than the free ones, and the late ones twice, as
    those of before may end within it."""
    guesses, now, tried = Guesses(), 0.0, list[float]()
    for wait, times in steps:
        now += wait
        for _ in range(times):
            if not guesses.are_too_many("192.0.2.1:1", now):
                guesses.failed("192.0.2.1:1", now)
                tried.append(now)
    for begin in tried:
        assert sum(begin <= at < begin + LONGEST_S for at in tried) <= FREE + 2 * MOST_LATE
