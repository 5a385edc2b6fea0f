"""SLOWLOG: shows and clears the log of slow commands. `dispatch` and `node.Node` decide what is logged."""

from __future__ import annotations

from itertools import islice
from typing import Final

from pyrepl.commands.describe.help import help_reply, subcommand_syntax_error
from pyrepl.commands.engine.arguments import ranged_integer_argument
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import ADMIN, LOADING, STALE, command, container
from pyrepl.node.command_log import CommandLog
from pyrepl.resp.numbers import INT64_MAX
from pyrepl.resp.reply import OK, Reply, Simple

_FLAGS: Final = ADMIN | LOADING | STALE
_SHOWN: Final = 10
"""How many entries SLOWLOG GET answers without a count."""

slowlog_ = container("SLOWLOG", group="server", since="2.2.12", summary="A container for slow log commands")


@command("SLOWLOG|GET", arity=-2, flags=_FLAGS, group="server", since="2.2.12")
def slowlog_get(call: Call, *count: bytes) -> list[Reply]:
    """Answer the newest entries of the slow log: 10, so many, or all with -1"""
    if len(count) > 1:
        raise subcommand_syntax_error("SLOWLOG", call.argv[1])
    wanted = entries_argument(count[0]) if count else _SHOWN
    return shown_entries(call.node.slowlog, wanted)


def shown_entries(log: CommandLog, wanted: int) -> list[Reply]:
    """The newest `wanted` entries of a log, or all of them with -1, as clients see them."""
    entries = log.entries
    return [
        [entry.number, entry.at_s, entry.amount, list(entry.argv), entry.addr.encode(), entry.client_name]
        for entry in islice(entries, len(entries) if wanted == -1 else min(wanted, len(entries)))
    ]


def entries_argument(text: bytes) -> int:
    """How many entries are asked for; -1 for all. Raises CommandError."""
    return ranged_integer_argument(text, -1, INT64_MAX, "ERR count should be greater than or equal to -1")


@command("SLOWLOG|LEN", arity=2, flags=_FLAGS, group="server", since="2.2.12")
def slowlog_len(call: Call) -> int:
    """Count the entries of the slow log"""
    return len(call.node.slowlog.entries)


@command("SLOWLOG|RESET", arity=2, flags=_FLAGS, group="server", since="2.2.12")
def slowlog_reset(call: Call) -> Simple:
    """Empty the slow log"""
    call.node.slowlog.clear()
    return OK


@command("SLOWLOG|HELP", arity=2, flags=LOADING | STALE, group="server", since="6.2.0")
def slowlog_help(call: Call) -> list[Simple]:
    """Show what SLOWLOG can do"""
    return help_reply(
        "SLOWLOG",
        "GET [<count>]",
        "    Return top <count> entries from the slowlog (default: 10, -1 mean all).",
        "    Entries are made of:",
        "    id, timestamp, time in microseconds, arguments array, client IP and port,",
        "    client name",
        "LEN",
        "    Return the length of the slowlog.",
        "RESET",
        "    Reset the slowlog.",
    )
