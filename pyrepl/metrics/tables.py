"""The canonical tables that logs are read into: events, lines that do not parse, and the files read.

Whatever form a log has, its lines end here, so all metrics are defined on these columns alone (results.py). A time is
`at_us`: Unix time in microseconds, UTC. Offsets are the wire's numbers as the log prints them.
"""

from __future__ import annotations

from typing import Final

from pyrepl.metrics.column import Table, count, number, text

EVENTS: Final = Table(
    "events",
    "one row per log line that says something about replication, of one node; the same line twice is one row",
    (
        count("at_us", "us", "when it was logged, by the node's own clock"),
        text("day", "the UTC day of at_us as 2026-01-31"),
        text("node", "who logged it: the event log's node id; of a text log the file's name without rotation suffixes"),
        text("form", "json (pyrepl's event log), text (Redis, Valkey and pyrepl), logfmt (Valkey)"),
        text("run", "the event log's run id; of a text log the process id"),
        text("file", "where the line stands"),
        text("kind", "what happened: one of KINDS (kinds.py)"),
        count("rank", "", "order of kinds that bear the same time, so that lines in any order give the same result"),
        text("end", "master, replica or node: whose part of replication speaks"),
        text("sync", "the event log's sync id, which ties both ends and both channels; null in text logs"),
        text("peer", "the other end as host:port, as this end calls it"),
        text("replid", "the replication id that holds behind the event"),
        count("offset", "bytes", "the stream offset that the line names"),
        text("asked_replid", "PSYNC: the id asked for; ? when the replica had none"),
        count("asked_offset", "bytes", "PSYNC: the first byte asked for, from 1"),
        count("gap_bytes", "bytes", "PSYNC: how far before the backlog's first byte (or, negative, behind its end)"),
        count("bytes", "bytes", "size of what was moved: snapshot, backlog part, buffer"),
        count("keys", "", "keys loaded or written"),
        number("duration_ms", "ms", "a span that the line itself states"),
        text("cause", "why: a code of CAUSES (kinds.py)"),
        text("detail", "why, in the log's own words"),
        text("target", "where a snapshot goes: disk or socket; where it is received: disk or parser"),
        text("channel", "main or rdb when a sync has two connections"),
        text("version", "version of a server (start), of a snapshot (RDB version)"),
        count("pid", "", "the snapshot child's process id"),
        count("port", "", "the port that the node listens on"),
        count(
            "memory_bytes", "bytes", "private memory of a snapshot child (its copy-on-write), or of the node (sample)"
        ),
        count("backlog_first", "bytes", "sample: offset of the backlog's first byte"),
        count("backlog_size", "bytes", "the backlog's capacity (repl-backlog-size)"),
        count("lag_bytes", "bytes", "sample: how far a replica's acknowledged offset is behind its master's"),
        number("lag_s", "s", "sample: since the replica's last acknowledgement"),
        count("output_buffer_bytes", "bytes", "what waits at the master for a replica"),
        count("sync_buffer_bytes", "bytes", "what of the stream a replica holds while its snapshot loads"),
        number("writes_per_s", "1/s", "sample: write commands per second"),
    ),
    days=True,
)

UNPARSED: Final = Table(
    "unparsed",
    "one row per line that no reader understood; nothing is lost in silence",
    (
        text("file", "where the line stands"),
        count("position", "bytes", "offset of its first byte in the file (of a .gz: in what it unpacks to)"),
        count("size", "bytes", "its length without the line end"),
        text("why", "empty, json, schema, binary, too_long, text"),
        text("line", "its first 500 bytes, non-UTF-8 and control characters escaped"),
    ),
)

FILES: Final = Table(
    "files",
    "one row per file met",
    (
        text("file", "its path as found"),
        text("node", "its node (EVENTS.node), null when it names several or none"),
        text("form", "json, text, logfmt, mixed, empty or unreadable"),
        count("bytes", "bytes", "read so far (of a .gz: unpacked)"),
        count("lines", "", "lines read so far"),
        count("events", "", "those that became events"),
        count("ignored", "", "those understood and without meaning for replication (banner, clients, hints)"),
        count("unparsed", "", "those in the table unparsed"),
        text("error", "why it, or the rest of it, could not be read; null when all is well"),
    ),
)
