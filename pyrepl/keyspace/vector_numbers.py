"""The numbers of vector sets: from floats to what is stored of them, back, and the distance between two vectors.

Every float here has 32 bits and every sum is added in Redis 8's order, so that a replica stores the very bits that its
master stores (`rdb.vectors` shows the three forms). Distances between vectors of floats may differ from Redis's in the
last bits: Redis's own order of adding depends on the processor.

This module and those that import it need numpy. `vector_verbs` imports them when they are first needed.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyrepl.rdb.vectors import BIN, NO_QUANT, Q8, Projection, VectorNode, VectorSetValue

Floats = NDArray[np.float32]
Rows = NDArray[Any]
"""Stored vectors, one a row: floats of 32 bits, integers of 8 or words of 64, which says the form."""

_DTYPES: Final[dict[int, np.dtype[Any]]] = {
    NO_QUANT: np.dtype("<f4"),
    Q8: np.dtype("i1"),
    BIN: np.dtype("<u8"),
}
_F32: Final = np.float32
_GREATEST: Final = 127
"""What the greatest number of a vector becomes in the form Q8."""
_EXACT_IN_F32: Final = (1 << 24) // _GREATEST**2
"""Up to so many dimensions, the sum of products of two vectors in the form Q8 is exact as a float of 32 bits."""
_WORD: Final = 64


class Stored(NamedTuple):
    """A vector as it is stored: its bytes, the length that it had, and its range (see `VectorNode`)."""

    vector: bytes
    l2: float
    range: float


class Vectors(NamedTuple):
    """Several stored vectors: their rows, and their ranges, which count in the form Q8 alone."""

    rows: Rows
    ranges: Floats


def floats_of_bytes(blob: bytes) -> Floats:
    """The floats in a blob, 4 bytes each, least significant byte first; the length must be a multiple of 4."""
    return np.frombuffer(blob, dtype=_DTYPES[NO_QUANT])


def floats_of_doubles(numbers: list[float]) -> Floats:
    """Doubles, rounded to floats; what is too great becomes infinite."""
    with np.errstate(over="ignore"):
        return np.array(numbers, dtype=np.float64).astype(_F32)


def rows_of(value: VectorSetValue, vectors: bytes) -> Rows:
    """Stored vectors that stand one behind the other, as rows; they cannot be changed."""
    dtype = _DTYPES[value.quant]
    return np.frombuffer(vectors, dtype=dtype).reshape(-1, value.vector_bytes // dtype.itemsize)


def stored(value: VectorSetValue, floats: Floats) -> Stored:
    """What is stored of a vector of `value.dim` floats: scaled to length 1, then brought into the form of the set."""
    with np.errstate(all="ignore"):
        scaled, l2 = _scaled(floats)
        if value.quant == NO_QUANT:
            return Stored(scaled.tobytes(), l2, 0.0)
        if value.quant == Q8:
            small, value_range = _to_q8(scaled)
            return Stored(small.tobytes(), l2, value_range)
        return Stored(_to_bits(scaled), l2, 0.0)


def floats_of(value: VectorSetValue, node: VectorNode) -> Floats:
    """The vector of an element, as near as its form allows to what was added."""
    row = rows_of(value, node.vector)[0]
    with np.errstate(all="ignore"):
        if value.quant == BIN:
            bits = np.unpackbits(row.view(np.uint8), bitorder="little")[: value.dim]
            return np.where(bits, _F32(1), _F32(-1))
        if value.quant == Q8:
            row = row.astype(_F32) * _F32(node.range) / _F32(_GREATEST)
        return np.asarray(row * _F32(node.l2), dtype=_F32)


def _scaled(floats: Floats) -> tuple[Floats, float]:
    """A vector scaled to length 1, and its length; a vector of zeros stays, and has the length 1."""
    squares = floats * floats
    whole = len(floats) // 4 * 4
    fours = squares[0:whole:4] + squares[1:whole:4]
    fours = fours + squares[2:whole:4]
    fours = fours + squares[3:whole:4]
    # cumsum adds one after the other, as Redis does; sum() adds in pairs, which rounds otherwise.
    total = np.cumsum(np.concatenate((fours, squares[whole:])), dtype=_F32)[-1]
    if total == 0:
        return floats, 1.0
    l2 = np.sqrt(total)
    return floats / l2, float(l2)


def _to_q8(floats: Floats) -> tuple[NDArray[np.int8], float]:
    """Numbers from -127 to 127, half rounded away from 0; and the greatest magnitude, which 127 stands for."""
    # What is not a number is passed over, as a comparison with it is false.
    greatest = np.fmax.reduce(np.abs(floats), initial=_F32(0))
    if greatest == 0:
        return np.zeros(len(floats), dtype=np.int8), 0.0
    exact = (floats * (_F32(_GREATEST) / greatest)).astype(np.float64)
    rounded = np.copysign(np.floor(np.abs(exact) + 0.5), exact)
    return np.nan_to_num(rounded, nan=0.0).astype(np.int8), float(greatest)


def _to_bits(floats: Floats) -> bytes:
    """A bit for each number: is it above zero? Filled up to whole words of 64 bits."""
    bits = np.packbits(floats > 0, bitorder="little").tobytes()
    return bits.ljust((len(floats) + _WORD - 1) // _WORD * 8, b"\0")


def projection(input_dim: int, dim: int) -> Projection:
    """The matrix of a new set with REDUCE: a Hadamard pattern, 1 or -1 by the common bits of row and column, scaled."""
    row = np.arange(dim, dtype=np.uint32)[:, None]
    column = np.arange(input_dim, dtype=np.uint32)[None, :]
    scale = _F32(1.0 / np.sqrt(np.float64(input_dim)))
    matrix = np.where(np.bitwise_count(row & column) % 2 == 0, scale, -scale)
    return Projection(input_dim, matrix.astype("<f4").tobytes())


def projected(by: Projection, floats: Floats) -> Floats:
    """A vector of `by.input_dim` floats, made shorter by the matrix."""
    matrix = floats_of_bytes(by.matrix).reshape(-1, by.input_dim)
    with np.errstate(all="ignore"):
        # A row at a time: the products of a whole matrix may need gigabytes.
        return np.array([np.cumsum(row * floats, dtype=_F32)[-1] for row in matrix], dtype=_F32)


def distances(value: VectorSetValue, left: Vectors, right: Vectors) -> Floats:
    """The distance of each left vector from each right one, as a matrix: from 0 (same direction) to 2 (opposite).

    A vector of zeros is 1 away from all. The work and the memory are those of one matrix of len(left) x len(right)
    numbers, in the form BIN of as many words of 64 bits for each of a vector's words.
    """
    with np.errstate(all="ignore"):
        if value.quant == NO_QUANT:
            return np.asarray(1 - left.rows @ right.rows.T, dtype=_F32)
        if value.quant == BIN:
            opposite = np.bitwise_count(left.rows[:, None, :] ^ right.rows[None, :, :]).sum(axis=2, dtype=np.uint32)
            return np.asarray(opposite.astype(_F32) * _F32(2) / _F32(value.dim), dtype=_F32)
        wide = np.dtype(_F32 if value.dim <= _EXACT_IN_F32 else np.float64)
        products = (left.rows.astype(wide) @ right.rows.astype(wide).T).astype(_F32)
        scales = (left.ranges / _F32(_GREATEST))[:, None] * (right.ranges / _F32(_GREATEST))[None, :]
        return np.asarray(np.clip(1 - products * scales, 0, 2), dtype=_F32)
