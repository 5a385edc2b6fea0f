"""CONFIG. Error texts are those of redis-server 7.0.15."""

from __future__ import annotations

import pytest

from pyrepl.commands.engine.effects import RewriteConfig, SettingsChanged
from pyrepl.resp.reply import OK
from tests.unit.commands.rig import Rig


@pytest.fixture
def rig() -> Rig:
    return Rig()


class TestGet:
    def test_one(self, rig: Rig) -> None:
        assert rig.say("CONFIG GET repl-timeout") == {b"repl-timeout": b"60"}

    def test_patterns_and_old_names(self, rig: Rig) -> None:
        found = rig.say("CONFIG GET repl-backlog-* slave-read-only nosuch")
        assert found == {b"repl-backlog-size": b"1048576", b"repl-backlog-ttl": b"3600", b"slave-read-only": b"yes"}

    def test_a_name_twice_is_shown_once(self, rig: Rig) -> None:
        assert rig.wire("CONFIG GET hz h[yz]").startswith(b"*2\r\n")


class TestSet:
    def test_a_change_is_in_force_and_told(self, rig: Rig) -> None:
        rig.say("CONFIG SET repl-timeout 7 slave-read-only no")
        assert rig.node.settings.repl_timeout == 7
        assert rig.node.settings.replica_read_only is False
        assert rig.effects == [SettingsChanged(("repl-timeout", "replica-read-only"), (60, True))]

    def test_previous_puts_it_back(self, rig: Rig) -> None:
        before = rig.say("CONFIG GET *")
        rig.run("CONFIG", "SET", "repl-timeout", 7, "save", "60 5", "activerehashing", "no", "maxmemory", "3mb")
        effect = rig.effects[0]
        assert isinstance(effect, SettingsChanged)
        for name, value in zip(effect.names, effect.previous):
            rig.node.settings.assign(name, value)
        after = rig.say("CONFIG GET *")
        assert isinstance(before, dict) and isinstance(after, dict)
        assert {name: text for name, text in after.items() if name in before} == before

    def test_what_is_derived_follows(self, rig: Rig) -> None:
        rig.say("CONFIG SET slowlog-log-slower-than 0 slowlog-max-len 2 min-replicas-to-write 1")
        assert rig.node.slow_limit_s == 0.0
        assert rig.node.slowlog.entries.maxlen == 2
        assert rig.node.conditions.guarded

    @pytest.mark.parametrize(
        ("words", "text"),
        [
            ("nosuch 1", "ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'"),
            ("hz 20 nosuch 1", "ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'"),
            (
                "port 1 port 2",
                "ERR CONFIG SET failed (possibly related to argument 'port') - duplicate parameter",
            ),
            (
                "databases 4",
                "ERR CONFIG SET failed (possibly related to argument 'databases') - can't set immutable config",
            ),
            (
                "hz 20 maxmemory x",
                "ERR CONFIG SET failed (possibly related to argument 'maxmemory') - argument must be a memory value",
            ),
            ("hz 20 port", "ERR syntax error"),
            ("dir /tmp", "ERR CONFIG SET failed (possibly related to argument 'dir') - can't set protected config"),
        ],
    )
    def test_all_or_nothing(self, rig: Rig, words: str, text: str) -> None:
        assert rig.error(f"CONFIG SET {words}") == text
        assert rig.say("CONFIG GET hz") == {b"hz": b"10"}
        assert not rig.effects

    def test_both_spellings_of_one_are_the_same(self, rig: Rig) -> None:
        assert "duplicate parameter" in rig.error("CONFIG SET replica-read-only no slave-read-only yes")

    def test_protected_ones_when_it_is_allowed_from_here(self) -> None:
        rig = Rig(enable_protected_configs="local")
        rig.say("CONFIG SET dbfilename other.rdb")
        assert rig.node.settings.dbfilename == "other.rdb"
        stranger = rig.connect("10.0.0.7:1")
        assert "protected" in rig.error("CONFIG SET dbfilename dump.rdb", stranger)

    def test_what_redis_has_and_we_do_not_is_kept(self, rig: Rig) -> None:
        rig.say("CONFIG SET activerehashing no")
        assert rig.say("CONFIG GET activerehashing") == {b"activerehashing": b"no"}


class TestSecrets:
    def test_they_do_not_reach_the_slow_log(self) -> None:
        rig = Rig(slowlog_log_slower_than=0)
        rig.say("CONFIG SET hz 20 masterauth s3 primaryauth s4")
        rig.say("CONFIG SET hz 20 masterauth s3")
        assert [entry.argv for entry in rig.node.slowlog.entries] == [
            [b"CONFIG", b"SET", b"hz", b"20", b"masterauth", b"(redacted)"],
            [b"CONFIG", b"SET", b"hz", b"20", b"masterauth", b"(redacted)", b"primaryauth", b"(redacted)"],
        ]
        assert rig.node.settings.masterauth == b"s3"

    def test_a_password_that_goes_lets_strangers_in(self) -> None:
        rig = Rig(requirepass=b"s3")
        stranger = rig.connect(authenticated=False)
        rig.run("CONFIG", "SET", "requirepass", "")
        assert rig.say("ECHO x", stranger) == b"x"
        assert not stranger.guarded

    def test_a_password_that_comes_throws_nobody_out(self, rig: Rig) -> None:
        rig.say("CONFIG SET requirepass s3")
        assert rig.say("ECHO x") == b"x"


class TestRewrite:
    def test_without_a_file(self, rig: Rig) -> None:
        assert rig.error("CONFIG REWRITE") == "ERR The server is running without a config file"

    def test_with_one(self, rig: Rig) -> None:
        rig.node.process.config_file = "/etc/pyrepl.conf"
        rig.say("CONFIG REWRITE")
        assert rig.effects == [RewriteConfig()]


def test_resetstat(rig: Rig) -> None:
    rig.say("SET a 1 PX 1")
    rig.pass_s(1)
    for line in ("GET a", "SET b 1", "GET b", "NOSUCH"):
        rig.say(line)
    rig.node.replication.roster.counters.full = 3
    assert rig.say("CONFIG RESETSTAT") == OK
    keyspace = rig.node.keyspace
    assert (keyspace.hits, keyspace.misses, keyspace.expired_keys_count) == (0, 0, 0)
    assert rig.node.replication.roster.counters.full == 0
    assert rig.node.stats.errors == {}
    assert rig.node.stats.commands["set"].calls == 0
    rig.say("SET b 1")
    assert rig.node.stats.commands["set"].calls == 1


def test_help(rig: Rig) -> None:
    assert b"+REWRITE\r\n" in rig.wire("CONFIG HELP")
