"""Rows of directives.py about the stream port, where programs follow what changes. None of these is in Redis."""

from __future__ import annotations

from typing import Final

from pyrepl.config.directive import Directive
from pyrepl.config.kinds import Addresses, CacheRules, Integer, Memory, Secret, Text

KB: Final = 1024
MB: Final = 1024 * 1024
GB: Final = 1024 * 1024 * 1024


class Streams:
    """Change streams"""

    stream_port = Directive(
        Integer(0, 65535),
        0,
        "TCP port on which programs, or a person with netcat, follow what changes here, line by line, and go on where"
        " they were cut; 0 opens none. Not in Redis, like all of stream-*.",
        mutable=False,
    )
    stream_bind = Directive(
        Addresses(), (), "Addresses of the stream port, as in bind; empty: those of bind.", mutable=False
    )
    stream_name = Directive(
        Text(),
        "",
        "The name of the node on its stream port, and as a writer of streams: no two nodes may have the"
        " same, and it should stay the same when the node restarts. Empty: its host's name and port.",
        mutable=False,
    )
    stream_maxclients = Directive(Integer(1, 2**31 - 1), 10000, "Subscribers at once; more are refused.")
    stream_line_limit = Directive(Memory(64, GB), 16 * KB, "Close a subscriber that sends a longer line, in bytes.")
    stream_row_limit = Directive(
        Memory(0), 64 * MB, "Close a subscriber rather than send it a longer line, in bytes; 0: no limit."
    )
    stream_output_buffer_limit = Directive(
        Memory(1),
        MB,
        "Bytes that may wait for a subscriber which follows live and does not read. Beyond it the"
        " subscriber gets an ERROR and is closed, and may come back with its token. A subscriber that still"
        " catches up is sent only as much as it reads.",
    )
    stream_cache_rule = Directive(
        CacheRules(),
        (),
        "Pairs of a pattern of keys and the name of a cache: a change of such a key is a row of the stream caches."
        " Several lines add up.",
    )
    stream_facts = Directive(
        Secret(needed=True),
        b"sqlite:streams.db",
        "Where facts that applications write (STREAMS.*) are kept: `keyspace`, and they replicate with the"
        " data; `sqlite:<file>`, in dir; or `postgresql://user:password@host/database`, which several nodes"
        " share.",
        mutable=False,
        secret=True,
    )
    stream_sync_rows = Directive(
        Integer(1),
        10000,
        "Rows that are kept in memory of each of the streams of this node itself, sync and mailboxes.",
        mutable=False,
    )
