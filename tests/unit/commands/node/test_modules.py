"""MODULE: an empty list, and refusals that say why."""

from __future__ import annotations

from pyrepl.resp.reply import Simple
from tests.unit.commands.rig import Rig


def test_there_are_no_modules() -> None:
    assert Rig().say("MODULE LIST") == []


def test_none_is_loaded() -> None:
    for line in ("MODULE LOAD /lib/x.so", "MODULE LOADEX /lib/x.so CONFIG a b"):
        assert Rig().error(line).startswith("ERR pyrepl loads no modules")


def test_none_is_unloaded() -> None:
    assert Rig().error("MODULE UNLOAD x") == "ERR Error unloading module: no such module with that name"


def test_help() -> None:
    lines = Rig().say("MODULE HELP")
    assert isinstance(lines, list) and Simple(b"UNLOAD <name>") in lines
