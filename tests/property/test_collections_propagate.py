"""Whatever happens on a master, its stream makes the same data of another keyspace: random picks, times, conversions.

Both sides may be real servers too: they understand our stream, and we theirs. Whole replicas are tests/interop's.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import islice
from random import Random
from typing import Protocol

import pytest

from pyrepl.commands.collections import hash_ttl, hash_ttl_values, hashes, list_edits, lists, set_algebra, sets
from pyrepl.commands.keys import keys
from pyrepl.commands.zsets import ranges as zset_ranges
from pyrepl.commands.zsets import store as zset_store
from pyrepl.commands.zsets import zsets
from pyrepl.errors import CommandError
from pyrepl.keyspace.database import Expiry
from pyrepl.keyspace.digest import keyspace_digest
from pyrepl.keyspace.field_expiry import FieldExpiryCycle
from tests.peers.lab import Lab
from tests.peers.wire import Wire
from tests.property.collection_words import KEYS
from tests.property.differential import Words
from tests.property.test_differential_hashes import FIELDS, HashWriter, TimeWriter
from tests.property.test_differential_lists import ListWriter
from tests.property.test_differential_sets import SetWriter
from tests.property.test_differential_zsets import ZsetWriter
from tests.unit.commands.desk import Desk

MODULES = (
    hash_ttl, hash_ttl_values, hashes, keys, list_edits, lists, set_algebra, sets, zset_ranges, zset_store, zsets,
)  # fmt: skip


class Speaker(Protocol):
    """What the writers of all families have in common."""

    def command(self) -> Words: ...


class SoonWriter(TimeWriter):
    """Times to live around now, where the desks' clocks stand, so that fields expire all the time."""

    def __init__(self, rng: Random, desk: Desk) -> None:
        super().__init__(rng)
        self.desk = desk

    def when(self, unit: bytes) -> bytes:
        span_ms = self.rng.choice((0, 20, 50, 100, 1000))
        at_ms = self.desk.keyspace.now_ms + span_ms - 10 if unit.endswith(b"AT") else span_ms
        return b"%d" % (at_ms if unit.startswith(b"P") else at_ms // 1000)


def commands(rng: Random, writers: Sequence[Speaker]) -> Iterator[Words]:
    """Commands of all families, for a while of one each so that types do not clash; random ones with all their luck.

    Without the lowest number, which Redis 8.2 refuses (LREM) or cuts to its lower 32 bits (LSET) and 7.0 does not.
    """
    while True:
        writer = rng.choice(writers)
        yield b"DEL", *KEYS
        for _ in range(80):
            line = writer.command()
            if b"-9223372036854775808" not in line:
                yield line
            if isinstance(writer, SetWriter) and rng.random() < 0.2:
                yield b"SPOP", rng.choice(KEYS), *rng.choice(((), (b"1",), (b"2",), (b"100",)))
            if isinstance(writer, SoonWriter) and rng.random() < 0.05:
                yield b"HPEXPIRE", rng.choice(KEYS), b"30", b"FIELDS", b"%d" % len(FIELDS), *FIELDS


@pytest.mark.parametrize("seed", range(4))
def test_the_stream_makes_the_same_data(seed: int) -> None:
    rng = Random(seed)
    master, replica = Desk(*MODULES), Desk(*MODULES)
    replica.keyspace.expiry = Expiry.IGNORE
    cycle = FieldExpiryCycle(master.keyspace)
    writers = (ListWriter(rng), SetWriter(rng), ZsetWriter(rng), SoonWriter(rng, master), SoonWriter(rng, master))
    for number, line in enumerate(islice(commands(rng, writers), 4000)):
        master.run(*line)
        if rng.random() < 0.05:
            cycle.run(2)
            master.dispatcher.propagate_expired()
        for argv in master.propagated():
            replica.run(*argv)
        assert keyspace_digest(replica.keyspace) == keyspace_digest(master.keyspace), (number, line)
        if rng.random() < 0.3:
            master.pass_ms(rng.randint(0, 30))
    assert master.keyspace.expired_fields_count > 20


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with Lab(tmp_path_factory.mktemp("lab")) as lab:
        yield lab


def writers_for(kind: str, rng: Random) -> list[Speaker]:
    """Without times to live of fields for servers that have none."""
    hashes_too = TimeWriter(rng) if kind == "redis8" else HashWriter(rng)
    return [ListWriter(rng), SetWriter(rng), ZsetWriter(rng), hashes_too]


@pytest.mark.parametrize("kind", ["redis7", "redis8", "valkey8"])
def test_real_servers_understand_our_stream(lab: Lab, kind: str) -> None:
    rng = Random(1)
    master = Desk(*MODULES)
    with lab.start(kind).connect() as wire:
        for line in islice(commands(rng, writers_for(kind, rng)), 3000):
            master.keyspace.now_ms = time.time_ns() // 1_000_000
            master.run(*line)
            for argv in master.propagated():
                wire.call(*argv)
        assert wire.call("DEBUG", "DIGEST") == keyspace_digest(master.keyspace, old_scores=kind == "redis7")


@pytest.mark.parametrize("kind", ["redis7", "redis8", "valkey8"])
def test_we_understand_the_stream_of_real_servers(lab: Lab, kind: str) -> None:
    rng = Random(2)
    replica = Desk(*MODULES)
    replica.keyspace.expiry = Expiry.IGNORE
    node = lab.start(kind)
    with node.connect() as wire, node.connect() as link:
        attach(link)
        for line in islice(commands(rng, writers_for(kind, rng)), 3000):
            wire.pipeline([line])
        wire.call("PUBLISH", "the", "end")
        for argv in iter(link.read, [b"PUBLISH", b"the", b"end"]):
            if argv[0].upper() not in (b"PING", b"SELECT", b"MULTI", b"EXEC"):
                replica.keyspace.now_ms = time.time_ns() // 1_000_000
                reply = replica.run(*argv)
                assert not isinstance(reply, CommandError), (argv, reply)
        assert wire.call("DEBUG", "DIGEST") == keyspace_digest(replica.keyspace, old_scores=kind == "redis7")


def attach(link: Wire) -> None:
    """Become a replica on this connection, which then reads the stream; the snapshot, empty here, is dropped."""
    link.send(b"SYNC\r\n")
    line = b"\n"
    while line == b"\n":
        line = link.file.readline()
    if not line.startswith(b"$EOF:"):
        link.file.read(int(line[1:]))
        return
    mark = line[5:45]
    snapshot = b""
    while not snapshot.endswith(mark):
        snapshot += link.file.read(1)
