"""Syncs as spans of OpenTelemetry, in OTLP's JSON: a collector's `otlpjsonfile` receiver reads the file.

A span a sync, of its master's node as the service; its phases are spans within it, one after the other. Syncs that no
log sees the end of are left out. Ids are made of the sync's name: the same logs give the same spans.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any, Final

from pyrepl.metrics.report.model import Report, Row, real, whole, word
from pyrepl.metrics.report.words import PHASES

_INTERNAL: Final = 1
_OK: Final = 1
_ERROR: Final = 2
_TEXTS: Final = ("sync", "replica", "mode", "cause", "failure", "failure_detail", "ends", "rdb_version")
_COUNTS: Final = ("bytes", "keys", "gap_bytes", "behind_bytes", "offset")
Span = dict[str, Any]


def otlp(report: Report) -> str:
    """The spans as one object of OTLP's JSON (ExportTraceServiceRequest), on one line, with a line end."""
    rows = [row for row in report.rows("syncs") if row.get("at_us") is not None and row.get("end_us") is not None]
    rows.sort(key=lambda row: (word(row, "node"), whole(row, "at_us")))
    scope = {"name": "pyrepl metrics", "version": report.version}
    resources = [
        {
            "resource": {"attributes": [_text("service.name", node or "unknown")]},
            "scopeSpans": [{"scope": scope, "spans": [span for row in own for span in _spans(row)]}],
        }
        for node, own in groupby(rows, key=lambda row: word(row, "node"))
    ]
    return json.dumps({"resourceSpans": resources}, separators=(",", ":")) + "\n"


def _spans(row: Row) -> Iterator[Span]:
    name = word(row, "sync")
    parent = _span(name, "", whole(row, "at_us"), whole(row, "end_us"), _what(row))
    texts = [_text(f"pyrepl.{column}", word(row, column)) for column in _TEXTS if row.get(column) is not None]
    counts = [
        {"key": f"pyrepl.{column}", "value": {"intValue": str(whole(row, column))}}
        for column in _COUNTS
        if row.get(column) is not None
    ]
    failed = row.get("ok") is False
    status = {"code": _ERROR, "message": word(row, "failure")} if failed else {"code": _OK}
    yield {**parent, "attributes": [*texts, *counts], "status": status}
    begin = whole(row, "at_us")
    for column, phase in PHASES.items():
        ms = real(row, column)
        if ms is not None:
            end = min(begin + round(ms * 1000), whole(row, "end_us"))
            yield {**_span(name, column, begin, end, phase), "parentSpanId": parent["spanId"]}
            begin = end


def _span(sync: str, part: str, begin_us: int, end_us: int, name: str) -> Span:
    """Without what only the whole sync has."""
    return {
        "traceId": hashlib.sha256(sync.encode()).hexdigest()[:32],
        "spanId": hashlib.sha256(f"{sync}/{part}".encode()).hexdigest()[:16],
        "name": name,
        "kind": _INTERNAL,
        "startTimeUnixNano": str(begin_us * 1000),
        "endTimeUnixNano": str(end_us * 1000),
    }


def _what(row: Row) -> str:
    return "partial resync" if word(row, "mode") == "continue" else "full resync"


def _text(key: str, value: str) -> Span:
    return {"key": key, "value": {"stringValue": value}}
