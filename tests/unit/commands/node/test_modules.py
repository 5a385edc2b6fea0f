"""MODULE: an empty list, and refusals that say why."""

from __future__ import annotations

import pytest

from pyrepl.resp.reply import Simple
from tests.unit.commands.rig import Rig


def test_there_are_no_modules() -> None:
    assert Rig().say("MODULE LIST") == []


LOADS = ("MODULE LOAD /lib/x.so", "MODULE LOADEX /lib/x.so CONFIG a b")


@pytest.mark.parametrize("line", [*LOADS, "MODULE UNLOAD x"])
def test_nobody_may_unless_the_configuration_says_so(line: str) -> None:
    assert Rig().error(line).startswith("ERR MODULE command not allowed. If the enable-module-command option is set")


@pytest.mark.parametrize("line", LOADS)
def test_none_is_loaded(line: str) -> None:
    assert Rig(enable_module_command="local").error(line).startswith("ERR pyrepl loads no modules")


def test_none_is_unloaded() -> None:
    rig = Rig(enable_module_command="yes")
    assert rig.error("MODULE UNLOAD x") == "ERR Error unloading module: no such module with that name"


def test_help() -> None:
    lines = Rig().say("MODULE HELP")
    assert isinstance(lines, list) and Simple(b"UNLOAD <name>") in lines
