"""What CLIENT CAPA and CLIENT IMPORT-SOURCE change. tests/interop/test_capabilities.py compares them with Valkey."""

from __future__ import annotations

import pytest

from tests.unit.commands.rig import START_MS, Rig


def following() -> Rig:
    rig = Rig()
    rig.say("SET k v")
    rig.node.replication.role.follow("10.0.0.1", 7000, 0.0)
    return rig


def said(rig: Rig, *lines: str) -> list[str]:
    return [str(rig.say(line)) for line in lines]


def test_a_replica_sends_clients_that_follow_to_its_master() -> None:
    rig = following()
    assert (
        said(rig, "CLIENT CAPA other Redirect", "GET k", "SET k v", "KEYS *")
        == ["Simple(b'OK')"] + ["REDIRECT 10.0.0.1:7000"] * 3
    )
    assert said(rig, "PING", "EVAL return(1) 0", "CLIENT ID")[1:] == ["1", str(rig.client.id)]


def test_readonly_lets_them_read() -> None:
    rig = following()
    assert "cluster support disabled" in str(rig.say("READONLY"))
    rig.say("CLIENT CAPA REDIRECT")
    assert rig.say("READONLY") and rig.say("GET k") == b"v"
    assert str(rig.say("SET k w")) == "REDIRECT 10.0.0.1:7000"
    assert rig.say("READWRITE") and str(rig.say("GET k")) == "REDIRECT 10.0.0.1:7000"
    rig.say("READONLY")
    rig.say("RESET")
    # The capability stays, READONLY does not.
    assert str(rig.say("GET k")) == "REDIRECT 10.0.0.1:7000"


def test_a_transaction_with_a_redirection_is_discarded() -> None:
    rig = following()
    rig.say("CLIENT CAPA REDIRECT")
    rig.say("MULTI")
    assert str(rig.say("GET k")).startswith("REDIRECT")
    assert str(rig.say("EXEC")).startswith("EXECABORT")


@pytest.mark.parametrize("capability", ["redirect", "other"])
def test_a_master_serves_everybody(capability: str) -> None:
    rig = Rig()
    rig.say(f"CLIENT CAPA {capability}")
    assert rig.say("SET k v") and rig.say("GET k") == b"v"


def importing() -> Rig:
    rig = Rig(import_mode=True)
    rig.say("SET k v PX 50")
    rig.node.keyspace.now_ms = START_MS + 1000
    return rig


def test_what_has_expired_is_hidden_and_stays() -> None:
    rig = importing()
    assert rig.say("GET k") is None and rig.say("DBSIZE") == 1
    rig.say("CLIENT IMPORT-SOURCE ON")
    assert rig.say("GET k") == b"v"
    rig.say("CLIENT IMPORT-SOURCE OFF")
    assert rig.say("GET k") is None


def test_a_source_may_set_times_that_have_passed() -> None:
    rig = importing()
    rig.say("CLIENT IMPORT-SOURCE ON")
    rig.say("SET past v PXAT 1000")
    assert rig.say("PEXPIREAT k 1000") == 1 and rig.say("DBSIZE") == 2
    assert rig.say("MGET past k") == [b"v", b"v"]


def test_only_in_import_mode() -> None:
    rig = Rig()
    assert str(rig.say("CLIENT IMPORT-SOURCE ON")) == "ERR Server is not in import mode"
    assert str(rig.say("CLIENT IMPORT-SOURCE x")) == "ERR syntax error"
    assert rig.say("CLIENT IMPORT-SOURCE OFF")
