"""Who is told that a key is not valid any more, once, and that it costs nothing while nobody tracks."""

from __future__ import annotations

from collections.abc import Callable

from pyrepl.acl.identity import UNASKED
from pyrepl.keyspace.database import Keyspace
from pyrepl.node.client import Client
from pyrepl.node.tracking import CHANNEL, Tracking
from pyrepl.node.tracking_mode import TrackingMode
from pyrepl.resp.reply import Push, Reply


def mode(
    *, redirect: int = 0, bcast: bool = False, optin: bool = False, optout: bool = False, noloop: bool = False
) -> TrackingMode:
    return TrackingMode(redirect=redirect, bcast=bcast, optin=optin, optout=optout, noloop=noloop)


class Place:
    """A keyspace, and clients that speak RESP3."""

    def __init__(self) -> None:
        self.keyspace = Keyspace(2)
        self.db = self.keyspace.databases[0]
        self.clients: dict[int, Client] = {}
        self.deliveries: list[tuple[int, Reply]] = []
        self.tracking = Tracking(self.keyspace, self.clients, self.deliveries)

    def client(self, proto: int = 3) -> Client:
        made = Client(len(self.clients) + 1, "", "", 0.0, UNASKED)
        made.speak(proto)
        self.clients[made.id] = made
        return made

    def heard(self) -> list[tuple[int, Reply]]:
        self.tracking.tell_prefixes()
        taken = self.deliveries[:]
        self.deliveries.clear()
        return taken


def invalid(client: Client, *keys: bytes) -> tuple[int, Reply]:
    return client.id, Push((b"invalidate", list(keys)))


def test_who_has_read_a_key_is_told_once() -> None:
    place = Place()
    one, two = place.client(), place.client()
    for client in (one, two):
        place.tracking.begin(client, mode(), ())
        assert client.tracking is not None
    place.tracking.remember(one, [b"a", b"b"])
    place.tracking.remember(two, [b"a"])
    assert (place.tracking.keys_count, place.tracking.items_count, place.tracking.clients_count) == (2, 3, 2)
    place.db.write(b"a", b"1")
    place.db.write(b"a", b"2")
    assert place.heard() == [invalid(one, b"a"), invalid(two, b"a")]
    assert (place.tracking.keys_count, place.tracking.items_count) == (1, 1)


def test_each_way_in_which_a_key_changes() -> None:
    place = Place()
    client = place.client()
    place.tracking.begin(client, mode(), ())
    db = place.db
    db.write(b"k", b"1")
    changes: list[Callable[[], object]] = [
        lambda: db.write(b"k", b"1"),
        lambda: db.update(b"k", b"1"),
        lambda: db.changed(b"k"),
        lambda: db.expire(b"k"),
        lambda: db.evict(b"k"),
    ]
    for change in changes:
        place.tracking.remember(client, [b"k"])
        change()
        assert place.heard() == [invalid(client, b"k")]
    place.tracking.remember(client, [b"k"])
    place.keyspace.clear()
    assert place.heard() == [(client.id, Push((b"invalidate", None)))]
    assert place.tracking.keys_count == 0


def test_noloop_spares_the_writer() -> None:
    place = Place()
    one, two = place.client(), place.client()
    place.tracking.begin(one, mode(noloop=True), ())
    place.tracking.begin(two, mode(bcast=True, noloop=True), [b""])
    for writer, told in ((one, [invalid(two, b"k")]), (two, [invalid(one, b"k")])):
        place.tracking.remember(one, [b"k"])
        place.tracking.writer = writer
        place.db.write(b"k", b"1")
        assert place.heard() == told


def test_prefixes_are_told_together() -> None:
    place = Place()
    client = place.client()
    place.tracking.begin(client, mode(bcast=True), [b"a", b"b"])
    assert place.tracking.prefixes_count == 2
    for key in (b"a1", b"b1", b"a2", b"c", b"a1"):
        place.db.write(key, b"1")
    assert place.tracking.is_pending
    assert place.heard() == [invalid(client, b"a1", b"a2"), invalid(client, b"b1")]
    assert not place.tracking.is_pending and place.heard() == []


def test_optin_and_optout_ask_for_the_next_command() -> None:
    place = Place()
    opted_in, opted_out = place.client(), place.client()
    place.tracking.begin(opted_in, mode(optin=True), ())
    place.tracking.begin(opted_out, mode(optout=True), ())
    for caching, readers in ((False, {opted_out.id}), (True, {opted_in.id})):
        for client in (opted_in, opted_out):
            assert client.tracking is not None
            client.tracking.caching = caching
            place.tracking.remember(client, [b"k"])
        place.db.write(b"k", b"1")
        assert {number for number, _ in place.heard()} == readers


def test_another_client_hears_in_its_place() -> None:
    place = Place()
    reader, hearer = place.client(2), place.client(2)
    place.tracking.begin(reader, mode(redirect=hearer.id), ())
    place.tracking.remember(reader, [b"k"])
    place.db.write(b"k", b"1")
    assert place.heard() == [], "a client of RESP2 hears only when it has subscribed"
    hearer.subscribe(CHANNEL)
    place.tracking.remember(reader, [b"k"])
    place.db.write(b"k", b"1")
    assert place.heard() == [(hearer.id, Push((b"message", CHANNEL, [b"k"])))]
    del place.clients[hearer.id]
    place.tracking.remember(reader, [b"k"])
    reader.speak(3)
    place.db.write(b"k", b"1")
    assert place.heard() == [(reader.id, Push((b"tracking-redir-broken", hearer.id)))]
    assert reader.tracking is not None and reader.tracking.words() == [b"on", b"broken_redirect"]


def test_the_oldest_keys_go_when_the_table_is_full() -> None:
    place = Place()
    client = place.client()
    place.tracking.begin(client, mode(), ())
    place.tracking.resize(2)
    place.tracking.remember(client, [b"a", b"b", b"c"])
    assert place.heard() == [invalid(client, b"a")] and place.tracking.keys_count == 2
    place.tracking.resize(1)
    assert place.heard() == [invalid(client, b"b")]


def test_nobody_follows_once_the_last_client_has_gone() -> None:
    place = Place()
    one, two = place.client(), place.client()
    place.tracking.begin(one, mode(), ())
    place.tracking.begin(two, mode(bcast=True), [b"x"])
    place.tracking.remember(one, [b"k"])
    assert place.db.followed
    place.tracking.end(one)
    place.tracking.end(one)
    assert place.db.followed and place.tracking.clients_count == 1
    place.tracking.end(two)
    assert not place.db.followed and place.keyspace.follower is None
    assert (place.tracking.keys_count, place.tracking.items_count, place.tracking.prefixes_count) == (0, 0, 0)
    place.db.write(b"k", b"1")
    assert place.heard() == [] and not one.guarded
