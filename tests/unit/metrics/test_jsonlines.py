"""Lines of the event log: whole ones become rows, each damaged one is told with what is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pyrepl.metrics.jsonlines import parse, why_not

HEAD = {"v": 1, "at_us": 1_795_000_000_000_000, "mono_us": 5, "seq": 1, "node": "a:1", "run": "r", "role": "master",
        "replid": "f" * 40, "offset": 7}  # fmt: skip


def line(**fields: Any) -> bytes:
    return json.dumps({**HEAD, **fields}, separators=(",", ":")).encode() + b"\n"


SAMPLE = line(event="sample", backlog_bytes=5, writes_per_s=1.5, seq=2)
STARTED = line(event="node_started", version="1", pid=9, port=1)


def test_events_and_samples_part() -> None:
    parsed = parse(STARTED + SAMPLE + line(event="something_new", seq=3))
    assert [(row["event"], row["pid"], row["form"], row["day"]) for row in parsed.events.to_pylist()] == [
        ("node_started", 9, "json", "2026-11-18")
    ]
    assert [(row["backlog_bytes"], row["writes_per_s"]) for row in parsed.samples.to_pylist()] == [(5, 1.5)]
    assert (parsed.ignored, parsed.unparsed) == (1, [])


def test_a_name_like_a_sample_is_no_sample() -> None:
    parsed = parse(line(event="psync_asked", end="master", sync="s", peer="sample", conn='sample",') + SAMPLE)
    assert [row["event"] for row in parsed.events.to_pylist()] == ["psync_asked"]
    assert parsed.samples.num_rows == 1


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (b"{", "json"),
        (b'{"v":1}', "schema"),
        (STARTED.replace(b'"pid":9', b'"pid":"9"').strip(), "schema"),
        (STARTED.replace(b'"pid":9', b'"pid":%d' % (1 << 63)).strip(), "schema"),
        (STARTED.replace(b'"at_us":1795', b'"at_us":-1795').strip(), "schema"),
        (b'{"a":"\xff"}', "encoding"),
        (b"{" * 5000, "json"),
        (STARTED[:-20].strip(), "json"),
    ],
)
def test_damaged_lines_are_told_and_the_others_kept(bad: bytes, why: str) -> None:
    assert why_not(bad) == why
    parsed = parse(STARTED + bad + b"\n" + SAMPLE)
    assert parsed.unparsed == [(1, why)]
    assert (parsed.events.num_rows, parsed.samples.num_rows) == (1, 1)


def test_a_line_is_good_by_itself() -> None:
    assert why_not(STARTED.strip()) is None
    assert why_not(SAMPLE.strip()) is None


def test_text_beyond_ascii_is_fine() -> None:
    parsed = parse(
        line(event="link_down", peer="x", phase="p", cause="c", error="Übung").replace(b"\\u00dc", "Ü".encode())
    )
    assert parsed.events.to_pylist()[0]["error"] == "Übung"
