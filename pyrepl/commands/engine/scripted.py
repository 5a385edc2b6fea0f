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
NOT_RUNNING: Final = "ERR redis.call/pcall can only be called inside a script invocation"
WRONG_NUMBER: Final = "ERR Wrong number of args calling Redis command from script"


@final
class Scripted:
    """The commands of scripts, one script after the other. Between `begin` and `end` a script runs."""

    __slots__ = ("_call", "_outer", "_running")

    def __init__(self, outer: Call, client: Client) -> None:
        """`client` stands for all scripts of the node that `outer` belongs to."""
        self._call = outer.nested_for(client)
        self._outer = self._call
        self._running: Running | None = None

    def begin(self, outer: Call, running: Running) -> None:
        """A script begins in the database of `outer`, with RESP2 and as the same user. Whoever calls this calls `end`
        when the script is over, by an exception or without."""
        call, caller = self._call, outer.client
        client = call.client
        client.db_index = outer.db.index
        if client.identity is not caller.identity or client.limited is not caller.limited:
            client.identify(caller.identity)
        if client.proto != 2:
            client.speak(2)
        call.db, call.now_ms = outer.db, outer.now_ms
        self._outer, self._running = outer, running

    def run(self, argv: list[bytes]) -> Reply:
        """Execute one command, and return its reply; an error, of a gate as well, is returned as the reply."""
        outer, running, call = self._outer, self._running, self._call
        if running is None:
            return CommandError(NOT_RUNNING)
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
        """The script is over: its unit goes out, unless it is discarded."""
        outer, running, unit = self._outer, self._running, self._call.unit
        assert unit is not None and running is not None
        # What the script has left must not reach the next one, even if the unit cannot go out.
        self._outer, self._running = self._call, None
        if unit:
            self._call.unit = []
            if not running.is_discarded:
                outer.runner.end_unit(outer, unit)
