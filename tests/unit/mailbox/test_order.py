"""The order of SAVEs. Requirements V2 to V7."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import Final, TypeAlias

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
    """A SAVE waits for all open LOCKs whose prev_uid is below its UID, and so do those behind it of the same LOCK:
    whichever LOCK ends first, nothing goes before the other one has ended."""
    for first, second in (("1", "2"), ("2", "1")):
        order: SaveOrder[int] = SaveOrder()
        order.lock("1")
        order.lock("2")
        assert order.save("1", 5, 5) == order.save("1", 4, 4) == []
        assert order.unlock(first) == [], "a lower UID may come under the other LOCK"
        assert order.unlock(second) == [4, 5]


def test_v3_a_save_does_not_wait_for_a_lock_whose_prev_is_not_below_it() -> None:
    order: SaveOrder[int] = SaveOrder()
    order.lock("1")
    order.lock("2")
    order.save("2", 9, 9)
    order.lock("3")
    order.save("1", 8, 8)
    assert order.unlock("2") == [] and order.unlock("1") == [8, 9], "what LOCK 3 may bring lies above 9"


def test_v5_of_a_single_holder_in_order_saves_pass_as_they_come() -> None:
    order: SaveOrder[int] = SaveOrder()
    order.lock("1", ascending=True)
    assert [order.save("1", uid, uid) for uid in (1, 2, 7)] == [[1], [2], [7]]
    order.lock("2")
    assert order.save("1", 9, 9) == [], "it is not a single one any more"
    assert order.unlock("2") == [9]


def test_v5_of_a_single_holder_that_promised_no_order_saves_wait_for_unlock() -> None:
    """The design note lets the SAVEs of a single holder go out as they arrive. Ours waits where LOCK did not say
    ascending=1: the holder may send a lower UID after a higher one (V2), and a UID below one that is out cannot go out
    any more."""
    order: SaveOrder[int] = SaveOrder()
    order.lock("1")
    assert order.save("1", 5, 5) == order.save("1", 7, 7) == order.save("1", 6, 6) == []
    assert order.unlock("1") == [5, 6, 7]


Pick: TypeAlias = Callable[[list[str]], str]
"""Which of those that may be read is read next."""


class Readers:
    """Mail processes that send in order. `unread`: what each has sent and nobody has read, a 0 for UNLOCK."""

    def __init__(self) -> None:
        self.order: Final[SaveOrder[int]] = SaveOrder()
        self.unread: Final[dict[str, deque[int]]] = {}
        self.out: Final[list[int]] = []
        self._came = 0

    @property
    def held(self) -> int:
        return self._came - len(self.out)

    def lock(self, lock: str, *uids: int) -> None:
        self.order.lock(lock, ascending=True)
        self.unread[lock] = deque(uids)

    def read(self, lock: str) -> None:
        """Hear the next of what one has sent.

        SAVEs that wait are one short of the LOCKs at most. Who has one that waits is not read, so it has one alone. And
        the smallest of them waits for somebody who may still give a lower UID: of that one none waits, as it would be
        smaller, or would show that none lower comes.
        """
        assert self.order.may_read(lock)
        uid = self.unread[lock].popleft()
        if uid:
            self._came += 1
            self.out.extend(self.order.save(lock, uid, uid))
        else:
            del self.unread[lock]
            self.out.extend(self.order.unlock(lock))
        assert self.held <= max(len(self.unread) - 1, 0)

    def read_all(self, pick: Pick) -> None:
        """Until all have let go; each ends with UNLOCK."""
        for sent in self.unread.values():
            sent.append(0)
        while self.unread:
            self.read(pick([lock for lock in self.unread if self.order.may_read(lock)]))


MANY: Final = 10_000


@pytest.mark.parametrize("first", [range(1, 2 * MANY, 2), range(1, MANY + 1), range(MANY + 1, 2 * MANY + 1)])
@pytest.mark.parametrize("pick", [min, max])
def test_v6_two_holders_with_ten_thousand_messages_each_need_no_buffering(first: range, pick: Pick) -> None:
    """One holder is read as long as it may be, so nothing but `may_read` keeps the other one's turn. One SAVE waits at
    most, after each step, however many there are."""
    readers = Readers()
    readers.lock("1", *first)
    readers.lock("2", *sorted(set(range(1, 2 * MANY + 1)).difference(first)))
    readers.read_all(pick)
    assert readers.out == list(range(1, 2 * MANY + 1))


Step: TypeAlias = tuple[str, int]
STEPS: Final = st.integers(2, 4).flatmap(
    lambda count: st.lists(st.tuples(st.sampled_from(["gives", "reads", "reads"]), st.integers(1, count)), max_size=80)
)


@given(STEPS, st.randoms())
def test_v6_whoever_is_read_uids_go_out_ascending_and_few_are_held(steps: list[Step], rng: random.Random) -> None:
    """Two to four holders that LOCK one after the other, give out UIDs in turn, and are read in any order."""
    readers, uidnext = Readers(), 1
    for what, number in steps:
        lock = str(number)
        if lock not in readers.unread:
            readers.lock(lock)
        elif what == "gives":
            readers.unread[lock].append(uidnext)
            uidnext += 1
        elif readers.unread[lock] and readers.order.may_read(lock):
            readers.read(lock)
    readers.read_all(rng.choice)
    assert readers.out == list(range(1, uidnext)) and not readers.order.is_holding


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
