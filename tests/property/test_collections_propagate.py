"""Whatever happens on a master, its stream makes the same data of another keyspace: random picks, times, conversions.

Both sides are ours; that real servers understand the stream is shown in tests/interop and, for SPOP, in
test_differential_sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from pyrepl.commands import (
    hash_ttl,
    hash_ttl_values,
    hashes,
    keys,
    list_edits,
    lists,
    set_algebra,
    sets,
    zset_ranges,
    zset_store,
    zsets,
)
from pyrepl.keyspace.database import Expiry
from pyrepl.keyspace.digest import keyspace_digest
from pyrepl.keyspace.field_expiry import FieldExpiryCycle
from tests.property.collection_words import KEYS
from tests.property.differential import Words
from tests.property.test_differential_hashes import FIELDS, TimeWriter
from tests.property.test_differential_lists import ListWriter
from tests.property.test_differential_sets import SetWriter
from tests.property.test_differential_zsets import ZsetWriter
from tests.unit.commands.desk import Desk

MODULES = (
    hash_ttl, hash_ttl_values, hashes, keys, list_edits, lists, set_algebra, sets, zset_ranges, zset_store, zsets,
)  # fmt: skip


class SoonWriter(TimeWriter):
    """Times to live around now, where the desks' clocks stand, so that fields expire all the time."""

    def __init__(self, rng: Random, desk: Desk) -> None:
        super().__init__(rng)
        self.desk = desk

    def when(self, unit: bytes) -> bytes:
        span_ms = self.rng.choice((0, 20, 50, 100, 1000))
        at_ms = self.desk.keyspace.now_ms + span_ms - 10 if unit.endswith(b"AT") else span_ms
        return b"%d" % (at_ms if unit.startswith(b"P") else at_ms // 1000)


def commands(rng: Random, desk: Desk) -> Iterator[Words]:
    """Commands of all families, and the random ones with all their luck."""
    writers = (ListWriter(rng), SetWriter(rng), ZsetWriter(rng), SoonWriter(rng, desk), SoonWriter(rng, desk))
    while True:
        yield rng.choice(writers).command()
        if rng.random() < 0.1:
            yield b"SPOP", rng.choice(KEYS), *rng.choice(((), (b"1",), (b"2",), (b"100",)))
        if rng.random() < 0.02:
            yield b"HPEXPIRE", rng.choice(KEYS), b"30", b"FIELDS", b"%d" % len(FIELDS), *FIELDS


@pytest.mark.parametrize("seed", range(4))
def test_the_stream_makes_the_same_data(seed: int) -> None:
    rng = Random(seed)
    master, replica = Desk(*MODULES), Desk(*MODULES)
    replica.keyspace.expiry = Expiry.IGNORE
    cycle = FieldExpiryCycle(master.keyspace)
    for number, line in enumerate(commands(rng, master)):
        if number == 4000:
            break
        master.run(*line)
        if rng.random() < 0.05:
            cycle.run(2)
            master.dispatcher.propagate_expired()
        for argv in master.stream:
            replica.run(*argv)
        master.stream.clear()
        assert keyspace_digest(replica.keyspace) == keyspace_digest(master.keyspace), (number, line)
        if rng.random() < 0.3:
            master.pass_ms(rng.randint(0, 30))

    assert master.keyspace.expired_fields_count > 20
