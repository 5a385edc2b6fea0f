"""What a replica tells about itself, option by option."""

from __future__ import annotations

import pytest

from pyrepl.errors import CommandError
from pyrepl.replication.dialects import Capability
from pyrepl.replication.replconf import Exclusion
from pyrepl.replication.told import Told


def test_each_option_has_its_fact() -> None:
    told = Told()
    assert told.receive(b"listening-port", b"6380") and told.listening_port == 6380
    assert told.receive(b"ip-address", b"10.0.0.9") and told.announced_ip == "10.0.0.9"
    assert told.receive(b"capa", b"eof") and told.receive(b"capa", b"psync2") and told.receive(b"capa", b"new-one")
    assert told.capabilities == Capability.EOF | Capability.PSYNC2
    assert told.receive(b"rdb-only", b"1") and told.rdb_only
    assert told.receive(b"rdb-filter-only", b"functions") and told.excluded is Exclusion.DATA


def test_what_is_none_of_these_is_left_to_others() -> None:
    assert not Told().receive(b"ack", b"1") and not Told().receive(b"rdb-channel", b"1")


def test_a_value_that_makes_no_sense() -> None:
    with pytest.raises(CommandError):
        Told().receive(b"rdb-only", b"2")


def test_a_pyrepl_is_not_taken_for_the_valkey_it_names() -> None:
    told = Told()
    told.receive(b"capa", b"rdb-version-13")
    told.receive(b"version", b"9.0.1")
    assert told.version == "" and told.capabilities == Capability.READS_13


def test_the_other_connection_knows_more() -> None:
    told = Told()
    told.learn("9.0.1", Capability.READS_80 | Capability.PSYNC2)
    assert told.version == "9.0.1" and told.capabilities == Capability.READS_80
    told.learn("8.0.0", Capability.NONE)
    assert told.version == "9.0.1"
