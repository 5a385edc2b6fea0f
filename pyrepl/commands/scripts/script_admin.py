"""SCRIPT: the cache of scripts, and the end of one that runs for too long.

There is no debugger: SCRIPT DEBUG NO is all that can be asked for, and redis.breakpoint() answers false.
"""

from __future__ import annotations

from pyrepl.commands.describe.help import help_reply
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import (
    ALLOW_BUSY,
    LOADING,
    NOSCRIPT,
    STALE,
    command,
    container,
)
from pyrepl.commands.scripts.evals import NOSCRIPT_TEXT, script_of
from pyrepl.errors import CommandError
from pyrepl.node.node import Node
from pyrepl.resp.reply import OK, Simple

NOT_BUSY = "NOTBUSY No scripts in execution right now."
UNKILLABLE = (
    "UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait the script "
    "termination or kill the server in a hard way using the SHUTDOWN NOSAVE command."
)
UNKILLABLE_MASTERS = (
    "UNKILLABLE The busy script was sent by a master instance in the context of replication and cannot be killed."
)
NO_DEBUGGER = "ERR pyrepl has no debugger for scripts"

_HELP = (
    "DEBUG NO",
    "    Do not debug the scripts that follow. There is no debugger.",
    "EXISTS <sha1> [<sha1> ...]",
    "    Tell which of these scripts are in the cache.",
    "FLUSH [ASYNC|SYNC]",
    "    Forget all scripts.",
    "KILL",
    "    End the script that runs, if it has not written.",
    "LOAD <script>",
    "    Put a script into the cache without running it.",
    "SHOW <sha1>",
    "    Show the text of a script in the cache.",
)


def kill(node: Node, *, is_eval: bool, busy_text: str) -> Simple:
    """SCRIPT KILL and FUNCTION KILL: end what runs. `busy_text` is the error if the other kind runs."""
    running = node.scripts.running
    if running is None:
        raise CommandError(NOT_BUSY)
    if running.from_master:
        raise CommandError(UNKILLABLE_MASTERS)
    if running.wrote:
        raise CommandError(UNKILLABLE)
    if running.is_eval is not is_eval:
        raise CommandError(busy_text)
    running.is_killed = True
    return OK


script_ = container("SCRIPT", group="scripting", since="2.6.0", summary="A container for commands on Lua scripts")


@command("SCRIPT|LOAD", arity=3, flags=NOSCRIPT | STALE, group="scripting", since="2.6.0")
def script_load(call: Call, text: bytes) -> bytes:
    """Put a Lua script into the cache, and answer its SHA1"""
    return script_of(call, text, is_loaded=True).sha


@command("SCRIPT|EXISTS", arity=-3, flags=NOSCRIPT, group="scripting", since="2.6.0")
def script_exists(call: Call, *shas: bytes) -> list[int]:
    """Tell for each SHA1 whether the cache has the script"""
    return [int(call.node.scripts.find(sha) is not None) for sha in shas]


@command("SCRIPT|SHOW", arity=3, flags=NOSCRIPT | STALE, group="scripting", since="8.0.0")
def script_show(call: Call, sha: bytes) -> bytes:
    """Show the text of a script in the cache"""
    found = call.node.scripts.find(sha)
    if found is None:
        raise CommandError(NOSCRIPT_TEXT)
    return found.text


@command("SCRIPT|FLUSH", arity=-2, flags=NOSCRIPT, group="scripting", since="2.6.0")
def script_flush(call: Call, *mode: bytes) -> Simple:
    """Forget all Lua scripts"""
    if len(mode) > 1 or (mode and mode[0].upper() not in (b"ASYNC", b"SYNC")):
        raise CommandError("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
    call.node.scripts.flush()
    return OK


@command("SCRIPT|KILL", arity=2, flags=NOSCRIPT | ALLOW_BUSY, group="scripting", since="2.6.0")
def script_kill(call: Call) -> Simple:
    """End the Lua script that runs"""
    return kill(
        call.node,
        is_eval=True,
        busy_text="BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.",
    )


@command("SCRIPT|DEBUG", arity=3, flags=NOSCRIPT, group="scripting", since="3.2.0")
def script_debug(call: Call, mode: bytes) -> Simple:
    """Choose whether scripts are debugged; only NO is possible"""
    if mode.upper() in (b"YES", b"SYNC"):
        raise CommandError(NO_DEBUGGER)
    if mode.upper() != b"NO":
        raise CommandError("ERR Use SCRIPT DEBUG YES/SYNC/NO")
    return OK


@command("SCRIPT|HELP", arity=2, flags=LOADING | STALE, group="scripting", since="5.0.0")
def script_help(call: Call) -> list[Simple]:
    """Show what SCRIPT can do"""
    return help_reply("SCRIPT", *_HELP)
