"""Commands of the append-only file (AOF): BGREWRITEAOF, WAITAOF. The daemon writes the file (`daemon.aof.keeper`)."""

from __future__ import annotations

from typing import Final

from pyrepl.commands.engine.arguments import positive_argument, ranged_integer_argument, timeout_ms_argument
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.effects import RewriteAof, WaitAof
from pyrepl.commands.engine.table import ADMIN, BLOCKING, NOSCRIPT, command
from pyrepl.errors import CommandError
from pyrepl.node.waits import WAITAOF_WITHOUT_AOF

WAITAOF_ON_REPLICA: Final = (
    "ERR WAITAOF cannot be used with replica instances. Please also note that writes to replicas are just local and "
    "are not propagated."
)


@command("BGREWRITEAOF", arity=1, flags=ADMIN | NOSCRIPT, group="server", since="1.0.0")
def bgrewriteaof(call: Call) -> RewriteAof:
    """Write the append-only file anew, as short as the data allows, in a child process"""
    if call.node.persistence.aof.rewrite_started_at is not None:
        raise CommandError("ERR Background append only file rewriting already in progress")
    return RewriteAof()


@command("WAITAOF", arity=4, flags=BLOCKING, group="generic", since="7.2.0")
def waitaof(call: Call, local: bytes, replicas: bytes, timeout: bytes) -> WaitAof:
    """Wait until what this connection wrote is fsynced here and on so many replicas, for so many ms at most"""
    here = ranged_integer_argument(local, 0, 1)
    wanted = positive_argument(replicas)
    timeout_ms = timeout_ms_argument(timeout, call.now_ms)
    if not call.node.replication.role.makes_stream:
        raise CommandError(WAITAOF_ON_REPLICA)
    if here and not call.node.settings.appendonly:
        raise CommandError(WAITAOF_WITHOUT_AOF)
    return WaitAof(here, wanted, timeout_ms)
