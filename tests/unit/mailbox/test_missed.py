"""What an answer to SYNC has, and in which order."""

from __future__ import annotations

import random

from pyrepl.mailbox.causal import Causal, cost_of
from pyrepl.mailbox.missed import missed
from pyrepl.mailbox.verbs import Modseqs, Op
from pyrepl.mailbox.words import Box, Dot
from tests.simulation.mailbox.memory_rows import MemoryRows

MUCH = 10**9


def op(at: str, *after: str, left: int = 0) -> Op:
    origin, seq = at.split(":")
    waits = tuple(Dot(each.split(":")[0], int(each.split(":")[1])) for each in after)
    return Modseqs(user="alice", box=Box("0" * 32, True), modseq=1, at=Dot(origin, int(seq)), after=waits, left=left)


def kept(*ops: Op) -> MemoryRows:
    rows = MemoryRows()
    for each in ops:
        assert each.at is not None
        rows.put_op(each)
        rows.put_held(each.at)
    return rows


def found(rows: MemoryRows, theirs: dict[str, int], most: int = 500, most_bytes: int = MUCH) -> tuple[list[str], bool]:
    ops, is_all = missed(rows, rows.held(), theirs, most, most_bytes)
    return [f"{each.at.origin}:{each.at.seq}" for each in ops if each.at is not None], is_all


def test_an_op_stands_behind_what_it_waits_for() -> None:
    rows = kept(op("b:1"), op("a:1", "b:1"), op("b:2", "a:1"), op("a:2", "b:2"), op("a:3"))
    assert found(rows, {}) == (["b:1", "a:1", "b:2", "a:2", "a:3"], True)
    assert found(rows, {"b": 1}, most=2) == (["a:1", "b:2"], False)
    assert found(rows, {"a": 3, "b": 2}) == ([], True)


def test_whoever_asks_again_and_again_gets_all() -> None:
    rng, counts, rows = random.Random(7), dict.fromkeys("abc", 0), MemoryRows()
    for _ in range(400):
        origin = rng.choice("abc")
        counts[origin] += 1
        each = op(f"{origin}:{counts[origin]}", *(f"{o}:{seq}" for o, seq in counts.items() if seq and o != origin))
        rows.put_op(each)
        assert each.at is not None
        rows.put_held(each.at)
    causal = Causal({})
    for _ in range(40):
        ops, is_all = missed(rows, rows.held(), causal.held, 11, MUCH)
        assert is_all or len(ops) == 11
        for each in ops:
            assert causal.add(each)
            [due] = causal.due()
            causal.applied(due.op)
    assert causal.held == rows.held()


def test_a_transaction_comes_whole() -> None:
    ops = [op(f"a:{seq}", left=left) for seq, left in enumerate((0, 3, 2, 1, 0, 0), 1)]
    assert found(kept(*ops), {}, most=3) == (["a:1"], False)
    assert found(kept(*ops), {"a": 1}, most=3) == (["a:2", "a:3", "a:4", "a:5"], False)
    assert found(kept(*ops), {"a": 5}, most=3) == (["a:6"], True)
    later = kept(op("b:1"), op("a:1", left=1), op("a:2", "b:1"), op("c:1", "a:2"))
    assert found(later, {}) == (["b:1", "a:1", "a:2", "c:1"], True), "its second op waits for another node"


def test_more_than_a_page_of_one_transaction() -> None:
    ops = [op(f"a:{seq}", left=200 - seq) for seq in range(1, 201)]
    assert len(found(kept(*ops, op("a:201")), {}, most=3)[0]) == 200


def test_it_is_bounded_in_bytes_but_one_comes_in_any_case() -> None:
    ops = [op(f"a:{seq}") for seq in range(1, 5)]
    assert found(kept(*ops), {}, most_bytes=2 * cost_of(ops[0])) == (["a:1", "a:2"], False)
    assert found(kept(*ops), {"a": 2}, most_bytes=1) == (["a:3"], False)
    assert found(kept(*ops), {"a": 3}, most_bytes=1) == (["a:4"], True)


def test_what_waits_for_ops_that_are_not_here_comes_last() -> None:
    rows = kept(op("a:1", "x:9"), op("a:2"), op("b:1"))
    assert found(rows, {}) == (["b:1", "a:1", "a:2"], True)
    assert found(rows, {}, most=2) == (["b:1", "a:1"], False)
