"""The commands of a script as one unit."""

from __future__ import annotations

from pyrepl.acl.identity import UNASKED
from pyrepl.commands.engine.scripted import UNKNOWN, WRONG_NUMBER, Scripted
from pyrepl.errors import CommandError
from pyrepl.node.client import Client
from pyrepl.node.scripts import Running
from pyrepl.resp.reply import OK, Reply
from tests.unit.commands.rig import Rig


def scripted(rig: Rig, *commands: bytes, discarded: bool = False) -> list[Reply]:
    running = Running(b"sha", 0.0, 1, is_eval=True, is_read_only=False, allows_oom=False, from_master=False)
    running.is_discarded = discarded
    unit = Scripted(rig.call(), Client(0, "lua", "", 0.0, UNASKED))
    unit.begin(rig.call(), running)
    replies = [unit.run(line.split()) for line in commands]
    unit.end()
    assert running.wrote is any(line.startswith(b"SET") for line in commands)
    return replies


def test_one_unit() -> None:
    rig = Rig()
    rig.stream()
    assert scripted(rig, b"SET a 1", b"GET a", b"SET b 2") == [OK, b"1", OK]
    assert rig.stream() == ["SELECT 0", "MULTI", "SET a 1", "SET b 2", "EXEC"] or rig.stream() == []
    assert rig.client.write_cut == rig.node.stream_end


def test_refusals_are_replies() -> None:
    rig = Rig()
    replies = scripted(rig, b"NOSUCH", b"GET", b"MULTI", b"CONFIG NOSUCH", b"CONFIG", b"BLPOP")
    assert all(isinstance(reply, CommandError) for reply in replies)
    assert [str(reply) for reply in replies[:2]] == [UNKNOWN, WRONG_NUMBER]
    assert str(replies[2]) == "ERR This Redis command is not allowed from script"
    assert [str(reply) for reply in replies[3:5]] == [UNKNOWN, WRONG_NUMBER]


def test_a_discarded_unit() -> None:
    rig = Rig()
    rig.stream()
    scripted(rig, b"SET a 1", discarded=True)
    assert rig.stream() == []
