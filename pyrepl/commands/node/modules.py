"""MODULE: pyrepl loads no modules, and says so.

A module of Redis is machine code that calls functions of Redis's own process; there is no such process here. So the
list is empty, and nothing can be unloaded.
"""

from __future__ import annotations

from typing import Final, NoReturn

from pyrepl.commands.describe.help import help_reply
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.protected import check_protected
from pyrepl.commands.engine.table import ADMIN, LOADING, NOSCRIPT, STALE, command, container
from pyrepl.errors import CommandError
from pyrepl.resp.reply import Reply, Simple

_FLAGS: Final = ADMIN | NOSCRIPT
_NO_MODULES: Final = "ERR pyrepl loads no modules: they are machine code for the process of Redis or Valkey"

module = container("MODULE", group="server", since="4.0.0", summary="A container for module commands")


@command("MODULE|LIST", arity=2, flags=_FLAGS, group="server", since="4.0.0")
def module_list(call: Call) -> list[Reply]:
    """List the loaded modules: there are none"""
    return []


@command("MODULE|LOAD", arity=-3, flags=_FLAGS, group="server", since="4.0.0")
def module_load(call: Call, path: bytes, *arguments: bytes) -> NoReturn:
    """Load a module; refused: pyrepl loads none"""
    _check(call)
    raise CommandError(_NO_MODULES)


@command("MODULE|LOADEX", arity=-3, flags=_FLAGS, group="server", since="7.0.0")
def module_loadex(call: Call, path: bytes, *arguments: bytes) -> NoReturn:
    """Load a module with settings; refused: pyrepl loads none"""
    _check(call)
    raise CommandError(_NO_MODULES)


@command("MODULE|UNLOAD", arity=3, flags=_FLAGS, group="server", since="4.0.0")
def module_unload(call: Call, name: bytes) -> NoReturn:
    """Unload a module; refused: there is none"""
    _check(call)
    raise CommandError("ERR Error unloading module: no such module with that name")


@command("MODULE|HELP", arity=2, flags=LOADING | STALE, group="server", since="5.0.0")
def module_help(call: Call) -> list[Simple]:
    """Show what MODULE can do"""
    return help_reply(
        "MODULE",
        "LIST",
        "    Return a list of loaded modules.",
        "LOAD <path> [<arg> ...]",
        "    Load a module library from <path>, passing to it any optional arguments.",
        "LOADEX <path> [[CONFIG NAME VALUE] [CONFIG NAME VALUE]] [ARGS ...]",
        "    Load a module library from <path>, while passing it module configurations and optional arguments.",
        "UNLOAD <name>",
        "    Unload a module.",
    )


def _check(call: Call) -> None:
    check_protected(call, "module", call.node.settings.enable_module_command)
