"""Strings that look like HyperLogLogs: a right header with any runs or registers behind it; each is read or refused."""

from __future__ import annotations

from random import Random

from pyrepl.keyspace import hyperloglog
from pyrepl.keyspace.hll_registers import DENSE_BYTES, HEADER_BYTES, REGISTERS

_STEPS = 3


def case(rng: Random) -> None:
    """One string, and a few things that clients may do to it."""
    value = _string(rng)
    for _ in range(_STEPS):
        assert hyperloglog.is_sound_header(value)
        words = [rng.randbytes(rng.randrange(30)) for _ in range(rng.choice((1, 1, 5, 20)))]
        sparse_bytes = rng.choice((0, 20, 100, 3000, 100_000))
        made, raised = hyperloglog.add(value, words, 0, sparse_bytes)
        if raised > 0:
            value = made
        registers = hyperloglog.no_registers()
        if hyperloglog.merge(registers, value):
            assert len(registers) == REGISTERS
            hyperloglog.count(registers)
            merged = hyperloglog.with_registers(value, registers, sparse_bytes, dense=rng.random() < 0.5)
            assert merged is not None
            value = merged
        elif raised < 0 and value[4] == hyperloglog.SPARSE:
            assert hyperloglog.to_dense(value) is None
        if value[4] == hyperloglog.SPARSE:
            value = _broken(rng, value)
            hyperloglog.runs_in_words(value)


def _string(rng: Random) -> bytes:
    header = hyperloglog.EMPTY[:HEADER_BYTES]
    kind = rng.randrange(4)
    if kind == 0:
        return hyperloglog.EMPTY
    if kind == 1:
        return header[:4] + b"\0" + header[5:] + rng.randbytes(DENSE_BYTES - HEADER_BYTES)
    if kind == 2:
        return header + rng.randbytes(rng.randrange(300))
    size = rng.choice((20, 300, rng.randrange(5000)))
    return header + bytes(rng.choices((0x00, 0x3F, 0x40, 0x7F, 0x80, 0x83, 0xFF), k=size))


def _broken(rng: Random, value: bytes) -> bytes:
    """A few bytes behind the header changed, as SETRANGE does, or the end cut off."""
    size = len(value)
    if size > HEADER_BYTES and rng.random() < 0.5:
        at = rng.randrange(HEADER_BYTES, size)
        return value[:at] + rng.randbytes(1) + value[at + 1 :]
    return value[: max(HEADER_BYTES, size - rng.randrange(4))] if rng.random() < 0.3 else value
