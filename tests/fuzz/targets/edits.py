"""Commands on values that hostile snapshots brought, which stay packed while they are small, beside their twins, which
were unpacked at once: the same replies, the same stream to replicas, the same data; then dumped, copied, saved, loaded.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from random import Random
from typing import Final

from pyrepl.errors import CommandError, CorruptData
from pyrepl.keyspace.database import Keyspace
from pyrepl.keyspace.digest import keyspace_digest
from pyrepl.keyspace.loader import Loader
from pyrepl.rdb.reader import RdbLimits
from tests.fuzz import hostile
from tests.fuzz.hostile import Hostile
from tests.fuzz.targets.loading import loaded, saved
from tests.property import test_differential_hashes as hashes
from tests.property import test_differential_keys as keys
from tests.property import test_differential_lists as lists
from tests.property import test_differential_sets as sets
from tests.property import test_differential_zsets as zsets
from tests.property.differential import Ours, Tree, Words, command_table, normal, read_tree, show, words
from tests.property.test_differential_mixed import of_streams

POOL: Final = [b"p%d" % at for at in range(4)]
FAMILIES: Final[tuple[tuple[Callable[[Random], Iterable[Words]], tuple[int, ...]], ...]] = (
    (lists.generate, (hostile.QUICKLIST2, hostile.QUICKLIST2, hostile.QUICKLIST, hostile.LIST)),
    (hashes.generate, (hostile.HASH_LISTPACK, hostile.HASH_LISTPACK, hostile.ZIPMAP, hostile.HASH_LISTPACK_TTLS)),
    (sets.generate, (hostile.SET_LISTPACK, hostile.INTSET, hostile.SET)),
    (zsets.generate, (hostile.ZSET_LISTPACK, hostile.ZSET_LISTPACK, hostile.ZSET_ZIPLIST, hostile.ZSET2)),
    (of_streams, (hostile.STREAM, hostile.STREAM2, hostile.STREAM3, hostile.STREAM4)),
    (keys.keys, hostile.KEPT),
)
AT_RANDOM: Final = frozenset(b"SPOP SRANDMEMBER HRANDFIELD ZRANDMEMBER RANDOMKEY".split())
"""Draws depend on an order that is nobody's business."""
NOT_COMPARED: Final = frozenset(b"MEMORY OBJECT".split())
"""What shows representations; that they end well is enough."""
SHARES: Final = (0.0, 0.002, 0.01)
TRIES: Final = 3

NOW_MS: Final = 1_800_000_000_000
"""The clock of all cases, which stands still: the same seed is the same case."""

_table = command_table()


def case(rng: Random) -> None:
    proto = rng.choice((2, 3))
    sides = [new_side(proto), new_side(proto)]
    make, kinds = rng.choice(FAMILIES)
    for name in POOL:
        bring(rng, sides, name, rng.choice(kinds))
    for argv in commands(rng, make, rng.choice((5, 30, 100))):
        run_both(sides, argv)
    compare(sides)
    for name in POOL:
        run_both(sides, [b"DUMP", name])
        run_both(sides, [b"COPY", name, b"copy of " + name])
        run_both(sides, [b"DEBUG", b"DIGEST-VALUE", name])
    kept = sides[0].node.keyspace
    before = keyspace_digest(kept)
    data = saved(rng, kept)
    back = loaded(data, [data])
    assert back is not None, "what was saved is refused"
    assert keyspace_digest(back) == before, "saved and loaded it is something else"
    for name in POOL:
        run_both(sides, [b"DEL", name])
    compare(sides)


def new_side(proto: int) -> Ours:
    side = Ours(lambda: NOW_MS)
    side.reset(proto)
    side.take_stream()
    return side


def bring(rng: Random, sides: list[Ours], name: bytes, kind: int) -> None:
    """The same key to both sides; unpacked to the second."""
    writer = Hostile(rng, rng.choice(SHARES))
    for _ in range(TRIES):
        data = writer.snapshot([name], {name: kind})
        if loaded(data, [data]) is None:
            continue
        for side in sides:
            load_into(side.node.keyspace, data)
        db = sides[1].node.keyspace.databases[0]
        if name in db.store.values and name not in db.store.expires:
            db.find(name)
        return


def load_into(keyspace: Keyspace, data: bytes) -> None:
    loader = Loader(RdbLimits(max_databases=len(keyspace.databases), input_bytes=len(data)), keyspace)
    try:
        loader.feed(data)
        loader.end()
    except CorruptData as error:
        raise AssertionError("refused now, and taken before") from error


def commands(rng: Random, make: Callable[[Random], Iterable[Words]], count: int) -> Iterator[list[bytes]]:
    """Of one family, on the keys that were loaded."""
    source = iter(make(rng))
    for _ in range(count):
        argv = words(next(source))
        if argv[0].upper() in AT_RANDOM:
            continue
        try:
            row = _table.resolve_in_stream(argv)
        except CommandError:
            yield argv
            continue
        for place in row.keys.positions(argv):
            argv[place] = rng.choice(POOL)
        yield argv


def run_both(sides: list[Ours], argv: list[bytes]) -> None:
    one, two = (side.run(argv) for side in sides)
    if argv[0].upper() in NOT_COMPARED or one == two:
        return
    read = what_it_holds if argv[0].upper() == b"DUMP" else normal
    told = [read(argv, read_tree(io.BytesIO(reply))) for reply in (one, two)]
    assert told[0] == told[1], f"{show(argv)}: packed {one[:300]!r}, unpacked {two[:300]!r}"


def what_it_holds(argv: list[bytes], payload: Tree) -> object:
    """The digest of what a dump restores. Dumps of equal sets and sorted sets may have their members in any order."""
    if not isinstance(payload.content, bytes):
        return payload
    side = new_side(2)
    assert side.run([b"RESTORE", argv[1], b"0", payload.content]) == b"+OK\r\n", f"{show(argv)} cannot be restored"
    return keyspace_digest(side.node.keyspace)


def compare(sides: list[Ours]) -> None:
    one, two = (keyspace_digest(side.node.keyspace) for side in sides)
    assert one == two, "packed and unpacked are not the same"
    for side in sides:
        check_tables(side.node.keyspace)
    for mine, other in zip_longest(*(side.take_stream() for side in sides)):
        assert mine == other, f"replicas are told {mine} and {other}"


def check_tables(keyspace: Keyspace) -> None:
    """What is about a key is about one that is there."""
    for db in keyspace.databases:
        assert db.store.expires.keys() <= db.store.values.keys(), "a time to live of nothing"
