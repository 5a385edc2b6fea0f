"""Rows of directives.py about how many clients there may be, and how much each of them may take."""

from __future__ import annotations

from typing import Final

from pyrepl.config.directive import Directive
from pyrepl.config.kinds import BufferLimit, BufferLimits, Integer, Memory, OutputBufferLimits
from pyrepl.config.share_kinds import MemoryOrPercent

MB: Final = 1024 * 1024


class Limits:
    """Limits on clients"""

    maxclients = Directive(Integer(1, 2**32 - 1), 10000, "Connections served at once; more are refused.")
    maxclients_reserve = Directive(
        Integer(0, 1000),
        16,
        "Connections beyond maxclients that serve operators and replicas alone: commands like INFO, CONFIG, CLIENT and"
        " PSYNC. Not in Redis.",
    )
    timeout = Directive(Integer(), 0, "Close a client that was idle for so many seconds; 0: never.")
    proto_max_bulk_len = Directive(Memory(MB), 512 * MB, "The largest single value in a request, in bytes.")
    client_query_buffer_limit = Directive(
        Memory(MB), 1024 * MB, "Close a client whose unfinished request exceeds so many bytes."
    )
    client_output_buffer_limit = Directive(
        OutputBufferLimits(),
        BufferLimits(
            normal=BufferLimit(0, 0, 0),
            replica=BufferLimit(256 * MB, 64 * MB, 60),
            pubsub=BufferLimit(32 * MB, 8 * MB, 60),
        ),
        "Per class (normal, replica, pubsub): cut a client at once above the hard limit, or when it stayed above the"
        " soft limit for so many seconds. 0: no limit.",
    )
    maxmemory_clients = Directive(
        MemoryOrPercent(),
        0,
        "What the buffers of all clients together may take: bytes, or a part of maxmemory, as 5%. Beyond it"
        " the clients with the largest buffers are closed, but no replicas and no clients with CLIENT"
        " NO-EVICT. 0: no limit.",
    )
