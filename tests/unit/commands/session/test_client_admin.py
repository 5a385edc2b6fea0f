"""CLIENT. Error texts are those of redis-server 7.0.15 (8.2.3 for what came later)."""

from __future__ import annotations

import pytest

from pyrepl.acl.identity import UNASKED
from pyrepl.commands.engine.effects import KillClients, PauseChanged, UnblockClient
from pyrepl.node.client import Client
from pyrepl.resp.reply import NO_REPLY, OK, Raw, Verbatim
from tests.unit.commands.rig import START_MS, Rig


@pytest.fixture
def rig() -> Rig:
    return Rig()


def lines(reply: object) -> list[str]:
    assert isinstance(reply, Verbatim)
    return reply.text.decode().splitlines()


class TestSelf:
    def test_id_and_name(self, rig: Rig) -> None:
        assert rig.say("CLIENT ID") == 1
        assert rig.say("CLIENT GETNAME") is None
        assert rig.say("CLIENT SETNAME app-1") == OK
        assert rig.say("CLIENT GETNAME") == b"app-1"
        assert rig.run("CLIENT", "SETNAME", "") == OK
        assert rig.say("CLIENT GETNAME") is None

    @pytest.mark.parametrize("name", ["a b", "a\n", "\xa0", "\x7f"])
    def test_names_are_plain(self, rig: Rig, name: str) -> None:
        text = "ERR Client names cannot contain spaces, newlines or special characters."
        assert str(rig.run("CLIENT", "SETNAME", name)) == text

    def test_setinfo(self, rig: Rig) -> None:
        assert rig.say("CLIENT SETINFO lib-name redis-py") == OK
        assert rig.say("CLIENT SETINFO LIB-VER 5.0") == OK
        assert "lib-name=redis-py lib-ver=5.0" in lines(rig.say("CLIENT INFO"))[0]
        assert rig.error("CLIENT SETINFO foo x") == "ERR Unrecognized option 'foo'"
        assert str(rig.run("CLIENT", "SETINFO", "lib-name", "a b")) == (
            "ERR lib-name cannot contain spaces, newlines or special characters."
        )

    def test_switches(self, rig: Rig) -> None:
        assert rig.say("CLIENT NO-EVICT ON") == OK
        assert rig.say("CLIENT NO-TOUCH on") == OK
        assert rig.client.no_evict and rig.client.no_touch
        rig.say("CLIENT NO-EVICT off")
        assert not rig.client.no_evict
        assert rig.error("CLIENT NO-EVICT maybe") == "ERR syntax error"

    def test_tracking_is_off(self, rig: Rig) -> None:
        assert rig.say("CLIENT GETREDIR") == -1
        assert rig.say("CLIENT TRACKINGINFO") == {b"flags": [b"off"], b"redirect": -1, b"prefixes": []}


class TestReply:
    def test_off_and_on(self, rig: Rig) -> None:
        assert rig.say("CLIENT REPLY OFF") is NO_REPLY
        assert rig.client.reply_mode == "off" and rig.client.guarded
        reply = rig.say("CLIENT REPLY ON")
        assert isinstance(reply, Raw)
        assert (reply.encoded, reply.is_heard) == (OK.encoded, True)
        assert rig.client.reply_mode == "on" and not rig.client.guarded

    def test_skip(self, rig: Rig) -> None:
        assert rig.say("CLIENT REPLY SKIP") is NO_REPLY
        assert rig.client.skip_next_reply and rig.client.guarded

    def test_skip_while_off_is_no_promise_for_later(self, rig: Rig) -> None:
        rig.say("CLIENT REPLY OFF")
        rig.say("CLIENT REPLY SKIP")
        assert not rig.client.skip_next_reply

    def test_unknown(self, rig: Rig) -> None:
        assert rig.error("CLIENT REPLY x") == "ERR syntax error"


class TestList:
    def test_all_by_id(self, rig: Rig) -> None:
        rig.connect()
        assert [line.split()[0] for line in lines(rig.say("CLIENT LIST"))] == ["id=1", "id=2"]

    def test_by_type(self, rig: Rig) -> None:
        listener = rig.connect()
        rig.say("SUBSCRIBE a", listener)
        replica = rig.connect()
        replica.become_replica()
        assert [line.split()[0] for line in lines(rig.say("CLIENT LIST TYPE pubsub"))] == ["id=2"]
        assert [line.split()[0] for line in lines(rig.say("CLIENT LIST TYPE REPLICA"))] == ["id=3"]
        assert lines(rig.say("CLIENT LIST TYPE slave")) == lines(rig.say("CLIENT LIST TYPE replica"))
        assert [line.split()[0] for line in lines(rig.say("CLIENT LIST TYPE normal"))] == ["id=1"]
        assert lines(rig.say("CLIENT LIST TYPE master")) == []

    def test_by_ids(self, rig: Rig) -> None:
        rig.connect()
        assert [line.split()[0] for line in lines(rig.say("CLIENT LIST ID 2 99 1"))] == ["id=2", "id=1"]

    @pytest.mark.parametrize(
        ("options", "text"),
        [
            ("foo", "ERR syntax error"),
            ("TYPE", "ERR syntax error"),
            ("TYPE normal x", "ERR syntax error"),
            ("TYPE foo", "ERR Unknown client type 'foo'"),
            ("ID", "ERR syntax error"),
            ("ID 1 x", "ERR Invalid client ID"),
        ],
    )
    def test_errors(self, rig: Rig, options: str, text: str) -> None:
        assert rig.error(f"CLIENT LIST {options}") == text


class TestKill:
    def test_the_old_form(self, rig: Rig) -> None:
        rig.connect("127.0.0.1:9000")
        assert rig.say("CLIENT KILL 127.0.0.1:9000") == OK
        assert rig.effects == [KillClients((2,), OK)]
        assert rig.error("CLIENT KILL 127.0.0.1:1") == "ERR No such client"

    def test_the_old_form_kills_oneself_after_the_reply(self, rig: Rig) -> None:
        assert rig.say("CLIENT KILL 127.0.0.1:5001") == OK
        assert rig.client.closing and not rig.effects

    def test_oneself_is_spared(self, rig: Rig) -> None:
        rig.connect()
        rig.connect()
        assert rig.say("CLIENT KILL TYPE normal") == 2
        assert rig.effects == [KillClients((2, 3), 2)]
        assert not rig.client.closing

    def test_unless_skipme_is_no(self, rig: Rig) -> None:
        rig.connect()
        assert rig.say("CLIENT KILL TYPE normal SKIPME no") == 2
        assert rig.effects == [KillClients((2,), 2)]
        assert rig.client.closing

    @pytest.mark.parametrize(
        ("filters", "killed"),
        [
            ("ID 2", (2,)),
            ("ADDR 10.0.0.3:1", (3,)),
            ("LADDR 127.0.0.1:6379", (2, 3, 4)),
            ("TYPE replica", (4,)),
            ("TYPE slave", (4,)),
            ("USER default", (2, 3, 4)),
            ("ADDR 10.0.0.3:1 ID 3", (3,)),
            ("MAXAGE 60", (2,)),
        ],
    )
    def test_filters(self, rig: Rig, filters: str, killed: tuple[int, ...]) -> None:
        rig.connect("10.0.0.2:1")
        rig.pass_s(60)
        rig.connect("10.0.0.3:1")
        rig.connect("10.0.0.4:1").become_replica()
        assert rig.say(f"CLIENT KILL {filters}") == len(killed)
        assert rig.effects == [KillClients(killed, len(killed))]

    def test_all_must_hold(self, rig: Rig) -> None:
        rig.connect("10.0.0.2:1")
        assert rig.say("CLIENT KILL ID 2 ADDR 10.0.0.9:1") == 0
        assert not rig.effects

    @pytest.mark.parametrize(
        ("filters", "text"),
        [
            ("ID x", "ERR client-id should be greater than 0"),
            ("ID 0", "ERR client-id should be greater than 0"),
            ("TYPE foo", "ERR Unknown client type 'foo'"),
            ("SKIPME x", "ERR syntax error"),
            ("foo bar", "ERR syntax error"),
            ("ID 1 TYPE", "ERR syntax error"),
            ("USER nobody", "ERR No such user 'nobody'"),
            ("MAXAGE x", "ERR maxage is not an integer or out of range"),
        ],
    )
    def test_errors(self, rig: Rig, filters: str, text: str) -> None:
        assert rig.error(f"CLIENT KILL {filters}") == text


class TestPause:
    def test_of_everything(self, rig: Rig) -> None:
        rig.say("CLIENT PAUSE 500")
        assert rig.effects == [PauseChanged()]
        assert rig.node.pause.holds(START_MS + 499, may_write=False)
        assert not rig.node.pause.holds(START_MS + 500, may_write=True)
        assert rig.node.conditions.guarded

    def test_of_writes(self, rig: Rig) -> None:
        rig.say("CLIENT PAUSE 500 write")
        assert rig.node.pause.holds(START_MS, may_write=True)
        assert not rig.node.pause.holds(START_MS, may_write=False)

    def test_its_end(self, rig: Rig) -> None:
        rig.say("CLIENT PAUSE 500")
        rig.say("CLIENT UNPAUSE")
        assert not rig.node.pause.holds(START_MS, may_write=True)
        assert not rig.node.conditions.guarded

    @pytest.mark.parametrize(
        ("words", "text"),
        [
            ("x", "ERR timeout is not an integer or out of range"),
            ("-1", "ERR timeout is negative"),
            ("1 foo", "ERR CLIENT PAUSE mode must be WRITE or ALL"),
            ("1 ALL x", "ERR unknown subcommand or wrong number of arguments for 'PAUSE'. Try CLIENT HELP."),
        ],
    )
    def test_errors(self, rig: Rig, words: str, text: str) -> None:
        assert rig.error(f"CLIENT PAUSE {words}") == text
        assert not rig.effects


class TestUnblock:
    def test_nobody_is(self, rig: Rig) -> None:
        assert rig.say("CLIENT UNBLOCK 1") == 0
        assert rig.say("CLIENT UNBLOCK 1 error") == 0
        assert not rig.effects

    @pytest.mark.parametrize(("words", "with_error"), [("", False), (" timeout", False), (" Error", True)])
    def test_who_waits(self, rig: Rig, words: str, with_error: bool) -> None:
        other = Client(77, "h:1", "h:2", 0.0, UNASKED)
        rig.node.clients[77] = other
        other.is_blocked = True
        rig.say("CLIENT UNBLOCK 77" + words)
        assert rig.effects == [UnblockClient(77, with_error)]

    def test_errors(self, rig: Rig) -> None:
        assert rig.error("CLIENT UNBLOCK x") == "ERR value is not an integer or out of range"
        assert rig.error("CLIENT UNBLOCK 1 ERROR x") == (
            "ERR unknown subcommand or wrong number of arguments for 'UNBLOCK'. Try CLIENT HELP."
        )
        assert rig.error("CLIENT UNBLOCK 1 foo") == "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR"


def test_help_names_every_subcommand_but_itself(rig: Rig) -> None:
    text = rig.wire("CLIENT HELP").decode()
    for name in rig.dispatcher.table.rows[b"CLIENT"].subcommands:
        assert f"+{name.decode()}" in text
