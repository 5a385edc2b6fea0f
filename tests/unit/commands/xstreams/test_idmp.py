"""Messages that are added only once. That replies, errors and the stream are those of Redis 8.6 is shown by
tests/property/test_differential_newer.py; here what depends on time and on who says it."""

from __future__ import annotations

import pytest

from pyrepl.commands.xstreams.idmp import fingerprint
from pyrepl.keyspace.idmp import IdmpCycle
from pyrepl.node.client import Client
from pyrepl.rdb.values import IdmpState, StreamValue
from tests.unit.commands.rig import START_MS, Rig


@pytest.fixture
def rig() -> Rig:
    rig = Rig()
    rig.stream()
    return rig


def stream_of(rig: Rig) -> StreamValue:
    stream = rig.node.keyspace.databases[0].store.values[b"s"]
    assert isinstance(stream, StreamValue)
    return stream


def idmp_of(rig: Rig) -> IdmpState:
    idmp = stream_of(rig).idmp
    assert idmp is not None
    return idmp


def as_replica(rig: Rig) -> Client:
    rig.follow()
    link = rig.node.replication.link_client
    assert link is not None
    return link


def test_the_fingerprint_is_redis_s_whatever_the_order() -> None:
    """The first as a Redis 8.6.3 saved it (tests/data/redis-8.6.rdb)."""
    assert fingerprint((b"f", b"v")).hex() == "6e95729ee727f0814aedffba55730079"
    assert fingerprint((b"f", b"v", b"g", b"w")) == fingerprint((b"g", b"w", b"f", b"v"))
    assert fingerprint((b"f", b"v")) != fingerprint((b"fv", b"")) != fingerprint((b"", b"fv"))


def test_what_comes_again_is_answered_with_the_entry_of_before(rig: Rig) -> None:
    assert rig.say("XADD s IDMP p i * f v") == b"%d-0" % START_MS
    rig.pass_s(1)
    assert rig.say("XADD s IDMP p i * other value") == b"%d-0" % START_MS
    assert rig.say("XADD s IDMP q i * f v") == b"%d-0" % (START_MS + 1000)
    assert rig.say("XADD s IDMPAUTO q * f v") == b"%d-1" % (START_MS + 1000)
    assert rig.say("XADD s IDMPAUTO q * f v") == b"%d-1" % (START_MS + 1000)
    assert rig.say("XLEN s") == 3
    assert (idmp_of(rig).iids_added, idmp_of(rig).iids_duplicates) == (3, 2)
    assert rig.stream() == [
        "SELECT 0",
        f"XADD s IDMP p i {START_MS}-0 f v",
        "XADD s IDMP p i * other value",
        f"XADD s IDMP q i {START_MS + 1000}-0 f v",
        f"XADD s IDMPAUTO q {START_MS + 1000}-1 f v",
        "XADD s IDMPAUTO q * f v",
    ]


def test_an_id_is_forgotten_when_its_time_is_over(rig: Rig) -> None:
    rig.say("XADD s IDMP p i * f v")
    cycle = IdmpCycle(rig.node.keyspace)
    for span_s, entries in ((99.999, 1), (0.001, 2)):
        rig.pass_s(span_s)
        cycle.begin()
        cycle.run(rig.node.keyspace.now_ms)
        rig.say("XADD s IDMP p i * f v")
        assert rig.say("XLEN s") == entries


def test_an_entry_that_is_deleted_stays_known(rig: Rig) -> None:
    rig.say("XADD s IDMP p i * f v")
    rig.say(f"XDEL s {START_MS}-0")
    assert rig.say("XADD s IDMP p i * f v") == b"%d-0" % START_MS
    assert rig.say("XLEN s") == 0


def test_a_replica_adds_what_its_master_added(rig: Rig) -> None:
    """The master has forgotten the id by its clock, we have not."""
    link = as_replica(rig)
    rig.say("XADD s IDMP p i 5-0 f v", client=link)
    rig.say("XADD s IDMP p i 9-0 f w", client=link)
    assert [entry_id for entry_id, _ in stream_of(rig).entries] == [(5, 0), (9, 0)]
    assert idmp_of(rig) == IdmpState(100, 100, {b"p": {b"i": (9, 0)}}, 2, 0)


def test_a_replica_adds_nothing_that_its_master_knew(rig: Rig) -> None:
    """The master knows the id, we have forgotten it by our clock."""
    link = as_replica(rig)
    rig.say("XADD s 5-0 f v", client=link)
    rig.say("XADD s IDMP p i * f v", client=link)
    rig.say("XADD none IDMP p i * f v", client=link)
    assert rig.say("XLEN s") == 1 and rig.say("EXISTS none") == 0
    assert idmp_of(rig) == IdmpState(iids_duplicates=1)


def test_a_new_stream_has_what_the_directives_say() -> None:
    rig = Rig(stream_idmp_duration=7, stream_idmp_maxsize=1)
    rig.say("XADD s IDMP p i * f v")
    rig.say("XADD s IDMP p j * f v")
    assert idmp_of(rig) == IdmpState(7, 1, {b"p": {b"j": (START_MS, 1)}}, 2, 0)
    rig.say("XGROUP CREATE t g $ MKSTREAM")
    reply = rig.say("XINFO STREAM t")
    assert isinstance(reply, dict) and reply[b"idmp-duration"] == 7
    payload = rig.say("DUMP s")
    assert isinstance(payload, bytes) and payload[0] == 26
    assert rig.run("RESTORE", "u", 0, payload)
    assert rig.say("XADD u IDMP p j * f v") == b"%d-1" % START_MS
    assert rig.node.keyspace.databases[0].idmp_streams == {b"s", b"t", b"u"}


def test_xcfgset_and_xidmprecord_propagate_when_they_change_something(rig: Rig) -> None:
    rig.say("XADD s 5-0 f v")
    rig.stream()
    rig.say("XCFGSET s IDMP-DURATION 100")
    rig.say("XIDMPRECORD s p i 5-0")
    rig.say("XIDMPRECORD s p i 5-0")
    rig.say("XADD s IDMP p i * f v")
    rig.say("XCFGSET s IDMP-DURATION 9 idmp-maxsize 10000")
    assert rig.stream() == [
        "XIDMPRECORD s p i 5-0",
        "XADD s IDMP p i * f v",
        "XCFGSET s IDMP-DURATION 9 idmp-maxsize 10000",
    ]
    assert idmp_of(rig) == IdmpState(9, 10000, {}, 1, 1)


def test_copies_and_renamed_streams_know_it_too(rig: Rig) -> None:
    rig.say("XADD s IDMP p i * f v")
    rig.say("COPY s t")
    rig.say("RENAME t u")
    rig.pass_s(5)
    for key in ("s", "u"):
        assert rig.say(f"XADD {key} IDMP p i * f v") == b"%d-0" % START_MS
    assert rig.node.keyspace.databases[0].idmp_streams == {b"s", b"u"}
