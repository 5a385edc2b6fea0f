"""Options of the pure machines that are equal to a directive: one row for each, so that no code has to copy them.

An option that is made from several directives, or from something else, is set by the part that owns the options
(`node_settings`, `roles`, `changes/server.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any, Final

from pyrepl.words import to_text

ROSTER: Final = {
    "diskless": "repl_diskless_sync",
    "diskless_delay_s": "repl_diskless_sync_delay",
    "diskless_max_replicas": "repl_diskless_sync_max_replicas",
    "max_concurrent_syncs": "repl_max_concurrent_syncs",
    "ping_period_s": "repl_ping_replica_period",
}
"""Options of the roster, each with its directive."""

SESSION: Final = {
    "timeout_s": "repl_timeout",
    "hard_limit_bytes": "client_output_buffer_limit.replica.hard_bytes",
    "soft_limit_bytes": "client_output_buffer_limit.replica.soft_bytes",
    "soft_limit_s": "client_output_buffer_limit.replica.soft_seconds",
}
"""Options of all sessions with replicas."""

LINK: Final = {"timeout_s": "repl_timeout"}
"""Options of the link to our master."""

INTRODUCTION: Final = {"announce_ip": "replica_announce_ip", "user": "masteruser", "password": "masterauth"}
"""Fields of the introduction: what we tell our master about ourselves."""

SUBSCRIPTION: Final = {
    "line_bytes": "stream_line_limit",
    "row_bytes": "stream_row_limit",
    "output_bytes": "stream_output_buffer_limit",
}
"""Options of all subscriptions of the stream port."""

BY_NAME: Final = (ROSTER, SESSION, LINK, INTRODUCTION, SUBSCRIPTION)


def set_by_name(options: object, settings: object, names: Mapping[str, str]) -> None:
    """Set each option in `names` to its directive in `settings`, or to a part of a directive, named behind a dot.

    An option keeps its type: an int of a directive becomes a float, and bytes become text, where the option has one.
    """
    for option, directive in names.items():
        setattr(options, option, _alike(getattr(options, option), attrgetter(directive)(settings)))


def _alike(present: object, value: Any) -> object:
    """`value` in the type of `present`."""
    if isinstance(present, float):
        return float(value)
    return to_text(value) if isinstance(present, str) and isinstance(value, bytes) else value
