"""Syncs as spans."""

from __future__ import annotations

import json
from typing import Any

from pyrepl.metrics.report.model import Row
from pyrepl.metrics.report.otlp import otlp
from tests.unit.metrics.report.sample import empty, report


def spans(text: str) -> list[dict[str, Any]]:
    return [
        span
        for resource in json.loads(text)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def test_a_span_a_sync_and_its_phases_within() -> None:
    found = spans(otlp(report()))
    parents = {span["spanId"]: span for span in found if "parentSpanId" not in span}
    assert len(parents) == 43 and len({span["spanId"] for span in found}) == len(found)
    for span in found:
        assert len(span["traceId"]) == 32 and len(span["spanId"]) == 16
        parent = parents[span.get("parentSpanId", span["spanId"])]
        assert parent["traceId"] == span["traceId"]
        begin, end = (int(span[name]) for name in ("startTimeUnixNano", "endTimeUnixNano"))
        assert int(parent["startTimeUnixNano"]) <= begin <= end <= int(parent["endTimeUnixNano"])


def test_failures_are_errors() -> None:
    failed = [span for span in spans(otlp(report())) if span.get("status", {}).get("code") == 2]
    assert len(failed) == 10 and failed[0]["status"]["message"] == "rdb_version"
    told = {one["key"]: one["value"] for one in failed[0]["attributes"]}
    assert told["pyrepl.mode"] == {"stringValue": "full_diskless"} and told["pyrepl.bytes"] == {
        "intValue": "2600000000"
    }


def test_what_has_not_ended_is_left_out() -> None:
    rows: list[Row] = [{"sync": "a", "node": "m", "at_us": 5, "end_us": None, "mode": "continue"}]
    assert spans(otlp(report(syncs=rows))) == [] == spans(otlp(empty()))


def test_the_service_is_the_master() -> None:
    (resource,) = json.loads(otlp(report()))["resourceSpans"]
    assert resource["resource"]["attributes"] == [{"key": "service.name", "value": {"stringValue": "cache-1:6379"}}]
