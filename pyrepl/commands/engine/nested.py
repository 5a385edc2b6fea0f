"""A call inside a call: commands that one command runs in its own place (EXEC now; scripts and functions). Hot.

Each of them is executed as if its client had sent it, but nothing may wait, and what all of them propagate is one unit:
it goes out at the end, or joins the unit of the call around when that is itself inside another.

Not here: whether they may run (`gates`), how one is executed (`dispatch`), how a unit goes out (`propagation`).
"""

from __future__ import annotations

from types import TracebackType
from typing import final

from pyrepl.commands.engine.call import Call
from pyrepl.node.client import UNLIMITED
from pyrepl.resp.encoder import encoded_size
from pyrepl.resp.reply import Reply


@final
class Nested:
    """The commands that run inside one call, as a context: what was propagated goes out when it is left.

    Also when it is left by an exception: what was executed before has happened, and replicas are to have it. The
    database that the client has selected, and the name of its last command, are the outer call's again.
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
        """The reply to one command; `raw` are its bytes. Raises CommandError if there is none of that name, or if it
        takes another number of words; what it answers when it fails is a reply."""
        return self._outer.runner.run_nested(self._call, argv, raw)


def run_queue(call: Call, queue: list[tuple[list[bytes], bytes]]) -> list[Reply]:
    """The replies of commands that were queued; no more of them than the client has room for."""
    client = call.client
    replies: list[Reply] = []
    room = client.reply_room
    with Nested(call) as nested:
        for argv, raw in queue:
            reply = nested.run(argv, raw)
            # Beyond that they are for nobody, as the connection is cut for what there is.
            if room >= 0:
                replies.append(reply)
                if room < UNLIMITED:
                    room -= encoded_size(reply, client.proto)
    return replies
