"""The canonical tables that logs are read into: events, samples, lines that do not parse, and the files read.

They speak the language of pyrepl's event log (observability/eventlog), whose records and fields stand here under their
own names; what the text logs of Redis, Valkey and pyrepl say is translated into it (sentences.py). All metrics are
defined on these columns alone (results.py). `at_us` is Unix time in microseconds; offsets are cuts: how many bytes of
the stream lie to the left.
"""

from __future__ import annotations

from typing import Final

from pyrepl.metrics.column import Column, Kind, Table, count, moment, text
from pyrepl.observability.eventlog.schema import COLUMNS

_KINDS: Final = {"string": Kind.TEXT, "long": Kind.COUNT, "double": Kind.NUMBER, "boolean": Kind.FLAG}
_OF_THE_LOG: Final = {one.name: Column(one.name, _KINDS[one.type], one.unit, one.help.rstrip(".")) for one in COLUMNS}


def _told(*names: str) -> tuple[Column, ...]:
    """Columns of the event log, as they are."""
    return tuple(_OF_THE_LOG[name] for name in names)


_WHERE: Final = (
    text("day", "the UTC day of at_us as 2026-01-31"),
    text("node", "who logged it: the event log's node; of a text log the file's name without rotation suffixes"),
    moment("at_us", "when it was logged, by the node's own clock"),
    text("run", "the event log's run id; of a text log the process id"),
    count("seq", "", "number of the line in its run; null in text logs"),
    text("event", "what happened: a record of the event log, or one of TEXT_ONLY (kinds.py)"),
)

EVENTS: Final = Table(
    "events",
    "one row per log line that says something about replication; the same line twice is one row",
    (
        *_WHERE,
        text(
            "form",
            "json (pyrepl's event log), text (Redis, Valkey and pyrepl), logfmt and text_json (Valkey and pyrepl, by"
            " log-format)",
        ),
        text("file", "the file it was read from"),
        *_told(
            "end", "sync", "peer", "replica", "role", "replid", "offset", "asked_replid", "asked_offset", "verdict",
            "mode", "dialect", "cause", "detail", "by_bytes", "by_us", "phase", "ok", "error", "step",
            "snapshot_offset", "backlog_start_offset", "backlog_size_bytes", "missing_bytes",
            "wait_ms", "delivery_ms", "load_ms", "catch_up_ms", "handshake_ms", "sync_ms", "snapshot_ms",
            "total_bytes", "delivered_bytes", "buffered_bytes", "applied_bytes", "peak_bytes", "limit_bytes",
            "buffer", "lag_bytes", "output_bytes", "output_hard_bytes",
            "snapshot", "purpose", "target", "child_pid", "fork_us", "replicas", "written_bytes", "private_bytes",
            "keys", "version", "pid", "port", "replid2", "fork_offset", "conn", "dropped",
        ),
    ),
    days=True,
)  # fmt: skip

SAMPLES: Final = Table(
    "samples",
    "one row per sample of a node (event sample), of one of its replicas (replica_sample), or of its change streams "
    "(stream_sample)",
    (
        *_WHERE,
        *_told(
            "replid", "offset", "peer", "phase", "lag_bytes", "lag_s", "output_bytes", "backlog_start_offset",
            "backlog_bytes", "backlog_size_bytes", "sync_buffer_bytes", "rss_bytes", "writes_per_s",
            "stream_bytes_per_s", "subscribers", "rows_per_s", "unread_bytes",
        ),
    ),
    days=True,
)  # fmt: skip

UNKNOWN: Final = "replication"
"""Why a line is in UNPARSED that is a log line of a server, and whose words nobody knows."""

UNPARSED: Final = Table(
    "unparsed",
    "one row per line that no reader understood, and per line that speaks of replication in words that nobody knows; "
    "nothing is lost in silence",
    (
        text("file", "the file it stands in"),
        count("position", "bytes", "offset of its first byte in the file (of a packed one: in what it unpacks to)"),
        count("size", "bytes", "its length without the line end"),
        text(
            "why",
            "json, schema, encoding, too_long or text; replication: it speaks of it, and what it tells is not known",
        ),
        text("line", "its first 500 characters; what is not UTF-8, and control characters, escaped"),
    ),
)

FILES: Final = Table(
    "files",
    "one row per file met",
    (
        text("file", "its path"),
        text("form", "json, text, mixed, empty, unreadable or copy"),
        count("bytes", "bytes", "read so far (of a packed one: unpacked)"),
        count("lines", "", "lines read so far"),
        count("events", "", "those that became events or samples"),
        count("ignored", "", "those understood and without meaning for replication (banner, clients, hints)"),
        count("unparsed", "", "those that are no log lines, or damaged; in the table unparsed"),
        count("unknown", "", "those that speak of replication in words that nobody knows; in the table unparsed"),
        text(
            "wrapper", "what stood around lines and was taken off: docker, cri, journald, syslog, logfmt; null if none"
        ),
        text("copy_of", "the file that holds all that is in this one, which therefore counts for nothing; else null"),
        text("error", "why it, or the rest of it, could not be read; null when all is well"),
    ),
)

ROLLUPS: Final = ("halves", "children", "values", "drawn")
"""What a part of the logs comes to (rollup.py), by the folders of its files."""
