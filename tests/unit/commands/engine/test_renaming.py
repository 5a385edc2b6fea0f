"""rename-command: what clients, COMMAND, statistics and the stream see of it, as Redis 8.2 answers."""

from __future__ import annotations

import pytest

from pyrepl.commands.describe.introspection import FAMILIES
from pyrepl.commands.engine.renaming import renamed_table
from pyrepl.config.kinds import Rename
from pyrepl.config.settings import Settings
from pyrepl.errors import CommandError, ConfigError
from pyrepl.resp.reply import OK, QUEUED
from tests.unit.commands.rig import Rig


def renamed(*pairs: tuple[bytes, bytes]) -> Settings:
    return Settings(rename_command=tuple(Rename(*pair) for pair in pairs))


@pytest.fixture
def rig() -> Rig:
    pairs = ((b"CONFIG", b"cfgx"), (b"flushall", b""), (b"SET", b"put"), (b"EXEC", b"run"), (b"DEL", b""))
    return Rig(rename_command=tuple(Rename(*pair) for pair in pairs))


def test_only_the_new_name_is_known(rig: Rig) -> None:
    for line in ("SET a 1", "set a 1", "FLUSHALL", "CONFIG GET port", "EXEC", "DEL a"):
        assert rig.error(line).startswith(f"ERR unknown command '{line.split()[0]}'"), line
    assert rig.say("Put a 1") == OK
    assert rig.say("CfgX GET hz") == {b"hz": b"10"}
    assert rig.error("put a") == "ERR wrong number of arguments for 'set' command"
    assert rig.error("cfgx NOPE") == "ERR unknown subcommand 'NOPE'. Try CFGX HELP."


def test_a_transaction_ends_by_the_new_name(rig: Rig) -> None:
    for line in ("MULTI", "PUT a 1"):
        rig.say(line)
    assert rig.error("EXEC").startswith("ERR unknown command")
    assert rig.error("run 1").startswith("EXECABORT Transaction discarded because of: wrong number of arguments")
    rig.say("MULTI")
    assert rig.say("PUT a 1") == QUEUED
    assert rig.say("RUN") == [OK]


def test_command_finds_it_by_the_new_name_and_shows_the_old(rig: Rig) -> None:
    assert rig.say("COMMAND INFO set config flushall") == [None, None, None]
    row = rig.say("COMMAND INFO put")
    assert isinstance(row, list) and isinstance(row[0], list)
    assert row[0][0] == b"set"
    docs = rig.say("COMMAND DOCS put")
    assert isinstance(docs, dict) and list(docs) == [b"set"]
    assert rig.say("COMMAND DOCS set") == {}
    assert rig.say("COMMAND GETKEYS put k v") == [b"k"]
    assert rig.error("COMMAND GETKEYS set k v") == "ERR Invalid command specified"
    assert rig.say("COMMAND LIST FILTERBY PATTERN put") == []
    assert rig.say("COMMAND LIST FILTERBY PATTERN set") == [b"set"]
    assert rig.say("COMMAND LIST FILTERBY PATTERN flushall") == []
    assert rig.say("COMMAND COUNT") == len(renamed_table(Settings(), FAMILIES)) - 2


def test_statistics_go_by_the_old_name(rig: Rig) -> None:
    rig.say("PUT a 1")
    assert rig.node.stats.of("set").calls == 1


def test_the_stream_has_what_the_client_wrote_and_our_own_by_the_old_names(rig: Rig) -> None:
    rig.stream()
    rig.say("PUT a 1")
    rig.say("GETDEL a")
    assert rig.stream() == ["SELECT 0", "PUT a 1", "DEL a"]


def test_a_stream_is_applied_by_new_names_and_by_old_ones(rig: Rig) -> None:
    link = rig.connect()
    link.become_master_link()
    commands = [line.split() for line in (b"PUT a 1", b"SET b 2", b"DEL a", b"NOSUCH c")]
    applied, error = rig.dispatcher.apply(rig.dispatcher.call_for(link), commands, 0)
    assert applied == 3 and isinstance(error, CommandError)
    assert sorted(rig.node.keyspace.databases[0].store.values) == [b"b"]
    assert rig.dispatcher.table.why_not_in_stream([b"FLUSHALL"]) == ""
    assert rig.dispatcher.table.why_not_in_stream([b"NOSUCH"]) == "unknown_command"


def test_names_are_changed_in_order() -> None:
    table = renamed_table(renamed((b"GET", b"x"), (b"SET", b"get"), (b"x", b"y")), FAMILIES)
    found = [table.find(name) for name in (b"get", b"Y", b"x", b"set")]
    assert [row.name if row else None for row in found] == ["SET", "GET", None, None]


@pytest.mark.parametrize(
    ("pairs", "complaint"),
    [
        (((b"nosuch", b"x"),), "rename-command nosuch x: No such command in rename-command"),
        (((b"client|list", b"x"),), "rename-command client|list x: No such command in rename-command"),
        (((b"set", b"get"),), "rename-command set get: Target command name already exists"),
        (((b"set", b""), (b"SET", b"")), 'rename-command SET "": No such command in rename-command'),
    ],
)
def test_what_cannot_be_renamed(pairs: tuple[tuple[bytes, bytes], ...], complaint: str) -> None:
    with pytest.raises(ConfigError) as raised:
        renamed_table(renamed(*pairs), FAMILIES)
    assert str(raised.value) == complaint


def test_nobody_is_shown_the_names(rig: Rig) -> None:
    shown = rig.say("cfgx GET rename-command rename* *command")
    assert shown == {b"enable-debug-command": b"local", b"enable-module-command": b"no"}
    assert rig.error("cfgx SET rename-command get").endswith("can't set immutable config")
