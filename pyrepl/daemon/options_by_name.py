"""Options of machines that are directives: a row for each, so that a new one needs no line of code that copies it.

What is made of several directives, or of something else besides, is set by whoever keeps the options.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any, Final

from pyrepl.config.kinds import to_text

ROSTER: Final = {
    "diskless": "repl_diskless_sync",
    "diskless_delay_s": "repl_diskless_sync_delay",
    "diskless_max_replicas": "repl_diskless_sync_max_replicas",
    "max_concurrent_syncs": "repl_max_concurrent_syncs",
    "ping_period_s": "repl_ping_replica_period",
}
"""Options of the roster, and the directives that they are."""

SESSION: Final = {
    "timeout_s": "repl_timeout",
    "hard_limit_bytes": "client_output_buffer_limit.replica.hard_bytes",
    "soft_limit_bytes": "client_output_buffer_limit.replica.soft_bytes",
    "soft_limit_s": "client_output_buffer_limit.replica.soft_seconds",
}
"""Of all sessions with replicas."""

LINK: Final = {"timeout_s": "repl_timeout"}
"""Of the link to our master."""

INTRODUCTION: Final = {"announce_ip": "replica_announce_ip", "user": "masteruser", "password": "masterauth"}
"""Of what we tell our master about ourselves."""

SUBSCRIPTION: Final = {
    "line_bytes": "stream_line_limit",
    "row_bytes": "stream_row_limit",
    "output_bytes": "stream_output_buffer_limit",
}
"""Of all subscriptions of the stream port."""

BY_NAME: Final = (ROSTER, SESSION, LINK, INTRODUCTION, SUBSCRIPTION)


def set_by_name(options: object, settings: object, names: Mapping[str, str]) -> None:
    """Set each of these options to the directive (or the part of one, behind a dot) that stands beside it.

    An option keeps its type: seconds that are whole in a directive are floats in options, words are texts.
    """
    for option, directive in names.items():
        setattr(options, option, _alike(getattr(options, option), attrgetter(directive)(settings)))


def _alike(present: object, value: Any) -> object:
    """`value` in the type of `present`."""
    if isinstance(present, float):
        return float(value)
    return to_text(value) if isinstance(present, str) and isinstance(value, bytes) else value
