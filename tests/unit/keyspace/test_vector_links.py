"""The graph stays sound and connected, whatever is added and removed. That Redis finds its way in it is shown in
tests/interop."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pyrepl.keyspace.vector_links import link, top_layer, unlink
from pyrepl.keyspace.vector_numbers import floats_of_doubles, stored
from pyrepl.keyspace.vector_scan import VectorScan
from pyrepl.rdb.vectors import MAX_LEVEL, Q8, VectorNode, VectorSetValue, why_links_unsound

CANDIDATES = 200


def insert(value: VectorSetValue, scan: VectorScan, numbers: list[float]) -> None:
    kept = stored(value, floats_of_doubles(numbers))
    node_id = value.last_id + 1
    links: list[list[int]] = [[] for _ in range(top_layer(node_id) + 1)]
    link(value, scan, VectorNode(b"e%d" % node_id, node_id, kept.vector, kept.l2, kept.range, links), CANDIDATES)


def reached(value: VectorSetValue) -> int:
    """How many elements links of layer 0 lead to, from the first one."""
    waiting = [next(iter(value.by_id))]
    seen = set(waiting)
    while waiting:
        for other in value.by_id[waiting.pop()].links[0]:
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return len(seen)


def test_a_quarter_stands_one_layer_higher_each() -> None:
    layers = Counter(top_layer(node_id) for node_id in range(1, 40_000))
    assert 0.74 < layers[0] / 40_000 < 0.76
    assert 0.18 < layers[1] / 40_000 < 0.20
    assert max(layers) <= MAX_LEVEL
    assert top_layer(0) == MAX_LEVEL


@pytest.mark.parametrize("kind", ["spread", "same", "clusters"])
@pytest.mark.parametrize("m", [4, 16])
def test_all_are_reached_and_none_has_too_many_links(kind: str, m: int) -> None:
    rng = Random(m)
    value = VectorSetValue(8, Q8, m)
    scan = VectorScan(value)
    for number in range(400):
        centre = number // 80 * 10.0 if kind == "clusters" else 0.0
        spread = 0.0 if kind == "same" else 1.0
        insert(value, scan, [1.0 + centre * (axis == number // 80) + rng.gauss(0, spread) for axis in range(8)])
    assert why_links_unsound(value) is None
    assert reached(value) == 400
    for node in value.nodes.values():
        for layer, links in enumerate(node.links):
            assert len(links) <= (m * 2 if layer else m * 3)


class Graph(RuleBasedStateMachine):
    """Adding and removing, with vectors of which many are equal or zero."""

    def __init__(self) -> None:
        super().__init__()
        self.value = VectorSetValue(2, Q8, 4)
        self.scan = VectorScan(self.value)

    @rule(x=st.integers(-3, 3), y=st.integers(-3, 3))
    def add(self, x: int, y: int) -> None:
        insert(self.value, self.scan, [x, y])

    @rule(count=st.integers(5, 40), seed=st.integers(0, 100))
    def add_many(self, count: int, seed: int) -> None:
        rng = Random(seed)
        for _ in range(count):
            insert(self.value, self.scan, [rng.gauss(0, 1), rng.gauss(0, 1)])

    @precondition(lambda self: self.value.nodes)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.value.nodes)))
        unlink(self.value, self.scan, self.value.nodes[name])

    @invariant()
    def is_sound(self) -> None:
        assert why_links_unsound(self.value) is None
        assert len(self.scan) == len(self.value) == len(self.value.by_id)
        if len(self.value) > 1:
            assert all(node.links[0] for node in self.value.nodes.values())


TestGraph = Graph.TestCase
TestGraph.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
