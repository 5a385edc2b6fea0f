"""Commands that a script calls: each asks the gates of scripts, and all they propagate is one unit.

As `nested` for EXEC, with these differences: a script is a client of its own, with its own database and version of
RESP; and it is told why a command may not run.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.entry import Entry
from pyrepl.commands.engine.gates import why_not_from_script
from pyrepl.commands.engine.table import WRITE
from pyrepl.errors import CommandError
from pyrepl.node.client import Client
from pyrepl.node.scripts import Running
from pyrepl.resp.reply import Reply

UNKNOWN: Final = "ERR Unknown Redis command called from script"
WRONG_NUMBER: Final = "ERR Wrong number of args calling Redis command from script"


@final
class Scripted:
    """The commands of one script. Whoever makes it calls `end` when the script is over."""

    __slots__ = ("_call", "_outer", "_running")

    def __init__(self, outer: Call, client: Client, running: Running) -> None:
        """`client` stands for the script; it begins in the database of `outer`, with RESP2 and as the same user."""
        client.db_index = outer.db.index
        caller = outer.client
        if client.identity is not caller.identity or client.limited is not caller.limited:
            client.identify(caller.identity)
        if client.proto != 2:
            client.speak(2)
        self._outer = outer
        self._running = running
        self._call = outer.nested_for(client)

    def run(self, argv: list[bytes]) -> Reply:
        """Execute one command, and return its reply; an error, of a gate as well, is returned as the reply."""
        outer, running, call = self._outer, self._running, self._call
        node = outer.node
        entry: Entry | None = outer.runner.find_entry(argv)
        if entry is None:
            node.stats.count_error(UNKNOWN)
            return CommandError(UNKNOWN)
        refusal: str | None = WRONG_NUMBER
        if entry.fits(len(argv)):
            refusal = why_not_from_script(node, outer.client, running, entry.row, argv)
        if refusal is not None:
            entry.stats.rejected_calls += 1
            node.stats.count_error(refusal)
            return CommandError(refusal)
        flags = entry.flags
        if flags & WRITE:
            running.wrote = True
        unit = call.unit
        assert unit is not None
        before = len(unit)
        reply = outer.runner.run_entry(call, entry, argv, b"")
        if not running.repl_flags:
            del unit[before:]
        return reply

    def end(self) -> None:
        """The script is over, by an exception or without: its unit goes out, unless it is discarded."""
        unit = self._call.unit
        assert unit is not None
        if self._running.is_discarded:
            unit.clear()
        self._outer.runner.end_unit(self._outer, unit)
