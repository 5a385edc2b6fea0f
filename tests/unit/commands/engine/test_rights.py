"""What a command is to the rules of users, and what is noted of refusals."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyrepl.acl.denial import Refused
from pyrepl.acl.log import Context
from pyrepl.acl.selector import ALL, READ, WRITE
from pyrepl.acl.users import UsersError
from pyrepl.commands.engine.rights import why_denied, words_of
from pyrepl.node.client import Client
from pyrepl.resp.reply import OK, Raw, Reply
from tests.unit.commands.rig import Rig

AB, ABC = [(1, READ), (2, READ)], [(1, READ), (2, READ), (3, READ)]


@pytest.fixture
def rig() -> Rig:
    return Rig()


@pytest.mark.parametrize(
    ("line", "keys", "channels"),
    [
        ("GET a", [(1, READ)], []),
        ("SET a v", [(1, WRITE)], []),
        ("SET a v GET", [(1, ALL)], []),
        ("EXISTS a b", [(1, 0), (2, 0)], []),
        ("MGET a b c", ABC, []),
        ("RENAME a b", [(1, ALL), (2, WRITE)], []),
        ("PING", [], []),
        ("PUBLISH c m", [], [(1, False)]),
        ("SUBSCRIBE c d", [], [(1, False), (2, False)]),
        ("PSUBSCRIBE c*", [], [(1, True)]),
        ("SSUBSCRIBE c", [], [(1, False)]),
        ("UNSUBSCRIBE c", [], []),
        ("GET", [], []),
    ],
)
def test_keys_and_channels(rig: Rig, line: str, keys: list[tuple[int, int]], channels: list[tuple[int, bool]]) -> None:
    argv = line.encode().split()
    row = rig.dispatcher.find_entry(argv).row
    words = words_of(row, argv)
    assert (words.keys, words.channels, words.name) == (keys, channels, line.split()[0].lower())


def encoded(reply: Reply) -> bytes:
    assert isinstance(reply, Raw)
    return reply.encoded


def limited(rig: Rig, *rules: str) -> Client:
    rig.run("ACL", "SETUSER", "bob", "on", "nopass", *rules)
    client = rig.connect()
    rig.say("AUTH bob x", client)
    assert client.limited and not client.guarded
    return client


def noted(rig: Rig) -> list[tuple[Refused, Context, bytes]]:
    return [(entry.reason, entry.context, entry.object) for entry in rig.node.acl_log.entries]


def test_what_a_client_is_refused(rig: Rig) -> None:
    bob = limited(rig, "+@all", "-set", "~a*", "&c")
    assert rig.say("GET a", bob) is None
    assert rig.error("SET a 1", bob) == "NOPERM User bob has no permissions to run the 'set' command"
    assert rig.error("GET b", bob) == "NOPERM No permissions to access a key"
    assert rig.error("PUBLISH d m", bob) == "NOPERM No permissions to access a channel"
    assert noted(rig) == [
        (Refused.CHANNEL, Context.TOPLEVEL, b"d"),
        (Refused.KEY, Context.TOPLEVEL, b"b"),
        (Refused.COMMAND, Context.TOPLEVEL, b"set"),
    ]
    assert b" user=bob " in rig.node.acl_log.entries[0].client_info


def test_a_transaction_asks_twice(rig: Rig) -> None:
    bob = limited(rig, "+@all", "~*")
    for line in ("MULTI", "SET a 1", "GET a"):
        rig.say(line, bob)
    rig.say("ACL SETUSER bob -get")
    first, second = rig.say("EXEC", bob)  # type: ignore[misc]
    assert first == OK
    assert str(second).startswith("NOPERM ACLs rules changed between")
    rig.say("MULTI", bob)
    assert rig.error("GET a", bob).startswith("NOPERM User bob")
    assert rig.error("EXEC", bob).startswith("EXECABORT")
    assert {context for _, context, _ in noted(rig)} == {Context.MULTI}


def test_scripts_have_the_rights_of_who_calls_them(rig: Rig) -> None:
    bob = limited(rig, "+@all", "~a")
    assert encoded(rig.run("EVAL", "return redis.call('GET', 'a')", 0, client=bob)) == b"$-1\r\n"
    assert "ACL failure in script: No permissions to access a key" in str(
        rig.run("EVAL", "return redis.call('GET', 'b')", 0, client=bob)
    )
    assert noted(rig) == [(Refused.KEY, Context.LUA, b"b")]
    assert encoded(rig.run("EVAL", "return redis.acl_check_cmd('get', 'b')", 0, client=bob)) == b"$-1\r\n"
    assert encoded(rig.run("EVAL", "return redis.acl_check_cmd('get', 'b')", 0)) == b":1\r\n"
    rig.say("ACL SETUSER bob -get")
    assert "no permissions to run the 'get' command" in str(
        rig.run("EVAL", "return redis.call('GET', 'a')", 0, client=bob)
    )


def test_sort_looks_up_for_those_alone_who_may_read_all(rig: Rig) -> None:
    bob = limited(rig, "+@all", "~a")
    rig.say("RPUSH a 1")
    assert rig.error("SORT a BY w_*", bob) == "ERR BY option of SORT denied due to insufficient ACL permissions."
    assert rig.error("SORT a GET #", bob) == "ERR GET option of SORT denied due to insufficient ACL permissions."
    assert rig.say("SORT a BY nosort", bob) == [b"1"]
    rig.say("ACL SETUSER bob %R~*")
    assert rig.say("SORT a BY w_* GET #", bob) == [b"1"]


def test_failed_logins_are_noted(rig: Rig) -> None:
    rig.say("ACL SETUSER bob on >p")
    assert rig.error("AUTH bob x").startswith("WRONGPASS")
    assert rig.error("HELLO 3 AUTH nobody x").startswith("WRONGPASS")
    assert [(entry.user, entry.object) for entry in rig.node.acl_log.entries] == [
        (b"nobody", b"HELLO"),
        (b"bob", b"AUTH"),
    ]
    assert rig.node.acl_log.refused[Refused.AUTH] == 2


RULES = """
~a* ~b %R~a %W~b* %RW~c ~* resetkeys
&x* &y &* resetchannels
+@all -@all +get -get +set +set|a +mset +@read -@write +publish +subscribe +psubscribe +sort +eval +config|get +select|1
(~b_+get) (+@all_%R~a*) (+publish_&x) (+@all_~*_&*) clearselectors
"""
LINES = """
GET a|GET b1|GET|GET |SET b v GET|MSET a 1 b1 2|MSET a 1 c 2|MGET a b c|XREAD STREAMS a b 0 0|COPY a b|RENAME a c
SET a v|SORT a BY b GET c STORE b|EVAL s 2 a b|EVAL s 9 a|EVAL s x|CONFIG GET a|CONFIG SET a b|SELECT 1|SELECT 2|PING
AUTH a|PUBLISH x1 m|PUBLISH y m|SUBSCRIBE x y|PSUBSCRIBE x*|PSUBSCRIBE y|SSUBSCRIBE x|BITFIELD a GET u1 0
"""
rule_sets = st.lists(st.sampled_from(RULES.split()), max_size=8)
commands = st.sampled_from(LINES.strip().replace("\n", "|").split("|"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(rule_sets, min_size=1, max_size=3), st.lists(commands, max_size=12))
def test_what_is_allowed_at_once_is_what_the_rules_allow(rig: Rig, changes: list[list[str]], lines: list[str]) -> None:
    """With what was kept from before, too: rules that change make it forgotten."""
    users = rig.node.users
    for rules in changes:
        with suppress(UsersError):
            users.set(b"quick", [rule.replace("_", " ").encode() for rule in rules])
        user = users.get(b"quick")
        for line in lines:
            if user is None:
                break
            argv = line.encode().split(b" ")
            row = rig.dispatcher.find_entry(argv).row
            assert why_denied(user, row, argv) == user.why_not(words_of(row, argv)), line
