"""The compiled scan gives what the JSON reader gives, for each line that it takes, and takes what the daemon writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrepl.metrics import jsonlines
from pyrepl.metrics.quicklines import QuickLines
from tests.unit.metrics.test_jsonlines import SAMPLE, STARTED, line

LOGS = Path(__file__).resolve().parents[2] / "data" / "logs" / "events"
UNKNOWN = line(event="something_new", seq=3)

NUMBERS = st.integers(-(1 << 65), 1 << 65) | st.floats(allow_nan=False) | st.sampled_from([0, -1, 10**17, 0.1, -2.5])
TEXTS = st.text(max_size=6) | st.sampled_from(["a:1", "sample", "é", '"', "\\", "\ud800"])
VALUES = NUMBERS | TEXTS | st.booleans() | st.none() | st.lists(st.integers(0, 3), max_size=2)
NAMES = st.sampled_from(
    ["at_us", "node", "run", "seq", "event", "replid", "offset", "peer", "lag_bytes", "lag_s", "by_us", "pid", "other"]
)
EVENTS = st.sampled_from(["sample", "replica_sample", "replica_down", "online", "new"])


def told(block: bytes, room: int = 100) -> tuple[list[bytes], list[bytes], list[jsonlines.Parsed]]:
    """The lines that the scan took, those that it left, and what it made of the first."""
    quick = QuickLines(room)
    taken: list[bytes] = []
    left: list[bytes] = []
    found = []
    at = 0
    while at < len(block):
        scanned = quick.parse(block, at, [len(block)])
        lines = block[at : scanned.end].splitlines(keepends=True)
        [(parsed, count)] = scanned.parts
        assert count == len(lines)
        taken += lines
        found.append(parsed)
        at = scanned.end
        if at < len(block) and not scanned.is_full:
            end = block.index(b"\n", at) + 1
            left.append(block[at:end])
            at = end
    return taken, left, found


def check(taken: list[bytes], found: list[jsonlines.Parsed]) -> None:
    """The JSON reader makes the same of the same lines."""
    if not taken:
        return
    right = jsonlines.parse(b"".join(taken))
    assert right.unparsed == []
    for name in ("events", "samples"):
        made = pa.concat_tables([getattr(one, name) for one in found]).combine_chunks()
        made.validate(full=True)
        assert made.to_pylist() == getattr(right, name).to_pylist()
        assert made.schema == getattr(right, name).schema
    assert sum(one.ignored for one in found) == right.ignored


@pytest.mark.parametrize("path", sorted(LOGS.rglob("*.jsonl")), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_all_that_the_daemon_writes_is_taken(path: Path) -> None:
    taken, left, found = told(path.read_bytes())
    assert left == []
    check(taken, found)


def test_full_tables_are_emptied_and_the_scan_goes_on() -> None:
    taken, left, found = told((STARTED + SAMPLE + UNKNOWN) * 10, room=3)
    assert (len(taken), left) == (30, [])
    assert [(one.events.num_rows, one.samples.num_rows, one.ignored) for one in found][:2] == [(3, 2, 2), (2, 3, 2)]
    check(taken, found)


@pytest.mark.parametrize(
    "unusual",
    [
        b"\n",
        b"{\n",
        b"no JSON\n",
        STARTED.replace(b":9", b": 9"),
        STARTED.replace(b'"pid":9', b'"pid":"9"'),
        STARTED.replace(b'"pid":9', b'"pid":09'),
        STARTED.replace(b'"pid":9', b'"pid":9.5'),
        STARTED.replace(b'"pid":9', b'"pid":1e3'),
        STARTED.replace(b'"pid":9', b'"pid":true'),
        STARTED.replace(b'"pid":9', b'"pid":null'),
        STARTED.replace(b'"pid":9', b'"pid":-'),
        STARTED.replace(b'"pid":9', b'"pid":%d' % (1 << 64)),
        STARTED.replace(b'"pid":9', b'"pid":9,"pid":9'),
        STARTED.replace(b'"version":"1"', b'"version":1'),
        STARTED.replace(b'"version":"1"', b'"version":"\\u0031"'),
        STARTED.replace(b'"version":"1"', '"version":"é"'.encode()),
        STARTED.replace(b'"version":"1"', b'"version":[1]'),
        STARTED.replace(b'"seq":1,', b""),
        STARTED.replace(b'"at_us":1', b'"at_us":-1'),
        STARTED.replace(b'"at_us":1', b'"at_us":9'),
        STARTED.replace(b"}", b"},"),
        STARTED.replace(b"}", b"} "),
        STARTED[:-2] + b"\n",
        SAMPLE.replace(b"1.5", b"0.12345678901234567"),
        SAMPLE.replace(b"1.5", b"1."),
        SAMPLE.replace(b"1.5", b".5"),
    ],
)
def test_what_is_unusual_is_left(unusual: bytes) -> None:
    taken, left, found = told(STARTED + unusual + SAMPLE)
    assert (taken, left) == ([STARTED, SAMPLE], [unusual])
    check(taken, found)


@st.composite
def lines(draw: Any) -> bytes:
    """A line that is much like one of an event log."""
    fields = {"at_us": 5, "node": "n", "run": "r", "seq": 1, "event": draw(EVENTS)}
    fields |= draw(st.dictionaries(NAMES, VALUES, max_size=4))
    names = draw(st.permutations(list(fields)))
    separators = draw(st.sampled_from([(",", ":"), (", ", ": ")]))
    words = json.dumps({name: fields[name] for name in names}, separators=separators, ensure_ascii=draw(st.booleans()))
    data = words.encode("utf-8", "surrogatepass")
    return data[: draw(st.integers(0, len(data)))] + b"\n" if draw(st.integers(0, 9)) == 0 else data + b"\n"


@given(st.lists(lines(), max_size=6))
@settings(max_examples=200, deadline=None)
def test_what_is_taken_is_what_the_json_reader_reads(drawn: list[bytes]) -> None:
    taken, _, found = told(b"".join(drawn))
    check(taken, found)
