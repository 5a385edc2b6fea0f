"""ACL and its subcommands; test_differential_acl compares rules and replies with Redis."""

from __future__ import annotations

import pytest

from pyrepl.commands.engine.effects import KillClients, LoadUsers, MakePassword, SaveUsers
from pyrepl.resp.reply import OK, Raw
from tests.unit.commands.rig import Rig


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_who_one_is(rig: Rig) -> None:
    assert rig.say("ACL WHOAMI") == b"default"
    rig.say("ACL SETUSER bob on >p +@all")
    assert rig.say("AUTH bob p") == OK
    assert rig.say("ACL WHOAMI") == b"bob"
    rig.say("RESET")
    assert rig.say("ACL WHOAMI") == b"default"


def test_deleted_users_are_thrown_out(rig: Rig) -> None:
    rig.say("ACL SETUSER bob on nopass +@all")
    others = [rig.connect(), rig.connect()]
    for client in others:
        rig.say("AUTH bob x", client)
    assert rig.say("ACL DELUSER bob nobody") == 1
    assert rig.effects[-1] == KillClients(tuple(client.id for client in others), 1)
    assert not rig.client.closing


def test_who_deletes_itself_still_gets_the_reply(rig: Rig) -> None:
    rig.say("ACL SETUSER bob on nopass +@all")
    rig.say("AUTH bob x")
    assert rig.say("ACL DELUSER bob") == 1
    assert rig.client.closing


def test_who_listens_to_what_it_loses_is_thrown_out(rig: Rig) -> None:
    rig.say("ACL SETUSER bob on nopass +@all &a &b* &c*")
    stays, goes, by_pattern = rig.connect(), rig.connect(), rig.connect()
    for client, line in ((stays, "SUBSCRIBE a"), (goes, "SSUBSCRIBE b1"), (by_pattern, "PSUBSCRIBE c*")):
        rig.say("AUTH bob x", client)
        assert isinstance(rig.say(line, client), Raw)
    rig.say("ACL SETUSER bob resetchannels &a &c1")
    assert rig.effects[-1] == KillClients((goes.id, by_pattern.id), OK)


def test_rights_that_change_hold_at_once(rig: Rig) -> None:
    rig.say("ACL SETUSER bob on nopass +get ~*")
    bob = rig.connect()
    rig.say("AUTH bob x", bob)
    assert rig.error("SET a 1", bob).startswith("NOPERM")
    rig.say("ACL SETUSER bob +@all allchannels")
    assert rig.say("SET a 1", bob) == OK and not bob.limited and not bob.guarded


def test_effects(rig: Rig) -> None:
    rig.say("ACL GENPASS")
    rig.say("ACL GENPASS 5")
    assert rig.effects == [MakePassword(64), MakePassword(2)]
    for bits in ("0", "4097", "-1"):
        assert rig.error(f"ACL GENPASS {bits}").startswith("ERR ACL GENPASS argument must be the number of bits")
    for verb in ("LOAD", "SAVE"):
        assert rig.error(f"ACL {verb}").startswith("ERR This Redis instance is not configured to use an ACL file.")
    rig = Rig(aclfile="users.acl")
    rig.say("ACL LOAD")
    rig.say("ACL SAVE")
    assert rig.effects == [LoadUsers(), SaveUsers()]


def test_secrets_reach_neither_the_slow_log_nor_monitors(rig: Rig) -> None:
    rig.say("CONFIG SET slowlog-log-slower-than 0")
    monitor = rig.connect()
    rig.say("MONITOR", monitor)
    rig.say("ACL SETUSER bob on >planted")
    rig.say("ACL DELUSER planted")
    rig.say("ACL GETUSER planted")
    assert b"planted" not in rig.wire("SLOWLOG GET 10")
    assert "planted" not in str(rig.node.deliveries)


def test_a_monitor_sees_what_a_limited_client_does(rig: Rig) -> None:
    rig.say("ACL SETUSER bob on nopass +get ~*")
    monitor, bob = rig.connect(), rig.connect()
    rig.say("MONITOR", monitor)
    rig.say("AUTH bob x", bob)
    rig.say("GET seen", bob)
    assert "seen" in str(rig.node.deliveries[-1])
    count = len(rig.node.deliveries)
    rig.say("SET seen 1", bob)
    assert len(rig.node.deliveries) == count


def test_wrong_words(rig: Rig) -> None:
    for line in ("ACL CAT a b", "ACL GENPASS 1 2", "ACL LOG 1 2"):
        assert rig.error(line).startswith("ERR unknown subcommand or wrong number of arguments for")
    assert rig.error("ACL CAT nosuch") == "ERR Unknown category 'nosuch'"
    assert rig.error("ACL DRYRUN nobody GET a") == "ERR User 'nobody' not found"
    assert rig.error("ACL DRYRUN default NOSUCH a") == "ERR Command 'NOSUCH' not found"
    assert rig.error("ACL DRYRUN default GET") == "ERR wrong number of arguments for 'get' command"
    assert rig.error("ACL LOG x") == "ERR value is not an integer or out of range"
    assert rig.error("ACL DELUSER default") == "ERR The 'default' user cannot be removed"
