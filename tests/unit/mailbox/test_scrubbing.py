"""Texts are read again bit by bit, at a bounded pace, and the damaged ones are fetched from another node."""

from __future__ import annotations

from collections.abc import Callable

from pyrepl.mailbox.answers import Ok
from pyrepl.mailbox.maildir.text_sums import BLOCK_BYTES
from pyrepl.mailbox.node import Node
from pyrepl.mailbox.scrubbing import (
    CROWDED_S,
    DEFAULT_PACE,
    EVERY_S,
    MOST_BYTES,
    MOST_DAMAGED,
    SAME,
    SHARE,
    Pass,
    ScrubOrder,
    TextRead,
    Verdict,
)
from pyrepl.mailbox.sending import Counted
from tests.scenario.mailbox.cluster import Cluster, ready

DAMAGED = TextRead(Verdict.DAMAGED, "it is another one from byte 0 on")
PACE = 1_000_000


def saved(sizes: dict[str, int], names: str = "ab") -> Cluster:
    """A cluster that has messages of these sizes, by GUID."""
    cluster = ready(names)
    for guid, size in sizes.items():
        sums = ",".join("00000007" for _ in range(0, size, BLOCK_BYTES))
        what = f"uid=* guid={guid} size={size} received=1" + (f" sum={sums}" if sums else "")
        cluster.say(f"m1>a 1 SAVE alice INBOX {what} {{text}}")
    cluster.run(2.0)
    cluster.said()
    return cluster


def all_well(order: ScrubOrder) -> tuple[TextRead, ...]:
    return (SAME,) * len(order.pieces)


def passed(
    node: Node,
    now: float,
    pace: int = PACE,
    took_s: float = 0.0,
    read: Callable[[ScrubOrder], tuple[TextRead, ...]] = all_well,
) -> tuple[list[ScrubOrder], float, Pass]:
    """All orders of the pass that begins at `now`, when it was over, and the pass."""
    orders: list[ScrubOrder] = []
    scrubbing = node.scrubbing
    scrubbing.begin()
    while scrubbing.is_under_way:
        order = scrubbing.order(pace, (), now)
        if order is not None:
            orders.append(order)
            scrubbing.done(order, read(order), took_s, now + took_s)
        now = max(now, scrubbing.next_deadline()) if scrubbing.is_under_way else now
    assert scrubbing.last is not None
    return orders, now, scrubbing.last


def test_l8_all_texts_are_read_once_each_part_with_its_checksums() -> None:
    sizes = {"G1": 10, "G2": 5 * BLOCK_BYTES + 1, "G3": 0, "G4": BLOCK_BYTES}
    node = saved(sizes).nodes["b"]
    orders, _, last = passed(node, 100.0)
    pieces = [piece for order in orders for piece in order.pieces]
    assert sum(piece.length for piece in pieces) == last.bytes == sum(sizes.values())
    assert (last.texts, last.damaged, last.is_over) == (4, 0, True)
    for guid, size in sizes.items():
        parts = [piece for piece in pieces if piece.guid == guid]
        assert [piece.start for piece in parts[1:]] == [piece.start + piece.length for piece in parts[:-1]]
        assert sum(len(piece.sums) for piece in parts) == -(-size // BLOCK_BYTES) and {p.size for p in parts} == {size}
    assert node.core.counted()[Counted.SCRUBBED_BYTES] == last.bytes


def test_it_is_no_faster_than_its_pace_and_takes_a_part_of_the_time_only() -> None:
    node = saved({f"G{number}": 3 * BLOCK_BYTES for number in range(20)}).nodes["b"]
    total = 60 * BLOCK_BYTES
    for pace in (PACE, 10 * PACE):
        orders, over, _ = passed(node, 100.0, pace)
        assert over - 100.0 >= 0.95 * total / pace
        assert all(sum(piece.length for piece in order.pieces) <= pace // 10 + BLOCK_BYTES for order in orders)
    orders, over, _ = passed(node, 100.0, 10**9, took_s=0.1)
    assert all(sum(piece.length for piece in order.pieces) <= MOST_BYTES + BLOCK_BYTES for order in orders)
    assert over - 100.0 >= 0.99 * (len(orders) - 1) * 0.1 / SHARE


def test_small_texts_cost_more_than_their_bytes() -> None:
    node = saved({f"G{number}": 1 for number in range(300)}).nodes["b"]
    _, over, _ = passed(node, 100.0, PACE)
    assert over - 100.0 > 1.0


def test_a_pass_begins_each_day_or_when_an_operator_asks_and_then_from_the_beginning() -> None:
    scrubbing = saved({"G1": 10, "G2": 10}).nodes["b"].scrubbing
    assert scrubbing.order(0, (), 100.0) is None and not scrubbing.is_under_way
    first = scrubbing.order(PACE, (), 100.0)
    assert first is not None and scrubbing.order(PACE, (), 200.0) is None, "one at a time"
    scrubbing.begin()
    scrubbing.done(first, (SAME, SAME), 0.0, 201.0)
    again = scrubbing.order(0, (), 300.0)
    assert again == first and scrubbing.last is not None and scrubbing.last.at == 300.0
    scrubbing.done(again, (SAME, SAME), 0.0, 301.0)
    for now in (302.0, 303.0, 304.0):
        assert scrubbing.order(PACE, (), now) is None
    assert scrubbing.last.is_over and scrubbing.next_deadline() == float("inf")
    assert scrubbing.order(PACE, (), 300.0 + EVERY_S - 1) is None
    assert scrubbing.order(PACE, (), 300.0 + EVERY_S) == first


def test_without_a_pace_of_its_own_an_operators_pass_has_a_moderate_one() -> None:
    node = saved({f"G{number}": 4 * BLOCK_BYTES for number in range(100)}).nodes["b"]
    _, over, last = passed(node, 100.0, 0)
    assert over - 100.0 >= 0.95 * last.bytes / DEFAULT_PACE


def test_users_whose_disk_refuses_are_passed_over_and_so_is_a_text_without_checksums() -> None:
    cluster = saved({"G1": 10})
    cluster.say("m1>a 1 SAVE alice INBOX uid=* guid=G2 size=4 received=1 {text}")
    node = cluster.nodes["b"]
    orders, now, last = passed(node, 100.0)
    assert [piece.guid for order in orders for piece in order.pieces] == ["G1"] and last.texts == 1
    node.scrubbing.begin()
    for second in range(3):
        assert node.scrubbing.order(PACE, {"alice"}, now + 1 + second) is None
    assert not node.scrubbing.is_under_way


def test_l8_what_is_damaged_is_fetched_and_only_a_text_of_the_same_checksums_is_taken() -> None:
    cluster = saved({"G1": 10, "G2": 10}, "abc")
    [box] = cluster.names
    node, store = cluster.nodes["b"], cluster.stores["b"]
    store.damaged.add((box, "G2"))
    passed(node, cluster.now, read=store.scrub)
    assert [(notice.name, notice.about) for notice in node.core.notices() if notice.name == "text_damaged"] == [
        ("text_damaged", "alice G2: rotten")
    ]
    row = cluster.rows["a"].message(box, "G2")
    assert row is not None
    cluster.rows["a"].put_message(row._replace(sums=(8,)))
    cluster.run(1.5)
    assert [line.split(" ")[0] for line in cluster.said("FETCH")] == ["b>a"], "a has another text by this name"
    assert (box, "G2") in store.damaged
    cluster.run(1.5)
    assert [line.split(" ")[0] for line in cluster.said("FETCH")] == ["b>c"]
    assert store.damaged == set() and node.core.missing == {}
    cluster.run(1.0)
    counted = node.core.counted()
    assert (counted[Counted.TEXT_DAMAGED], counted[Counted.TEXT_MENDED]) == (1, 0), "the store was not told about here"


def test_what_came_meanwhile_is_not_judged_by_what_was_read_before() -> None:
    cluster = saved({"G1": 10, "G2": 10})
    node = cluster.nodes["b"]
    [box] = cluster.names
    order = node.scrubbing.order(PACE, (), cluster.now)
    assert order is not None
    row = cluster.rows["b"].message(box, "G1")
    assert row is not None
    cluster.rows["b"].put_message(row._replace(sums=(9,)))
    cluster.rows["b"].drop_message(box, "G2")
    node.scrubbing.done(order, (DAMAGED, DAMAGED), 0.0, cluster.now)
    assert node.core.missing == {}
    node.scrubbing.done(order, (DAMAGED, DAMAGED), 0.0, cluster.now)
    assert node.core.missing == {}, "it was told already"


def test_with_very_much_damage_nothing_more_is_read() -> None:
    cluster = saved({"G1": 10})
    node = cluster.nodes["b"]
    for number in range(MOST_DAMAGED):
        node.core.damaged("alice", "0" * 32, f"X{number}", "gone")
    assert node.scrubbing.order(PACE, (), 100.0) is None
    node.core.missing.clear()
    assert node.scrubbing.order(PACE, (), 100.0 + CROWDED_S) is not None


def test_l8_a_text_that_nobody_has_whole_is_told_once() -> None:
    cluster = saved({"G1": 10})
    [box] = cluster.names
    node = cluster.nodes["b"]
    node.core.damaged("alice", box, "G1", "rotten")
    node.core.damaged("alice", box, "G1", "rotten")
    cluster.cut("a", "b")
    cluster.run(200.0)
    assert [n.about for n in node.core.notices() if n.name == "text_unmended"] == ["alice G1"]
    node.hear("a", "m77", Ok(size=10, sum=(7,)), "late", cluster.now)
    assert node.core.unneeded() == ["late"]
