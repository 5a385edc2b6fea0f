"""Ops wait for what their origin knew. Requirement L5: a transaction is applied whole."""

from __future__ import annotations

import pytest

from pyrepl.mailbox.causal import MOST_TX_BYTES, MOST_WAITING, MOST_WAITING_BYTES, Causal, cost_of, tx_cost
from pyrepl.mailbox.verbs import Modseqs
from pyrepl.mailbox.words import Box, Dot


def op(at: str, after: tuple[Dot, ...] = (), left: int = 0) -> Modseqs:
    return Modseqs(user="alice", box=Box("0" * 32, True), modseq=1, at=Dot(at[0], int(at[1:])), after=after, left=left)


def applied(causal: Causal) -> list[str]:
    found: list[str] = []
    while due := causal.due():
        for each in due:
            causal.applied(each.op)
            assert each.op.at is not None
            found.append(f"{each.op.at.origin}{each.op.at.seq}")
    return found


def test_ops_of_one_origin_ascend_without_holes() -> None:
    causal = Causal({})
    causal.add(op("a2"))
    assert applied(causal) == []
    causal.add(op("a1"))
    assert applied(causal) == ["a1", "a2"] and causal.held == {"a": 2}
    assert not causal.add(op("a2")), "it has effect once"


def test_an_op_waits_for_what_its_origin_had_applied() -> None:
    causal = Causal({})
    causal.add(op("b1", after=(Dot("a", 1),)))
    assert applied(causal) == [] and causal.count == 1
    causal.add(op("a1"))
    assert applied(causal) == ["a1", "b1"]


def test_l5_a_transaction_waits_until_it_is_whole() -> None:
    causal = Causal({})
    causal.add(op("a1", left=2))
    causal.add(op("a2", left=1))
    assert causal.due() == []
    causal.add(op("a3", left=0))
    assert [each.op.at for each in causal.due()] == [Dot("a", 1), Dot("a", 2), Dot("a", 3)]


def test_a_transaction_that_can_never_be_whole_holds_nobody_else_up() -> None:
    causal = Causal({}, most=3)
    for at, left in (("a1", 3), ("b1", 10**9), ("c1", 0)):
        causal.add(op(at, left=left))
    assert applied(causal) == ["c1"]


def test_origins_that_are_passed_are_not_looked_at() -> None:
    causal = Causal({})
    for at in ("a1", "b1"):
        causal.add(op(at))
    assert [each.op.at for each in causal.due({"a"})] == [Dot("b", 1)]
    assert causal.due({"a", "b"}) == []


def test_what_waits_takes_no_more_memory_than_it_may() -> None:
    causal = Causal({"a": 1})
    large = [op(f"b{seq}").replaced(guids=("x" * 120,) * 1000) for seq in range(2, 300)]
    taken = [causal.add(each) for each in large]
    assert taken[0] and not taken[-1] and causal.count == sum(taken)
    assert 0 < MOST_WAITING_BYTES - causal.waiting_bytes < cost_of(large[0]) < 1 << 20
    assert causal.add(op("a2")) and not causal.add(large[0].replaced(at=Dot("c", 1)))
    causal.jump("b", 300)
    assert causal.waiting_bytes == cost_of(op("a2"))
    assert applied(causal) == ["a2"] and causal.waiting_bytes == causal.count == 0


def test_where_all_room_is_taken_the_next_of_a_known_origin_is_heard() -> None:
    causal = Causal({"a": 1}, most=2)
    assert [causal.add(op(at)) for at in ("b2", "c2", "d1", "a3", "a2")] == [True, True, False, False, True]
    assert applied(causal) == ["a2"] and causal.count == 2
    assert causal.waits(Dot("b", 2)) and not causal.waits(Dot("d", 1))


def test_what_waits_is_bounded() -> None:
    causal = Causal({}, most=3)
    assert [causal.add(op(f"a{seq}")) for seq in range(2, 7)] == [True, True, True, False, False]
    assert [each.op for each in causal.jump("a", 3)] == [op("a2"), op("a3")]
    assert causal.count == 1 and causal.held == {"a": 3}
    with pytest.raises(AssertionError):
        causal.applied(op("a9"))


def test_what_is_here_is_applied_or_waits() -> None:
    causal = Causal({"a": 1}, most=3)
    for at in ("a3", "b1", "b2"):
        causal.add(op(at))
    assert (causal.reach("a"), causal.reach("b"), causal.reach("c")) == (1, 2, 0)
    assert causal.reaches() == (Dot("b", 2),)
    assert causal.lacks(Dot("a", 2)) and causal.lacks(Dot("a", 3)) and not causal.lacks(Dot("b", 2))
    assert not causal.lacks(Dot("b", 3)), "there is no room for it"
    causal.add(op("a2"))
    assert causal.reaches() == (Dot("a", 3), Dot("b", 2)) and not causal.lacks(Dot("a", 4))


def test_a_transaction_of_more_than_may_wait_comes_whole_if_it_is_the_next() -> None:
    large = tuple(op(f"a{seq}").replaced(guids=("x" * 60,) * 300) for seq in range(2, 402))
    fits = next(count for count in range(400, 0, -1) if tx_cost(large[:count]) <= MOST_TX_BYTES)
    assert 300 < fits < 400
    causal, last = Causal({"a": 1, "b": 1}), fits - 1
    for seq in range(3, 10**6):
        if not causal.add(op(f"b{seq}").replaced(guids=("x" * 60,) * 300)):
            break
    assert causal.lacks(Dot("a", 3))
    assert all(causal.add(each.replaced(left=last - place)) for place, each in enumerate(large[:fits]))
    assert not causal.lacks(Dot("a", fits + 2)), "there is room for the next transaction alone"
    assert not causal.add(op(f"a{fits + 2}", left=1).replaced(guids=("x" * 60,) * 300))
    assert len(applied(causal)) == fits and causal.lacks(Dot("a", fits + 2))
    assert causal.add(op(f"a{fits + 2}"))


def test_a_transaction_that_no_node_makes_does_not_come_whole() -> None:
    causal = Causal({"a": 1})
    each = op("a2").replaced(guids=("x" * 60,) * 300)
    taken = [causal.add(each.replaced(at=Dot("a", 2 + at), left=1999 - at)) for at in range(2000)]
    assert not taken[-1] and causal.waiting_bytes <= 2 * MOST_WAITING_BYTES + cost_of(each)


def test_a_transaction_has_no_more_ops_than_can_wait() -> None:
    assert tx_cost([op("a1")] * MOST_WAITING) > MOST_TX_BYTES > tx_cost([op("a1")] * (MOST_WAITING // 3))
