"""A follower of a keyspace hears of every key that changes, in each database, and of nothing when it has gone."""

from __future__ import annotations

from pyrepl.keyspace.database import Keyspace
from pyrepl.keyspace.follower import Follower


class Ear(Follower):
    def __init__(self) -> None:
        self.heard: list[bytes] = []

    def key_touched(self, key: bytes) -> None:
        self.heard.append(key)

    def keys_flushed(self) -> None:
        self.heard.append(b"(all)")


def test_it_hears_of_changes_while_it_follows() -> None:
    keyspace, ear = Keyspace(2), Ear()
    keyspace.databases[0].write(b"before", b"1")
    keyspace.follow(ear)
    keyspace.databases[0].write(b"a", b"1")
    keyspace.databases[1].write(b"b", b"1")
    keyspace.databases[1].expire(b"b")
    keyspace.clear()
    assert ear.heard == [b"a", b"b", b"b", b"(all)"] and not keyspace.facts
    keyspace.follow(None)
    keyspace.databases[0].write(b"after", b"1")
    keyspace.clear()
    assert len(ear.heard) == 4
