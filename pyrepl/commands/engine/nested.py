"""A call inside a call: commands that another command runs (EXEC now; later scripts and functions). Hot.

Each inner command is executed as if its client had sent it, but it must not wait. All commands that the inner ones
propagate are one unit: the unit goes out at the end, or joins the unit of the outer call if that is nested as well.

Not here: the checks whether a command may run (`gates`), the execution of one command (`dispatch`), the way of a unit
into the stream (`propagation`).
"""

from __future__ import annotations

from types import TracebackType
from typing import final

from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.rights import why_not_in_exec
from pyrepl.errors import CommandError
from pyrepl.node.client import UNLIMITED
from pyrepl.resp.encoder import encoded_size
from pyrepl.resp.reply import Reply


@final
class Nested:
    """The commands that run inside one call, as a context manager: at its end the unit of the inner commands goes out.

    This is so after an exception too: the commands before it were executed, and replicas must have them. At the end the
    outer call has the database that the inner commands have selected, and the client's last command is the outer one
    again.
    """

    __slots__ = ("_call", "_outer", "_wire_name")

    def __init__(self, outer: Call) -> None:
        self._outer = outer
        self._wire_name = outer.client.last_command
        self._call = outer.nested()

    def __enter__(self) -> Nested:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        outer, unit = self._outer, self._call.unit
        assert unit is not None
        outer.db = self._call.db
        outer.client.last_command = self._wire_name
        outer.runner.end_unit(outer, unit)

    def run(self, argv: list[bytes], raw: bytes) -> Reply:
        """Execute one command, and return its reply; `raw` are the exact bytes of the command. Raises CommandError if
        no command has that name, or if it takes another number of words. The error of a command that fails is returned
        as its reply."""
        return self._outer.runner.run_nested(self._call, argv, raw)


def _run_allowed(call: Call, nested: Nested, argv: list[bytes], raw: bytes) -> Reply:
    """Execute one queued command of a client that is limited, unless its user has lost the right to it meanwhile."""
    entry = call.runner.find_entry(argv)
    refusal = None if entry is None else why_not_in_exec(call.node, call.client, entry.row, argv)
    if refusal is None:
        return nested.run(argv, raw)
    call.node.stats.count_error(refusal)
    return CommandError(refusal)


def run_queue(call: Call, queue: list[tuple[list[bytes], bytes]]) -> list[Reply]:
    """Execute the queued commands of a transaction, and return their replies; not more replies than the client has room
    for (`Client.reply_room`)."""
    client = call.client
    replies: list[Reply] = []
    room = client.reply_room
    with Nested(call) as nested:
        for argv, raw in queue:
            reply = nested.run(argv, raw) if not client.limited else _run_allowed(call, nested, argv, raw)
            # Beyond the room nobody gets a reply: the connection is cut for the size of those collected so far.
            if room >= 0:
                replies.append(reply)
                if room < UNLIMITED:
                    room -= encoded_size(reply, client.proto)
    return replies
