"""Flags are registers: the order of arrival does not matter."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from pyrepl.mailbox.flags import changed, from_set, merged
from pyrepl.mailbox.words import Register, Stamp

STAMPS = st.builds(Stamp, st.integers(1, 4), st.sampled_from("ab"))
FLAGS = st.builds(Register, st.sampled_from(["\\Seen", "work"]), st.booleans(), STAMPS)
REGISTERS = FLAGS | st.builds(Register, st.just("*"), st.just(False), STAMPS)


@given(st.lists(REGISTERS, max_size=5, unique_by=lambda register: (register.flag, register.stamp)))
def test_any_order_gives_the_same(registers: list[Register]) -> None:
    results = set()
    for order in permutations(registers):
        flags: tuple[Register, ...] = ()
        for register in order:
            flags = merged(flags, [register])
        results.add(flags)
    assert len(results) == 1


def test_m9_the_higher_stamp_stands_flag_by_flag() -> None:
    flags = changed((), ["\\Seen"], ["work"], Stamp(5, "a"))
    flags = changed(flags, ["work"], ["\\Seen"], Stamp(5, "b"))
    assert {register.flag: register.is_set for register in flags} == {"\\Seen": False, "work": True}
    assert changed(flags, ["\\Seen"], [], Stamp(4, "z")) == flags


def test_a_save_writes_all_flags() -> None:
    old = changed((), ["\\Deleted"], [], Stamp(3, "a"))
    again = merged(old, from_set(["\\Seen"], Stamp(7, "b")))
    assert [register.flag for register in again if register.is_set] == ["\\Seen"]
    assert changed(again, ["\\Deleted"], [], Stamp(6, "c")) == again, "a STORE that did not know of it is below"
