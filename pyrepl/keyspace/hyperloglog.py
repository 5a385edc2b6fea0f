"""HyperLogLogs: strings that estimate how many different elements were added to them (Redis 8.2, byte for byte).

The bytes of such a string, and everything that walks over its registers, is `hll_registers`. Here is what they mean:
which string is a HyperLogLog, and the estimate. Where a string with a right header turns out to be unsound, functions
return None, and `add` returns -1 for a count.
"""

from __future__ import annotations

import math
from typing import Final

from pyrepl.keyspace import hll_registers as kernel

MAGIC: Final = b"HYLL"
DENSE: Final = 0
SPARSE: Final = 1
EMPTY: Final = MAGIC + bytes((SPARSE,)) + bytes(11) + b"\x7f\xff"
"""A sparse string without elements: one run of 16384 registers that are 0."""

_REGISTERS: Final = kernel.REGISTERS
_HIGHEST: Final = 50
"""The estimate takes registers beyond this count as full; 51 is the highest that an element can give."""
_ALPHA: Final = 0.721347520444481703680
"""1 / (2 ln 2)."""
_OVERFLOW: Final = -(2**63)
"""What C makes of an estimate that is beyond 64 bits; only registers that no element sets lead there."""

_ADD: Final = kernel.add
"""Looked up once: mypyc would look up a function of a Cython module by its name at each call."""


def is_sound_header(value: bytes) -> bool:
    """Is the string a HyperLogLog, as far as its header and its length tell?"""
    sound: bool = kernel.has_sound_header(value)
    return sound


def add(value: bytes, words: list[bytes], start: int, sparse_bytes: int) -> tuple[bytes, int]:
    """Add the elements `words[start:]`; a sparse string longer than `sparse_bytes` becomes dense. Returns the string
    then, and how many elements raised a register: (b"", 0) if none did, (b"", -1) if the string is unsound, or no
    HyperLogLog at all."""
    added: tuple[bytes, int] = _ADD(value, words, start, sparse_bytes)
    return added


def is_counted(value: bytes) -> bool:
    """Is the cardinality in the header that of the registers?"""
    return not value[15] & 0x80


def cardinality(value: bytes) -> int:
    """The cardinality in the header, 0 <= n < 2**63 if `is_counted`."""
    return int.from_bytes(value[8:16], "little")


def with_cardinality(value: bytes, count: int) -> bytes:
    """The string with another cardinality in its header; one below 0 counts as out of date."""
    return value[:8] + (count & (2**64 - 1)).to_bytes(8, "little") + value[16:]


def outdated(value: bytes) -> bytes:
    """The string with the note that its cardinality is out of date."""
    return value[:15] + bytes((value[15] | 0x80,)) + value[16:]


def no_registers() -> bytearray:
    """The registers of an empty HyperLogLog, a byte each."""
    return bytearray(_REGISTERS)


def merge(registers: bytearray, value: bytes) -> bool:
    """Raise registers to those of a string with a right header. False if the string is unsound."""
    merged: bool = kernel.merge(registers, value)
    return merged


def count(registers: bytearray) -> int:
    """The estimate of how many different elements have set these registers."""
    return estimate(kernel.histogram(registers))


def with_registers(value: bytes, registers: bytearray, sparse_bytes: int, *, dense: bool) -> bytes | None:
    """The string with other registers, none of which is below its own; its cardinality is out of date then.

    With `dense` it becomes dense, else when it grows beyond `sparse_bytes` or a register is too high for a run.
    """
    made = kernel.packed(value, registers) if dense else kernel.raise_all(value, registers, sparse_bytes)
    return None if made is None else outdated(made)


def to_dense(value: bytes) -> bytes | None:
    """The string in its dense form, with the cardinality as it was."""
    return kernel.to_dense(value)


def runs_in_words(value: bytes) -> bytes:
    """The runs of a sparse string as PFDEBUG DECODE prints them: `z:5` and `Z:500` for zeros, `v:3,2` for two registers
    that are 3. Nothing is checked: the runs may be of too many registers."""
    words: list[bytes] = []
    at = kernel.HEADER_BYTES
    while at < len(value):
        code = value[at]
        at += 1
        if code < 0x40:
            words.append(b"z:%d" % (code + 1))
        elif code >= 0x80:
            words.append(b"v:%d,%d" % ((code >> 2 & 31) + 1, (code & 3) + 1))
        else:
            low = value[at] if at < len(value) else 0
            words.append(b"Z:%d" % (((code & 0x3F) << 8 | low) + 1))
            at += 1
    return b" ".join(words)


def estimate(histogram: list[int]) -> int:
    """The cardinality, from how many registers are 0, 1, ...: Otmar Ertl, arXiv 1702.01284.

    Each step is that of Redis in floating point, so that the result is the same to the last digit.
    """
    size = float(_REGISTERS)
    total = size * _tau((size - histogram[_HIGHEST + 1]) / size)
    for number in range(_HIGHEST, 0, -1):
        total += histogram[number]
        total *= 0.5
    total += size * _sigma(histogram[0] / size)
    if total == 0.0:
        return _OVERFLOW
    result = _ALPHA * size * size / total
    if result >= 2.0**63:
        return _OVERFLOW
    whole = math.floor(result)
    return whole + 1 if result - whole >= 0.5 else whole


def _sigma(x: float) -> float:
    if x == 1.0:
        return math.inf
    y = 1.0
    z = x
    before = math.nan
    while before != z:
        x *= x
        before = z
        z += x * y
        y += y
    return z


def _tau(x: float) -> float:
    if x in (0.0, 1.0):
        return 0.0
    y = 1.0
    z = 1.0 - x
    before = math.nan
    while before != z:
        x = math.sqrt(x)
        before = z
        y *= 0.5
        z -= (1.0 - x) * (1.0 - x) * y
    return z / 3.0
