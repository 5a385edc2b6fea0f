"""COMMANDLOG: the logs of slow commands, of large requests and of large replies (Valkey 8.1).

`slow` is the same log as SLOWLOG's. What is large is decided by `node.Node.note_sizes`, and measured by the connection:
the bytes on the wire. Two things differ from Valkey: a command that was refused or failed is not noted, as words that
nobody understood may be secrets; and a transaction or a script counts as one, without the commands in it.
"""

from __future__ import annotations

from typing import Final

from pyrepl.commands.describe.help import help_reply
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import ADMIN, LOADING, STALE, command, container
from pyrepl.commands.node.slowlog import entries_argument, shown_entries
from pyrepl.errors import CommandError
from pyrepl.node.command_log import CommandLog
from pyrepl.resp.reply import OK, Reply, Simple

_FLAGS: Final = ADMIN | LOADING | STALE

commandlog_ = container("COMMANDLOG", group="server", since="8.1.0", summary="A container for logs of commands")


@command("COMMANDLOG|GET", arity=4, flags=_FLAGS, group="server", since="8.1.0")
def commandlog_get(call: Call, count: bytes, kind: bytes) -> list[Reply]:
    """Answer the newest entries of a log: so many, or all with -1"""
    log = _log(call, kind)
    return shown_entries(log, entries_argument(count))


@command("COMMANDLOG|LEN", arity=3, flags=_FLAGS, group="server", since="8.1.0")
def commandlog_len(call: Call, kind: bytes) -> int:
    """Count the entries of a log"""
    return len(_log(call, kind).entries)


@command("COMMANDLOG|RESET", arity=3, flags=_FLAGS, group="server", since="8.1.0")
def commandlog_reset(call: Call, kind: bytes) -> Simple:
    """Empty a log"""
    _log(call, kind).clear()
    return OK


@command("COMMANDLOG|HELP", arity=2, flags=LOADING | STALE, group="server", since="8.1.0")
def commandlog_help(call: Call) -> list[Simple]:
    """Show what COMMANDLOG can do"""
    return help_reply(
        "COMMANDLOG",
        "GET <count> <type>",
        "    Answer the newest <count> entries of a log, all with -1. Types are: slow,",
        "    large-request, large-reply. Entries are made of:",
        "    id, timestamp, microseconds (slow) or bytes, arguments array,",
        "    client IP and port, client name",
        "LEN <type>",
        "    Answer the number of entries of a log.",
        "RESET <type>",
        "    Empty a log.",
    )


def _log(call: Call, kind: bytes) -> CommandLog:
    """The log of a type. Raises CommandError."""
    node = call.node
    logs = {b"SLOW": node.slowlog, b"LARGE-REQUEST": node.large_requests, b"LARGE-REPLY": node.large_replies}
    log = logs.get(kind.upper())
    if log is None:
        raise CommandError("ERR type should be one of the following: slow, large-request, large-reply")
    return log
