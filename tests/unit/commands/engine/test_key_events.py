"""What commands call their changes, in which order, on a master, on a replica and outside of commands.

That each command tells what a real Redis tells stands in tests/property/test_differential_events.py.
"""

from __future__ import annotations

import pytest

from pyrepl.commands.engine.key_events import NAMED, events_of
from pyrepl.commands.engine.table import WRITE
from pyrepl.keyspace import events
from pyrepl.keyspace.database import Expiry
from pyrepl.resp.reply import Push
from tests.unit.commands.rig import Rig, full_table

NAMELESS = frozenset(
    {
        "DEL",
        "UNLINK",
        "DELEX",
        "DELIFEQ",
        "GETDEL",
        "GETEX",
        "EXPIRE",
        "PEXPIRE",
        "EXPIREAT",
        "PEXPIREAT",
        "PERSIST",
        "HEXPIRE",
        "MIGRATE",
    }
    | {"HPEXPIRE", "HEXPIREAT", "HPEXPIREAT", "HPERSIST", "HGETEX", "XSETID", "XGROUP|CREATE", "XGROUP|SETID"}
    | {"XGROUP|DESTROY", "XGROUP|CREATECONSUMER", "XGROUP|DELCONSUMER"}
)
"""Writes whose facts say all."""
SILENT = frozenset(
    {"PFDEBUG", "XACK", "XCLAIM", "XAUTOCLAIM", "XREADGROUP", "XCFGSET", "XIDMPRECORD"} | {"VADD", "VREM", "VSETATTR"}
)
"""Writes that Redis has no event for, but for a consumer that is made on the way."""


class Ear:
    """A rig whose client speaks, and another client that hears all keyspace events."""

    def __init__(self) -> None:
        self.rig = Rig()
        self.node = self.rig.node
        self.node.change_settings(["notify-keyspace-events"], ["AEmnoc"])
        self.node.pubsub.psubscribe(self.rig.connect(), b"__keyevent*")

    def hear(self) -> list[str]:
        """The events since the last time: `name key`."""
        pushes = [push for _, push in self.node.deliveries if isinstance(push, Push)]
        self.node.deliveries.clear()
        return [f"{str(push.items[2], 'ascii').partition(':')[2]} {str(push.items[3], 'ascii')}" for push in pushes]  # type: ignore[arg-type]

    def say(self, *lines: str) -> list[str]:
        for line in lines:
            self.rig.say(line)
        return self.hear()


@pytest.fixture
def ear() -> Ear:
    return Ear()


def test_each_write_has_a_name_for_its_changes_or_needs_none() -> None:
    rows = [child for row in full_table() for child in (row.subcommands.values() or [row])]
    writes = {row.name for row in rows if row.flags & WRITE and not row.keys.is_empty}
    assert sorted(writes - NAMED - NAMELESS - SILENT) == [], "a row in commands/engine/key_events.py"
    assert not NAMED & (NAMELESS | SILENT)


def test_what_followed_comes_behind_the_change() -> None:
    facts = [(events.NEW, 0, b"k"), (events.TIMED, 0, b"k"), (events.CHANGED, 0, b"k")]
    assert [fact[0].name for fact in events_of("SET", [], facts)] == [b"new", b"set", b"expire"]
    facts = [(events.DELETED, 0, b"k"), (events.CHANGED, 0, b"k")]
    assert [fact[0].name for fact in events_of("LPOP", [], facts)] == [b"lpop", b"del"]
    assert [fact[0].name for fact in events_of("SINTERSTORE", [], facts)] == [b"del"]
    assert [fact[0].name for fact in events_of("DEL", [], facts)] == [b"del"]


@pytest.mark.parametrize(
    ("line", "heard"),
    [
        ("SET k 1 EX 100", ["new k", "set k", "expire k"]),
        ("LMOVE l l LEFT RIGHT", ["rpush l", "lpop l"]),
        ("LMPOP 1 l LEFT", ["lpop l", "del l"]),
        ("RENAME s l", ["new l", "rename_from s", "rename_to l", "overwritten l", "type_changed l"]),
        ("COPY s l REPLACE", ["new l", "copy_to l", "overwritten l", "type_changed l"]),
        ("MOVE s 3", ["new s", "move_from s", "move_to s"]),
        ("GET nosuch", ["keymiss nosuch"]),
        ("SET l x", ["overwritten l", "type_changed l", "set l"]),
        ("XADD x MAXLEN 0 * a b", ["new x", "xadd x", "xtrim x"]),
        ("HSETEX h EX 100 FIELDS 1 a b", ["new h", "hset h", "hexpire h"]),
    ],
)
def test_commands(ear: Ear, line: str, heard: list[str]) -> None:
    ear.say("SET s 1", "RPUSH l 1")
    assert ear.say(line) == heard


def test_inside_a_transaction_each_command_tells_its_own(ear: Ear) -> None:
    assert ear.say("MULTI", "SET k 1", "LPUSH l 1", "EXEC") == ["new k", "set k", "new l", "lpush l"]


def test_keys_and_fields_that_expire(ear: Ear) -> None:
    ear.say("SET k 1 PX 10", "SET other 1 PX 10", "HSET h a b", "HPEXPIRE h 10 FIELDS 1 a")
    ear.rig.pass_s(0.02)
    assert ear.say("GET k") == ["expired k", "keymiss k"]
    assert ear.say("HGET h a") == ["hexpired h", "del h"]
    ear.node.keyspace.databases[0].expire(b"other")
    ear.rig.dispatcher.propagate_expired()
    assert ear.hear() == ["expired other"]


def test_evicted_keys(ear: Ear) -> None:
    ear.say("SET k 1")
    ear.node.keyspace.databases[0].evict(b"k")
    ear.rig.dispatcher.propagate_expired()
    assert ear.hear() == ["evicted k"]


def test_a_replica_tells_what_its_masters_stream_does(ear: Ear) -> None:
    link = ear.rig.connect()
    link.become_master_link()
    ear.node.keyspace.expiry = Expiry.IGNORE
    call = ear.rig.dispatcher.call_for(link)
    commands = [[b"SET", b"k", b"1", b"PXAT", b"1"], [b"MULTI"], [b"DEL", b"k"], [b"EXEC"]]
    assert ear.rig.dispatcher.apply(call, commands, 0) == (4, None)
    assert ear.hear() == ["new k", "set k", "expire k", "del k"]
