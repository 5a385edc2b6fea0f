"""The interpreter of a node, and its door."""

from __future__ import annotations

from pyrepl.commands.scripts.executing import Interpreting, interpreting
from pyrepl.errors import CommandError
from pyrepl.node.scripts import Running
from tests.unit.commands.rig import Rig


class Impatient:
    """Ends a script at the first look, and tells others of it."""

    def __init__(self) -> None:
        self.told: list[bytes] = []

    def look(self, running: Running) -> None:
        running.is_killed = running.is_late = True

    def ended(self, running: Running) -> None:
        self.told.append(running.name)

    def log(self, level: int, text: bytes) -> None:
        self.told.append(text)

    def cpu_s(self) -> float:
        return 2.0


def test_the_interpreter_is_made_once() -> None:
    rig = Rig()
    assert rig.node.scripts.interpreter is None
    made = interpreting(rig.call())
    assert isinstance(made, Interpreting) and interpreting(rig.call()) is made
    assert rig.node.scripts.used_bytes == made.used_bytes > 0


def test_outside_is_asked() -> None:
    rig = Rig()
    rig.node.scripts.outside = outside = Impatient()
    reply = rig.run("EVAL", "redis.log(3, 'said') redis.call('SET', 'a', 1) while true do end", 0)
    assert isinstance(reply, CommandError) and "Script killed by user" in str(reply)
    assert outside.told[0] == b"said" and len(outside.told[1]) == 40
    assert rig.node.scripts.running is None and rig.run("GET", "a") == b"1"
    assert rig.run("EVAL", "return os.clock()", 0) == 2 and len(outside.told) == 2


def test_calls_outside_of_scripts_are_refused() -> None:
    door = interpreting(Rig().call()).door
    assert isinstance(door.call([b"GET", b"a"]), CommandError) and not door.interrupt()
    assert door.may_call([b"NOSUCH"]) is None and door.may_call([b"config", b"get"])
