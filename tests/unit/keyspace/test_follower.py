"""A follower of a keyspace hears of every key that changes, in each database, and of nothing when it has gone.

The follower is the real one, `Tracking`: a class of a test could not inherit from the compiled base class.
"""

from __future__ import annotations

from pyrepl.acl.identity import UNASKED
from pyrepl.keyspace.database import Keyspace
from pyrepl.node.client import Client
from pyrepl.node.tracking import Tracking
from pyrepl.node.tracking_mode import TrackingMode
from pyrepl.resp.reply import Push, Reply


def test_it_hears_of_changes_while_it_follows() -> None:
    keyspace, client = Keyspace(2), Client(1, "", "", 0.0, UNASKED)
    client.speak(3)
    told: list[tuple[int, Reply]] = []
    follower = Tracking(keyspace, {1: client}, told)
    keyspace.databases[0].write(b"before", b"1")
    follower.begin(client, TrackingMode(redirect=0, bcast=True, optin=False, optout=False, noloop=False), [b""])
    keyspace.databases[0].write(b"a", b"1")
    keyspace.databases[1].write(b"b", b"1")
    keyspace.databases[1].expire(b"b")
    follower.tell_prefixes()
    keyspace.clear()
    assert told == [(1, Push((b"invalidate", [b"a", b"b"]))), (1, Push((b"invalidate", None)))] and not keyspace.facts
    follower.end(client)
    keyspace.databases[0].write(b"after", b"1")
    keyspace.clear()
    assert not follower.is_pending and len(told) == 2
