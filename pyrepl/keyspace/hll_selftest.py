"""PFSELFTEST: do registers keep what is written, and are estimates near?

Bounds are those of Redis 8.2, which does the same with more rounds and elements.
"""

from __future__ import annotations

import math
from typing import Final

from pyrepl.keyspace.hll_registers import HEADER_BYTES, REGISTERS, packed, to_dense
from pyrepl.keyspace.hyperloglog import EMPTY, add, count, merge, no_registers
from pyrepl.keyspace.sampling import Below

_SPARSE_BYTES: Final = 3000
_ERROR: Final = 6 * 1.04 / 128
"""Six times the standard error, which is 1.04 divided by the root of the number of registers."""


def why_not_right(below: Below, rounds: int, elements: int) -> str | None:
    """What is wrong, or None: registers must keep random numbers, and estimates of up to `elements` random elements be
    near, and the same in both forms."""
    for _ in range(rounds):
        registers = bytearray(below(64) for _ in range(REGISTERS))
        kept, read = packed(EMPTY[:HEADER_BYTES], registers), no_registers()
        if kept is None or not merge(read, kept) or read != registers:
            return "the registers are not those that were written"
    seed = below(2**31) << 32
    words = [(seed ^ number).to_bytes(8, "little") for number in range(1, elements + 1)]
    sparse, dense = EMPTY, to_dense(EMPTY)
    done, checkpoint = 0, 1
    while checkpoint <= elements:
        one = add(sparse, words[done:checkpoint], 0, _SPARSE_BYTES)
        other = None if dense is None else add(dense, words[done:checkpoint], 0, _SPARSE_BYTES)
        if one is None or other is None:
            return "elements were not added"
        sparse, dense = one[0], other[0]
        registers, others = no_registers(), no_registers()
        if not merge(registers, dense) or not merge(others, sparse) or registers != others:
            return "dense/sparse disagree"
        error = abs(count(registers) - checkpoint)
        if error > max(1, math.ceil(_ERROR * checkpoint)):
            return f"Too big error. card:{checkpoint} abserr:{error}"
        done, checkpoint = checkpoint, checkpoint * 10
    return None
