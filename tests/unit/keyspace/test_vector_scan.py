"""The rows follow the value; what is nearest."""

from __future__ import annotations

from random import Random

import pytest

from pyrepl.keyspace import vector_scan
from pyrepl.keyspace.vector_numbers import floats_of_doubles, stored
from pyrepl.keyspace.vector_scan import VectorScan
from pyrepl.rdb.vectors import BIN, NO_QUANT, Q8, VectorNode, VectorSetValue

DIM = 6


def node_of(value: VectorSetValue, node_id: int, numbers: list[float], layers: int = 1) -> VectorNode:
    kept = stored(value, floats_of_doubles(numbers))
    return VectorNode(b"e%d" % node_id, node_id, kept.vector, kept.l2, kept.range, [[] for _ in range(layers)])


@pytest.mark.parametrize("quant", [NO_QUANT, Q8, BIN])
@pytest.mark.parametrize("block_bytes", [1 << 22, 1])
def test_rows_that_followed_are_those_of_a_new_scan(
    quant: int, block_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_scan, "_BLOCK_BYTES", block_bytes)
    rng = Random(quant)
    value = VectorSetValue(DIM, quant)
    scan = VectorScan(value)
    for node_id in range(1, 200):
        if value.nodes and rng.random() < 0.4:
            gone = value.nodes.pop(rng.choice(list(value.nodes)))
            del value.by_id[gone.id]
            scan.remove(gone)
        else:
            node = node_of(value, node_id, [rng.gauss(0, 1) for _ in range(DIM)], rng.choice((1, 1, 2)))
            value.add(node)
            scan.add(node)
    assert len(scan) == len(value)
    fresh = VectorScan(value)
    query = stored(value, floats_of_doubles([rng.gauss(0, 1) for _ in range(DIM)]))
    for layer in (0, 1):
        for count in (1, 7, 1000):
            found = [
                [(near.node.name, near.distance) for near in each.candidates(each.distances_from(query), count, layer)]
                for each in (scan, fresh)
            ]
            assert found[0] == found[1]
    assert {near.node.name for near in scan.candidates(scan.distances_from(query), 1000, 1)} == {
        node.name for node in value.nodes.values() if len(node.links) > 1
    }


def test_of_two_that_are_equally_far() -> None:
    value = VectorSetValue(2, Q8)
    scan = VectorScan(value)
    for node_id in (3, 1, 2, 5, 4):
        node = node_of(value, node_id, [1, 1] if node_id < 5 else [1, -1])
        value.add(node)
        scan.add(node)
    away = scan.distances_from(stored(value, floats_of_doubles([1, 1])))
    assert [near.node.id for near in scan.nearest(away, 2)] == [1, 2]
    assert [near.node.id for near in scan.candidates(away, 2, 0)] == [4, 3]
    assert [near.node.id for near in scan.in_order(away)] == [1, 2, 3, 4, 5]


def test_in_order_is_a_sort(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_scan, "_SLICE", 3)
    rng = Random(1)
    value = VectorSetValue(DIM, Q8)
    for node_id in range(1, 30):
        value.add(node_of(value, node_id, [rng.gauss(0, 1) for _ in range(DIM)]))
    scan = VectorScan(value)
    away = scan.distances_from(stored(value, floats_of_doubles([1.0] * DIM)))
    found = [(near.distance, near.node.id) for near in scan.in_order(away)]
    assert found == sorted(found) and len(found) == 29


def test_an_empty_set_has_nothing_near() -> None:
    value = VectorSetValue(2, NO_QUANT)
    scan = VectorScan(value)
    away = scan.distances_from(stored(value, floats_of_doubles([1, 1])))
    assert scan.nearest(away, 5) == [] and list(scan.in_order(away)) == []
