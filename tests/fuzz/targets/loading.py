"""Hostile snapshots and payloads through the loader: refused with a sentence, or taken as what the plain decoders make.

What was taken is saved and loaded once more, and must be the same then.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Final

from pyrepl.errors import CommandError, CorruptData
from pyrepl.keyspace.access import AccessTracker, Tracking
from pyrepl.keyspace.database import Keyspace
from pyrepl.keyspace.digest import keyspace_digest
from pyrepl.keyspace.loader import Loader
from pyrepl.keyspace.snapshot import SnapshotJob
from pyrepl.keyspace.values import HashValue, from_plain
from pyrepl.rdb.events import LoadedKeys
from pyrepl.rdb.payload import decode_payload
from pyrepl.rdb.reader import RdbLimits, RdbReader
from pyrepl.rdb.settings import PackingSettings
from pyrepl.rdb.versions import numbered
from tests.fuzz.build import ROOT
from tests.fuzz.hostile import Hostile

DATABASES: Final = 16
REAL: Final = sorted((Path(ROOT) / "tests" / "data").glob("*.rdb"))
PACKINGS: Final = (
    PackingSettings(),
    PackingSettings(hash_max_listpack_entries=0, set_max_intset_entries=0, list_max_listpack_size=2),
    PackingSettings(hash_max_listpack_entries=100_000, zset_max_listpack_entries=100_000, list_max_listpack_size=-5),
)


def case(rng: Random) -> None:
    hostile = Hostile(rng)
    if rng.random() < 0.15:
        take_payload(hostile.payload())
        return
    data = hostile.snapshot() if rng.random() < 0.9 else real(rng, hostile)
    kept = loaded(data, chunks_of(rng, data))
    plain = decoded(data)
    assert (kept is None) == (plain is None), f"kept packed: {kept is not None}, decoded at once: {plain is not None}"
    if kept is None or plain is None:
        return
    before = keyspace_digest(kept)
    assert before == keyspace_digest(plain), "kept packed and decoded at once it is not the same"
    for keyspace in (kept, plain):
        again = saved(rng, keyspace)
        assert keyspace_digest(keyspace) == before, "the save has changed it"
        back = loaded(again, [again])
        assert back is not None, "what was saved is refused"
        assert keyspace_digest(back) == before, "what was saved is something else"
    for db in kept.databases:
        for key in [key for key in db.store.values if key not in db.store.expires]:
            db.find(key)
    assert keyspace_digest(kept) == before, "unpacked it is something else"


def take_payload(payload: bytes) -> None:
    try:
        value = from_plain(decode_payload(payload))
    except CommandError:
        return
    keyspace = Keyspace(1)
    keyspace.databases[0].put(b"k", value)
    saved_one = b"".join(block for block, _ in SnapshotJob(keyspace, (), numbered(12), PackingSettings()).blocks())
    back = loaded(saved_one, [saved_one])
    assert back is not None and keyspace_digest(back) == keyspace_digest(keyspace), (
        "saved and loaded it is not the same"
    )


def real(rng: Random, hostile: Hostile) -> bytes:
    """A real server's dump with some bytes changed; its checksum says that nobody looked."""
    data = rng.choice(REAL).read_bytes()
    if rng.random() < 0.95:
        data = data[:9] + hostile.bruised(data[9:-8])
    return data[:-8] + bytes(8)


def chunks_of(rng: Random, data: bytes) -> list[bytes]:
    if rng.random() < 0.5:
        return [data]
    if rng.random() < 0.2 and len(data) < 2000:
        return [data[at : at + 1] for at in range(len(data))]
    cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.randrange(1, 6)))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)])]


def loaded(data: bytes, chunks: list[bytes]) -> Keyspace | None:
    """As a node loads it; None when it is refused."""
    keyspace = Keyspace(DATABASES)
    loader = Loader(RdbLimits(max_databases=DATABASES, input_bytes=len(data)), keyspace)
    try:
        for chunk in chunks:
            loader.feed(chunk)
        loader.end()
    except CorruptData:
        return None
    return keyspace


def decoded(data: bytes) -> Keyspace | None:
    """The same without anything that is kept packed."""
    keyspace = Keyspace(DATABASES)
    reader = RdbReader(RdbLimits(max_databases=DATABASES, input_bytes=len(data)))
    try:
        events = reader.feed(data)
        reader.check_complete()
    except CorruptData:
        return None
    for event in events:
        if isinstance(event, LoadedKeys):
            db = keyspace.databases[event.db]
            if not db.store.values.keys().isdisjoint([*event.strings, *(key for key, _ in event.others)]):
                return None
            db.store.values.update(event.strings)
            for key, plain in event.others:
                value = from_plain(plain)
                db.store.values[key] = value
                if isinstance(value, HashValue) and value.expires:
                    db.volatile_hashes.add(key)
            db.store.expires.update(event.expires)
    return keyspace


def saved(rng: Random, keyspace: Keyspace) -> bytes:
    version = numbered(rng.choice((12, 13)))
    access = AccessTracker(keyspace)
    access.track(rng.choice(list(Tracking)))
    for db in keyspace.databases:
        db.accesses = {
            key: rng.choice((0, 5, 255, -(1 << 62), 1 << 62)) for key in db.store.values if rng.random() < 0.5
        }
    packing, checksum, compress = rng.choice(PACKINGS), rng.random() < 0.5, rng.random() < 0.5
    job = SnapshotJob(keyspace, (), version, packing, checksum, compress, access=access)
    return b"".join(block for block, _ in job.blocks())
