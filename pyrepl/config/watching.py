"""Rows of directives.py about what the node notes of the commands that it executes: logs of some, and latencies."""

from __future__ import annotations

from pyrepl.config.directive import Directive
from pyrepl.config.kinds import LONG_MAX, Integer, Percentiles, YesNo


class Watching:
    """What is noted of commands"""

    slowlog_log_slower_than = Directive(
        Integer(-1, LONG_MAX),
        10000,
        "A command that takes so many microseconds, or more, enters the slow log; -1: none does, 0: all do.",
        aliases=("commandlog-execution-slower-than",),
    )
    slowlog_max_len = Directive(
        Integer(0, LONG_MAX), 128, "Entries that the slow log keeps.", aliases=("commandlog-slow-execution-max-len",)
    )
    commandlog_request_larger_than = Directive(
        Integer(-1, LONG_MAX),
        -1,
        "A request of so many bytes, or more, enters COMMANDLOG's large-request; -1: none does. Measuring"
        " costs speed, so it is off here; Valkey has 1048576.",
    )
    commandlog_large_request_max_len = Directive(Integer(0, LONG_MAX), 128, "Entries that large-request keeps.")
    commandlog_reply_larger_than = Directive(
        Integer(-1, LONG_MAX),
        -1,
        "The same for replies, in large-reply; Valkey has 1048576.",
    )
    commandlog_large_reply_max_len = Directive(Integer(0, LONG_MAX), 128, "Entries that large-reply keeps.")
    latency_monitor_threshold = Directive(
        Integer(0, LONG_MAX),
        0,
        "An event that takes so many milliseconds, or more, becomes a sample of LATENCY; 0: none does.",
    )
    latency_tracking = Directive(
        YesNo(), True, "Note how long each command takes: INFO latencystats, LATENCY HISTOGRAM."
    )
    latency_tracking_info_percentiles = Directive(
        Percentiles(), (50.0, 99.0, 99.9), "Percentiles that INFO latencystats prints; empty: none."
    )
