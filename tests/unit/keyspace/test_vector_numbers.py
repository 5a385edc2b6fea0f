"""From floats to what is stored, and back. That the bits are Redis's is compared in tests/property."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pyrepl.keyspace.vector_numbers import (
    Vectors,
    distances,
    floats_of,
    floats_of_bytes,
    floats_of_doubles,
    projected,
    projection,
    rows_of,
    stored,
)
from pyrepl.rdb.vectors import BIN, NO_QUANT, Q8, VectorNode, VectorSetValue


def embedding(quant: int, *numbers: float) -> list[float]:
    """What a set gives back of a vector."""
    value = VectorSetValue(len(numbers), quant)
    kept = stored(value, floats_of_doubles(list(numbers)))
    assert len(kept.vector) == value.vector_bytes
    node = VectorNode(b"e", 1, kept.vector, kept.l2, kept.range, [[]])
    return [float(number) for number in floats_of(value, node)]


def test_each_form_gives_back_what_it_can() -> None:
    assert embedding(NO_QUANT, 3, 4) == [3, 4]
    assert embedding(Q8, 1, 2, 4) == [1.0078740119934082, 1.984251856803894, 4]
    assert embedding(BIN, 0.5, -2, 0) == [1, -1, -1]
    assert embedding(Q8, 0, 0) == [0, 0]
    assert embedding(NO_QUANT, 0, 0) == [0, 0]


def test_the_length_is_kept_beside_the_scaled_vector() -> None:
    kept = stored(VectorSetValue(2, NO_QUANT), floats_of_doubles([3, 4]))
    assert kept.l2 == 5.0
    assert floats_of_bytes(kept.vector).tolist() == pytest.approx([0.6, 0.8])
    assert stored(VectorSetValue(2, NO_QUANT), floats_of_doubles([0, 0])).l2 == 1.0


def test_infinite_numbers_become_zeros_in_q8() -> None:
    kept = stored(VectorSetValue(3, Q8), floats_of_doubles([math.inf, 0, 1e300]))
    assert (kept.vector, kept.l2, kept.range) == (b"\0\0\0", math.inf, 0.0)


def test_bits_fill_whole_words() -> None:
    kept = stored(VectorSetValue(65, BIN), floats_of_doubles([1.0] * 65))
    assert kept.vector == b"\xff" * 8 + b"\x01" + b"\0" * 7


@pytest.mark.parametrize("quant", [NO_QUANT, Q8, BIN])
@pytest.mark.parametrize("dim", [2, 64, 1200])
def test_distances_run_from_0_to_2(quant: int, dim: int) -> None:
    value = VectorSetValue(dim, quant)
    one = np.arange(1, dim + 1, dtype=np.float32)
    kept = [stored(value, floats) for floats in (one, -one)]
    vectors = Vectors(
        rows_of(value, b"".join(each.vector for each in kept)), np.array([each.range for each in kept], np.float32)
    )
    found = distances(value, vectors, vectors)
    assert found.tolist() == [pytest.approx([0, 2], abs=0.01), pytest.approx([2, 0], abs=0.01)]
    assert found.dtype == np.float32


def test_zeros_are_1_away_from_all() -> None:
    value = VectorSetValue(2, Q8)
    zeros = stored(value, floats_of_doubles([0, 0]))
    other = stored(value, floats_of_doubles([1, 1]))
    rows = rows_of(value, zeros.vector + other.vector)
    vectors = Vectors(rows, np.array([zeros.range, other.range], np.float32))
    assert distances(value, vectors, vectors)[0].tolist() == [1, 1]


def test_a_projection_keeps_what_is_near_near() -> None:
    by = projection(4, 2)
    assert floats_of_bytes(by.matrix).tolist() == [0.5, 0.5, 0.5, 0.5, 0.5, -0.5, 0.5, -0.5]
    assert projected(by, floats_of_doubles([1, 2, 3, 4])).tolist() == [5, -1]
