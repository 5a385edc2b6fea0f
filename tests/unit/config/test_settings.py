"""Settings: typed attributes, CONFIG GET and CONFIG SET."""

from __future__ import annotations

import pytest

from pyrepl.config.kinds import MasterAddress, SavePoint
from pyrepl.config.settings import Settings, is_known
from pyrepl.errors import ConfigError


def test_begins_with_the_defaults_of_redis() -> None:
    settings = Settings()
    assert settings.port == 6379
    assert settings.databases == 16
    assert settings.save == (SavePoint(3600, 1), SavePoint(300, 100), SavePoint(60, 10000))
    assert settings.repl_backlog_size == 1024 * 1024
    assert settings.client_output_buffer_limit.replica == (256 << 20, 64 << 20, 60)
    assert settings.replicaof is None
    assert settings.requirepass == b""
    assert settings.rdb_version is None


def test_values_to_begin_with() -> None:
    settings = Settings(databases=4, replicaof=MasterAddress("h", 1))
    assert (settings.databases, settings.replicaof) == (4, MasterAddress("h", 1))
    with pytest.raises(TypeError, match="no directive nonsense"):
        Settings(nonsense=1)


def test_one_word_may_hold_several() -> None:
    settings = Settings()
    settings.load("save", [b"3600 1 300 100"])
    assert settings.save == ((3600, 1), (300, 100))
    settings.load("client-output-buffer-limit", [b"replica 4mb 0 0"])
    assert settings.client_output_buffer_limit.replica == (4 << 20, 0, 0)


def test_two_settings_are_apart() -> None:
    one, other = Settings(), Settings()
    one.set("timeout", b"5")
    one.set("activerehashing", b"no")
    assert other.timeout == 0
    assert other.kept == {}
    copy = one.copy()
    copy.set("timeout", b"6")
    copy.set("activerehashing", b"yes")
    assert (one.timeout, copy.timeout) == (5, 6)
    assert one.kept == {"activerehashing": b"no"}


def test_get_knows_every_spelling() -> None:
    settings = Settings(replicaof=MasterAddress("db1", 6379))
    assert settings.get("REPLICAOF") == settings.get("slaveof") == b"db1 6379"
    assert settings.get("nonsense") is None
    assert settings.get("activerehashing") == b"yes"
    settings.set("activerehashing", b"no")
    assert settings.get("ActiveRehashing") == b"no"
    assert settings.get("cluster-port") is None


def test_matching_is_config_get() -> None:
    settings = Settings()
    assert settings.matching(b"save") == {b"save": b"3600 1 300 100 60 10000"}
    assert settings.matching(b"SLAVEOF") == {b"slaveof": b""}
    assert settings.matching(b"repl-backlog-*") == {b"repl-backlog-size": b"1048576", b"repl-backlog-ttl": b"3600"}
    assert settings.matching(b"REPL-backlog-t?l") == {b"repl-backlog-ttl": b"3600"}
    assert settings.matching(b"*-read-only") == {b"replica-read-only": b"yes", b"slave-read-only": b"yes"}
    assert settings.matching(b"nonsense") == {}
    assert settings.matching(b"active[r]*") == {b"activerehashing": b"yes"}
    assert settings.matching(b"Cluster-*") == {b"cluster-enabled": b"no"}
    settings.set("activerehashing", b"no")
    assert settings.matching(b"active[r]*") == {b"activerehashing": b"no"}


def test_hidden_directives_answer_to_their_exact_name_only() -> None:
    settings = Settings()
    assert settings.matching(b"key-load-delay") == {b"key-load-delay": b"0"}
    assert settings.matching(b"key-load-*") == {}
    assert b"key-load-delay" not in settings.matching(b"*")


def test_set_splits_what_may_have_many_words() -> None:
    settings = Settings()
    settings.set("save", b"10 1 20 2")
    assert settings.save == (SavePoint(10, 1), SavePoint(20, 2))
    settings.set("save", b"")
    assert not settings.save
    settings.set("client-output-buffer-limit", b"replica 1mb 0 0")
    assert settings.client_output_buffer_limit.replica == (1 << 20, 0, 0)
    settings.set("requirepass", b"two words")
    assert settings.requirepass == b"two words"


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("databases", b"3", "can't set immutable config"),
        ("replicaof", b"a 1", "can't set immutable config"),
        ("rdbcompression", b"maybe", "argument must be 'yes' or 'no'"),
        ("slave-priority", b"-1", "argument must be between 0 and 2147483647 inclusive"),
        ("aclfile", b"users.acl", "can't set immutable config"),
    ],
)
def test_a_refused_set_changes_nothing(name: str, value: bytes, reason: str) -> None:
    settings = Settings()
    before = settings.matching(b"*")
    with pytest.raises(ConfigError) as caught:
        settings.set(name, value)
    assert str(caught.value) == reason
    assert settings.matching(b"*") == before


def test_unknown_names() -> None:
    for name in ("nonsense", "include"):
        with pytest.raises(KeyError):
            Settings().parse(name, b"")
    with pytest.raises(KeyError):
        Settings().load("activerehashing", [b"yes"])
    assert is_known("PORT")
    assert is_known("slaveof")
    assert is_known("activerehashing")
    assert not is_known("nonsense")


def test_parse_and_assign_are_apart() -> None:
    settings = Settings()
    value = settings.parse("hz", b"50")
    assert settings.hz == 10
    settings.assign("hz", value)
    assert settings.hz == 50


def test_load_may_set_what_is_fixed_later() -> None:
    settings = Settings()
    settings.load("databases", [b"4"])
    settings.load("save", [b"1", b"1"])
    settings.load("save", [b"2", b"2"], again=True)
    assert settings.databases == 4
    assert settings.save == (SavePoint(1, 1), SavePoint(2, 2))


def test_protected_directives() -> None:
    refusal = "can't set protected config"
    for allowed, local, remote in (("no", refusal, refusal), ("local", None, refusal), ("yes", None, None)):
        settings = Settings(enable_protected_configs=allowed)
        assert settings.why_not_settable("dir", client_is_local=True) == local
        assert settings.why_not_settable("dir", client_is_local=False) == remote
        assert settings.why_not_settable("port", client_is_local=False) is None
