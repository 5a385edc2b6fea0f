"""The line of the text log that an event is written in, by the directives log-format and log-timestamp-format.

Forms and words are those of Valkey 9.1, which log readers know: `legacy` is the line of Redis. What an event says is
its record's (events.py); our reader of all these lines is `pyrepl.metrics.textlines`.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Final, NamedTuple

from pyrepl.observability.event import Event, Level

LEGACY: Final = "legacy"
LOGFMT: Final = "logfmt"
JSON: Final = "json"
ISO: Final = "iso8601"
MILLISECONDS: Final = "milliseconds"

_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ROLES: Final = {"M": "primary", "S": "replica", "C": "RDB/AOF"}
_LEVELS: Final = {Level.DEBUG: "debug", Level.VERBOSE: "info", Level.NOTICE: "notice", Level.WARNING: "warning"}


class LogForm(NamedTuple):
    """How lines are written."""

    form: str = LEGACY
    """LEGACY, LOGFMT or JSON."""
    timestamp: str = LEGACY
    """LEGACY, ISO or MILLISECONDS."""


def log_line(event: Event, how: LogForm, *, pid: int, role: str, at_ms: int, utc_offset_s: int) -> str:
    """The line without a line end, as `how` says; in legacy form `pid:role dd Mon yyyy hh:mm:ss.mmm * text`.

    `role` is M (master), S (replica) or C (a child); `at_ms` is Unix ms, shown in the zone `utc_offset_s` seconds east
    of UTC.
    """
    timestamp = _timestamp(how.timestamp, at_ms, utc_offset_s)
    if how.form == LEGACY:
        return f"{pid}:{role} {timestamp} {event.LEVEL.mark} {event.text()}"
    level = _LEVELS[event.LEVEL]
    if how.form == LOGFMT:
        # Nothing is escaped in Valkey's: a quote would end the message.
        message = event.text().replace('"', "'")
        return f'pid={pid} role={_ROLES[role]} timestamp="{timestamp}" level={level} message="{message}"'
    fields = {"pid": pid, "role": _ROLES[role], "timestamp": timestamp, "level": level, "message": event.text()}
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def _timestamp(form: str, at_ms: int, utc_offset_s: int) -> str:
    """English months whatever the locale, since log readers parse them."""
    if form == MILLISECONDS:
        return str(at_ms)
    seconds, ms = divmod(at_ms, 1000)
    at = datetime.fromtimestamp(seconds, timezone(timedelta(seconds=utc_offset_s)))
    if form == ISO:
        return at.replace(microsecond=ms * 1000).isoformat(timespec="milliseconds")
    return f"{at.day:02d} {_MONTHS[at.month - 1]} {at.year} {at:%H:%M:%S}.{ms:03d}"
