"""The order of SAVEs. Requirements V2 to V7."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrepl.mailbox.order import SaveOrder


def test_v4_the_example_of_the_design_note() -> None:
    """Clients 1, 2 and 3 hold a LOCK; client 1 comes back with a second one. UIDs 3 and 5 go out, then 7 and 9."""
    order: SaveOrder[int] = SaveOrder()
    for client in ("1", "2", "3"):
        order.lock(client)
    assert order.save("1", 5, 5) == []
    assert order.unlock("1") == []
    order.lock("1 again")
    assert order.save("2", 9, 9) == []
    assert order.unlock("2") == []
    assert order.save("3", 3, 3) == [], "it waits for client 3 alone, as 3 is below the second LOCK's prev"
    assert order.unlock("3") == [3, 5]
    assert order.save("1 again", 7, 7) == []
    assert order.unlock("1 again") == [7, 9]


def test_v3_later_saves_of_a_lock_wait_for_the_same() -> None:
    order: SaveOrder[int] = SaveOrder()
    order.lock("1")
    order.lock("2")
    order.save("1", 5, 5)
    order.save("1", 4, 4)
    assert order.unlock("2") == [] and order.unlock("1") == [4, 5]


def test_v5_of_a_single_holder_in_order_saves_pass_as_they_come() -> None:
    order: SaveOrder[int] = SaveOrder()
    order.lock("1", ascending=True)
    assert [order.save("1", uid, uid) for uid in (1, 2, 7)] == [[1], [2], [7]]


def test_v6_of_two_holders_in_order_one_save_of_each_waits_at_most() -> None:
    order: SaveOrder[int] = SaveOrder()
    uids = {"1": [1, 4, 5, 9], "2": [2, 3, 7, 8]}
    for lock in uids:
        order.lock(lock, ascending=True)
    out: list[int] = []
    while any(uids.values()):
        readable = [lock for lock in uids if uids[lock] and order.may_read(lock)]
        if not readable:
            readable = [lock for lock in uids if uids[lock]]
        out += order.save(readable[0], uid := uids[readable[0]].pop(0), uid)
        for lock in [lock for lock, left in uids.items() if not left]:
            out += order.unlock(lock)
    assert out == [1, 2, 3, 4, 5, 7, 8, 9]


def test_v7_what_is_due_goes_though_locks_are_open_all_the_time() -> None:
    order: SaveOrder[int] = SaveOrder()
    order.lock("0")
    for turn in range(20):
        order.save(str(turn), turn + 1, turn + 1)
        order.lock(str(turn + 1))
        assert order.unlock(str(turn)) == [turn + 1]
        assert not order.is_idle


def test_a_faulty_mail_process_is_told_so() -> None:
    order: SaveOrder[int] = SaveOrder()
    assert "needs a LOCK" in (order.why_not("1", 5) or "")
    order.lock("1", ascending=True)
    order.save("1", 5, 5)
    assert "given out before; the next is 6" in (order.why_not("1", 5) or "")
    with pytest.raises(AssertionError):
        order.save("1", 5, 5)
    order.lock("2")
    order.lock("3", ascending=True)
    order.save("3", 9, 9)
    assert "behind 9" in (order.why_not("3", 7) or "")
    order.passed(20)
    assert order.sent == 20


@given(st.integers(0, 2**32))
def test_v2_whatever_clients_do_uids_go_out_ascending_and_none_is_kept(seed: int) -> None:
    rng = random.Random(seed)
    order: SaveOrder[int] = SaveOrder()
    uidnext, number = 1, 0
    unsent: dict[str, list[int]] = {}
    out: list[int] = []
    for _ in range(60):
        if len(unsent) < 5 and rng.random() < 0.4:
            number += 1
            order.lock(str(number))
            unsent[str(number)] = []
        elif unsent:
            lock = rng.choice(list(unsent))
            if rng.random() < 0.5:
                unsent[lock].append(uidnext)
                uidnext += 1
            elif unsent[lock]:
                out += order.save(lock, uid := unsent[lock].pop(rng.randrange(len(unsent[lock]))), uid)
            else:
                out += order.unlock(lock)
                del unsent[lock]
    for lock, uids in unsent.items():
        for uid in uids:
            out += order.save(lock, uid, uid)
        out += order.unlock(lock)
    assert out == list(range(1, uidnext))


def test_a_save_that_waits_for_others_is_held() -> None:
    order: SaveOrder[int] = SaveOrder()
    order.lock("1")
    order.lock("2")
    order.save("1", 5, 5)
    assert order.is_holding
    order.unlock("2")
    order.unlock("1")
    assert not order.is_holding
