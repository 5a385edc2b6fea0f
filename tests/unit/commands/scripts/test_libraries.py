"""Libraries as they are loaded."""

from __future__ import annotations

import pytest

from pyrepl.commands.scripts.libraries import functions_of, read_head
from pyrepl.errors import CommandError
from pyrepl.node.scripts import Running
from tests.unit.commands.rig import Rig

GOOD = b"#!lua name=good\nredis.register_function('f', function() return 5 end)"


class Impatient:
    """Ends whatever has a limit."""

    def look(self, running: Running) -> None:
        running.is_killed = running.limit_ms > 0

    def ended(self, running: Running) -> None: ...

    def log(self, level: int, text: bytes) -> None: ...

    def cpu_s(self) -> float:
        return 0.0


def test_heads() -> None:
    assert read_head(b"#!LUA NAME=a_1\ncode") == (b"a_1", b"\ncode")
    for text in (b"x", b"#!lua", b"#!lua\nx", b"#!lua name=\nx", b"#!js name=a\nx", b"#!lua name=a x=b\nx"):
        with pytest.raises(CommandError):
            read_head(text)


def test_libraries_of_a_snapshot_are_compiled_when_asked_for() -> None:
    rig = Rig()
    rig.node.functions.take([GOOD, b"#!lua name=bad\nno lua"])
    assert rig.node.scripts.functions_interpreter is None
    assert rig.run("FCALL", "f", 0) == 5
    assert rig.node.functions.absent == [b"#!lua name=bad\nno lua"]
    assert len(functions_of(rig.call()).texts()) == 2


def test_a_library_that_takes_too_long() -> None:
    rig = Rig()
    rig.node.scripts.outside = Impatient()
    assert "FUNCTION LOAD timeout" in str(rig.run("FUNCTION", "LOAD", b"#!lua name=slow\nwhile true do end"))
    assert rig.run("FUNCTION", "LOAD", GOOD) == b"good" and rig.run("FCALL", "f", 0) == 5
