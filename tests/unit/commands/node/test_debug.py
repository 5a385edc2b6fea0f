"""DEBUG. Texts and digests are those of redis-server 7.0.15 and 8.2.3."""

from __future__ import annotations

import pytest

from pyrepl.commands.engine.effects import DebugLoadAof, DebugReload, DebugSleep, Log, ReplPause, ReplPausePoint
from pyrepl.observability.events import DebugLog, ReplicationIdsChanged
from pyrepl.resp.reply import OK, Simple
from tests.unit.commands.rig import Rig


@pytest.fixture
def rig() -> Rig:
    return Rig(enable_debug_command="yes")


class TestPermission:
    def test_no(self) -> None:
        assert Rig(enable_debug_command="no").error("DEBUG SLEEP 0").startswith("ERR DEBUG command not allowed.")

    @pytest.mark.parametrize(
        ("addr", "allowed"),
        [("127.0.0.1:1", True), ("[::1]:1", True), ("127.0.0.2:1", True), ("10.0.0.1:1", False)],
    )
    def test_local(self, addr: str, allowed: bool) -> None:
        rig = Rig(enable_debug_command="local")
        client = rig.connect(addr)
        assert rig.wire("DEBUG DIGEST", client).startswith(b"+" if allowed else b"-ERR DEBUG command not allowed")

    def test_local_by_the_unix_socket(self) -> None:
        rig = Rig(enable_debug_command="local")
        client = rig.connect("/run/x.sock:0")
        client.laddr = client.addr
        assert rig.wire("DEBUG DIGEST", client).startswith(b"+")


@pytest.mark.parametrize(
    "line", ["foo", "JMAP", "SLEEP", "sleep 0 1", "DIGEST x", "POPULATE", "LOG", "REPL-PAUSE before-main-conn"]
)
def test_unknown_or_wrong(rig: Rig, line: str) -> None:
    name = line.split()[0]
    assert rig.error(f"DEBUG {line}") == (
        f"ERR unknown subcommand or wrong number of arguments for '{name}'. Try DEBUG HELP."
    )


class TestDigest:
    def test_of_nothing(self, rig: Rig) -> None:
        assert rig.say("DEBUG DIGEST") == Simple(b"0" * 40)

    def test_of_something(self, rig: Rig) -> None:
        rig.say("SET a b")
        assert rig.say("DEBUG DIGEST") == Simple(b"479783d7290f02957dfbe3408a858ba13eea1709")

    def test_of_values(self, rig: Rig) -> None:
        rig.say("SET a b")
        rig.say("SET c b")
        digests = rig.say("DEBUG DIGEST-VALUE a nosuch c")
        assert isinstance(digests, list)
        assert digests[0] == digests[2] != digests[1] == Simple(b"0" * 40)
        assert rig.say("DEBUG DIGEST-VALUE") == []


class TestPopulate:
    def test_keys(self, rig: Rig) -> None:
        rig.stream()
        assert rig.say("DEBUG POPULATE 3") == OK
        assert rig.say("GET key:0") == b"value:0"
        assert rig.say("DBSIZE") == 3
        assert rig.stream() == []

    def test_prefix_and_size(self, rig: Rig) -> None:
        rig.say("DEBUG POPULATE 2 p 10")
        rig.say("DEBUG POPULATE 1 q 3")
        assert rig.say("GET p:1") == b"value:1\0\0\0"
        assert rig.say("GET q:0") == b"val"

    def test_existing_keys_stay(self, rig: Rig) -> None:
        rig.say("SET key:1 mine")
        rig.say("DEBUG POPULATE 3")
        assert rig.say("GET key:1") == b"mine"

    def test_who_watches_is_told(self, rig: Rig) -> None:
        rig.say("WATCH key:0")
        rig.say("DEBUG POPULATE 1")
        assert rig.client.dirty_cas

    @pytest.mark.parametrize("words", ["x", "-1", "3 p x"])
    def test_errors(self, rig: Rig, words: str) -> None:
        assert rig.error(f"DEBUG POPULATE {words}") == "ERR value is out of range, must be positive"


class TestEffects:
    @pytest.mark.parametrize(
        ("words", "effect"),
        [
            ("SLEEP 1.5", DebugSleep(1.5)),
            ("SLEEP x", DebugSleep(0.0)),
            ("SLEEP -1", DebugSleep(0.0)),
            ("RELOAD", DebugReload()),
            ("reload nosave noflush merge", DebugReload(save=False, flush=False, merge=True)),
            ("LOADAOF", DebugLoadAof()),
            ("REPL-PAUSE after-fork", ReplPause(ReplPausePoint.AFTER_FORK)),
            ("repl-pause CLEAR", ReplPause(ReplPausePoint.CLEAR)),
            ("LOG hello", Log(DebugLog("hello"))),
        ],
    )
    def test_what_is_asked_for(self, rig: Rig, words: str, effect: object) -> None:
        rig.say(f"DEBUG {words}")
        assert rig.effects == [effect]

    def test_reload_options(self, rig: Rig) -> None:
        assert rig.error("DEBUG RELOAD x") == "ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options."


class TestState:
    def test_active_expiry(self, rig: Rig) -> None:
        rig.say("DEBUG SET-ACTIVE-EXPIRE 0")
        assert rig.node.active_expire is False
        rig.say("DEBUG SET-ACTIVE-EXPIRE 1")
        assert rig.node.active_expire is True

    def test_change_repl_id(self, rig: Rig) -> None:
        history = rig.node.replication.history
        before = history.replid
        assert rig.say("DEBUG CHANGE-REPL-ID") == OK
        assert history.replid != before and len(history.replid) == 40
        assert history.fork is None
        assert rig.effects == [Log(ReplicationIdsChanged())]

    def test_replicate(self, rig: Rig) -> None:
        rig.stream()
        assert rig.say("DEBUG REPLICATE SET x 1") == OK
        assert rig.stream() == ["SELECT 0", "SET x 1"]


class TestObject:
    def test_of_a_string(self, rig: Rig) -> None:
        rig.say("SET a b")
        reply = rig.say("DEBUG OBJECT a")
        assert isinstance(reply, Simple)
        assert b" refcount:1 encoding:embstr serializedlength:2 lru:" in reply.text

    @pytest.mark.parametrize(
        ("line", "encoding"),
        [("RPUSH k a", "listpack"), ("SADD k 1", "intset"), ("HSET k f v", "listpack"), ("XADD k * f v", "stream")],
    )
    def test_of_others(self, rig: Rig, line: str, encoding: str) -> None:
        rig.say(line)
        assert f"encoding:{encoding} serializedlength:" in rig.wire("DEBUG OBJECT k").decode()

    def test_fields_with_a_time_to_live(self, rig: Rig) -> None:
        rig.say("HSET h f v")
        rig.say("HEXPIRE h 100 FIELDS 1 f")
        assert b"encoding:listpackex" in rig.wire("DEBUG OBJECT h")

    def test_of_nothing(self, rig: Rig) -> None:
        assert rig.error("DEBUG OBJECT nosuch") == "ERR no such key"


class TestProtocol:
    @pytest.mark.parametrize(
        ("kind", "resp2", "resp3"),
        [
            ("string", b"$11\r\nHello World\r\n", b"$11\r\nHello World\r\n"),
            ("integer", b":12345\r\n", b":12345\r\n"),
            ("double", b"$5\r\n3.141\r\n", b",3.141\r\n"),
            ("null", b"$-1\r\n", b"_\r\n"),
            ("array", b"*3\r\n:0\r\n:1\r\n:2\r\n", b"*3\r\n:0\r\n:1\r\n:2\r\n"),
            ("set", b"*3\r\n:0\r\n:1\r\n:2\r\n", b"~3\r\n:0\r\n:1\r\n:2\r\n"),
            ("map", b"*6\r\n:0\r\n:0\r\n:1\r\n:1\r\n:2\r\n:0\r\n", b"%3\r\n:0\r\n#f\r\n:1\r\n#t\r\n:2\r\n#f\r\n"),
            ("true", b":1\r\n", b"#t\r\n"),
            ("false", b":0\r\n", b"#f\r\n"),
            (
                "bignum",
                b"$37\r\n1234567999999999999999999999999999999\r\n",
                b"(1234567999999999999999999999999999999\r\n",
            ),
            ("verbatim", b"$25\r\nThis is a verbatim\nstring\r\n", b"=29\r\ntxt:This is a verbatim\nstring\r\n"),
        ],
    )
    def test_kinds(self, rig: Rig, kind: str, resp2: bytes, resp3: bytes) -> None:
        assert rig.wire(f"DEBUG PROTOCOL {kind}") == resp2
        rig.client.speak(3)
        assert rig.wire(f"DEBUG PROTOCOL {kind}") == resp3

    def test_push_is_resp3_only(self, rig: Rig) -> None:
        assert rig.error("DEBUG PROTOCOL push") == "ERR RESP2 is not supported by this command"
        rig.client.speak(3)
        assert rig.wire("DEBUG PROTOCOL push").startswith(b">2\r\n$16\r\nserver-cpu-usage\r\n:42\r\n$")

    def test_attributes(self, rig: Rig) -> None:
        assert rig.wire("DEBUG PROTOCOL attrib") == b"$39\r\nSome real reply following the attribute\r\n"
        rig.client.speak(3)
        assert rig.wire("DEBUG PROTOCOL attrib").startswith(b"|1\r\n")

    def test_unknown(self, rig: Rig) -> None:
        assert rig.error("DEBUG PROTOCOL foo").startswith("ERR Wrong protocol type name. Please use one of the")


def test_error(rig: Rig) -> None:
    assert rig.error("DEBUG ERROR OOPS") == "OOPS"
    assert rig.node.stats.errors == {"OOPS": 1}


def test_help(rig: Rig) -> None:
    assert rig.wire("DEBUG HELP").startswith(b"*")
