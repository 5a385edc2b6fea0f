"""The commands of all families on the same few keys, so that types collide, some between MULTI and EXEC: pyrepl against
Redis 7.0. Replies, numbers of changes, what goes to the replicas, and digests are the same.

Left out is what answers at random or shows inner order (SPOP, HRANDFIELD, DUMP, ...), what shows the time, XREADGROUP
(the consumers it makes reach replicas earlier than those of Redis 7.0), ranges by name of members with several scores
(Redis leaves them open), BITCOUNT and BITPOS (Redis 7.0 does not look at the arguments of a missing key;
test_differential_strings compares them with Redis 8.2), what streams learnt with Redis 8 (test_differential_streams),
and scores that Redis 7.0 prints with 17 digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Final

import pytest

from pyrepl.commands.engine.table import Table
from pyrepl.errors import CommandError
from tests.peers.lab import Lab
from tests.property import test_differential_hashes as hashes
from tests.property import test_differential_keys as keys
from tests.property import test_differential_lists as lists
from tests.property import test_differential_sets as sets
from tests.property import test_differential_streams as streams
from tests.property import test_differential_strings as strings
from tests.property import test_differential_zsets as zsets
from tests.property.differential import NEAR, PAIRED, UNORDERED, Duel, Words, command_table, words

POOL: Final = [b"p%d" % i for i in range(6)]
LEFT_OUT: Final = frozenset(
    b"SPOP SRANDMEMBER HRANDFIELD ZRANDMEMBER RANDOMKEY DUMP SORT SORT_RO XINFO XPENDING XREADGROUP XCLAIM XAUTOCLAIM "
    b"ZLEXCOUNT ZRANGEBYLEX ZREVRANGEBYLEX ZREMRANGEBYLEX BITCOUNT BITPOS XREAD XDELEX XACKDEL".split()
)
LEFT_OUT_WITH: Final = frozenset(b"BYLEX KEEPREF DELREF ACKED".split())
LONG_SCORE: Final = re.compile(rb"-?\d*\.(?!5$|25$|75$)\d+(e[+-]?\d+)?", re.IGNORECASE)
NOT_IN_EXEC: Final = UNORDERED | PAIRED | NEAR | frozenset(b"SELECT FLUSHALL FLUSHDB SWAPDB".split())


def of_streams(rng: Random) -> Iterator[Words]:
    script = streams.Script(rng.randrange(1 << 30))
    while True:
        yield script.command()


class Mixer:
    """Takes commands of all families in turn and lets their keys be those of POOL."""

    def __init__(self, rng: Random, table: Table) -> None:
        self.rng = rng
        self.table = table
        makers = (
            strings.strings,
            strings.bits,
            keys.keys,
            hashes.generate,
            lists.generate,
            sets.generate,
            zsets.generate,
            of_streams,
        )
        self.sources = [iter(make(rng)) for make in makers]

    def argv(self) -> list[bytes]:
        while True:
            argv = words(next(self.rng.choice(self.sources)))
            if argv[0].upper() in LEFT_OUT or LEFT_OUT_WITH.intersection(map(bytes.upper, argv)):
                continue
            if argv[0][:1] in b"zZ":
                argv = [b"2.5" if LONG_SCORE.fullmatch(word) else word for word in argv]
            try:
                row = self.table.resolve_in_stream(argv)
            except CommandError:
                return argv
            for place in row.keys.positions(argv):
                argv[place] = self.rng.choice(POOL)
            return argv

    def transaction(self) -> Iterator[list[bytes]]:
        if self.rng.random() < 0.3:
            yield [b"WATCH", self.rng.choice(POOL)]
            yield self.argv()
        yield [b"MULTI"]
        for _ in range(self.rng.randrange(5)):
            argv = self.argv()
            if argv[0].upper() not in NOT_IN_EXEC:
                yield argv
        yield [self.rng.choice((b"EXEC", b"EXEC", b"EXEC", b"DISCARD"))]


@pytest.fixture(scope="module")
def duel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Duel]:
    with Lab(tmp_path_factory.mktemp("lab")) as lab, Duel(lab.start("redis7")) as duel:
        yield duel


@pytest.mark.parametrize("seed", range(6))
def test_all_families_on_the_same_keys(duel: Duel, seed: int) -> None:
    table = command_table()

    def generate(rng: Random) -> Iterator[Words]:
        mixer = Mixer(rng, table)
        while True:
            if rng.random() < 0.04:
                yield from mixer.transaction()
            else:
                yield mixer.argv()

    duel.fight(generate, seed, commands=2000, streams=True)
