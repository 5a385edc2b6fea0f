"""What a part comes to: halves, children and marks; merged, in any order, they are those of the whole."""

from __future__ import annotations

import random
from typing import Any

import polars as pl

from pyrepl.metrics.ends import merged
from pyrepl.metrics.jsonlines import parse
from pyrepl.metrics.kinds import JSON, TEXT
from pyrepl.metrics.rollup import TRACED, merged_children, merged_marks, rollup
from pyrepl.metrics.schemas import schema
from pyrepl.metrics.tables import EVENTS, SAMPLES
from tests.unit.metrics.conftest import LOGS

LINES = (LOGS / "events" / "pyrepl-output-buffer" / "master.jsonl").read_bytes().splitlines(keepends=True)


def events(lines: list[bytes]) -> pl.DataFrame:
    found: Any = pl.from_arrow(parse(b"".join(lines)).events)
    rows: pl.DataFrame = found
    return rows


def shown(rows: pl.DataFrame) -> list[str]:
    return sorted(map(repr, rows.select(sorted(rows.columns)).iter_rows()))


def test_parts_in_any_order_come_to_the_whole() -> None:
    whole = rollup(EVENTS, events(LINES))
    for seed in range(5):
        lines = LINES + LINES[:20]
        random.Random(seed).shuffle(lines)
        parts = [rollup(EVENTS, events(lines[first::3])) for first in range(3)]
        halves, children = (pl.concat(part.tables[name] for part in parts) for name in ("halves", "children"))
        assert shown(merged(halves)) == shown(whole.tables["halves"])
        assert shown(merged_children(children)) == shown(merged_children(whole.tables["children"]))
        one, other = (merged_marks(marks) for marks in ([mark for part in parts for mark in part.marks], whole.marks))
        assert [{**node, "count": 0} for node in one.values()] == [{**node, "count": 0} for node in other.values()]


def test_a_node_is_known_by_its_marks() -> None:
    (mark,) = rollup(EVENTS, events(LINES)).marks
    assert (mark["table"], mark["form"], mark["count"]) == ("events", JSON, len(events(LINES)))
    (node,) = merged_marks([mark, mark]).values()
    assert (node["count"], node["kind"][1], len(node["runs"])) == (2 * mark["count"], "pyrepl", 1)
    assert mark["masters"] and not mark["labels"], "a master's log calls no master"


def test_the_last_told_counts() -> None:
    marks = [
        {"node": "a", "count": 1, "first_us": first, "last_us": first + 1, "version": version}
        for first, version in ((5, [5, "7.0"]), (9, [9, "8.0"]), (7, None))
    ]
    (node,) = merged_marks(marks).values()
    assert (node["version"], node["first_us"], node["last_us"], node["port"]) == ([9, "8.0"], 5, 10, None)


def test_when_a_backlog_was_freed_for_want_of_replicas_is_known() -> None:
    told = [{"node": "n", "event": "backlog_freed", "at_us": at_us, "cause": cause, "form": form}
            for at_us, cause, form in ((9, "ttl", JSON), (5, None, TEXT), (7, "full_resync", JSON))]  # fmt: skip
    found = rollup(EVENTS, pl.DataFrame(told, schema=schema(EVENTS)))
    (node,) = merged_marks(found.marks).values()
    assert node["freed"] == {5, 9}


def test_text_has_marks_alone() -> None:
    rows = events(LINES).with_columns(form=pl.lit("text"))
    found = rollup(EVENTS, rows)
    assert [mark["form"] for mark in found.marks] == [TEXT]
    assert all(table.is_empty() for table in found.tables.values())


def test_samples_have_values_spans_and_edges() -> None:
    rows: Any = pl.from_arrow(parse(b"".join(LINES)).samples)
    found = rollup(SAMPLES, rows)
    (mark,) = found.marks
    assert set(found.tables) == {"values", "drawn"} and all(len(table) for table in found.tables.values())
    assert mark["sampled"] and mark["edges"][0][1] == mark["first_us"]


def test_text_tells_with_whom_its_node_has_synced() -> None:
    a, b = "a" * 40, "b" * 40
    told = [
        {"node": "n", "event": "psync_asked", "end": "replica", "at_us": 7, "peer": "m:1", "asked_replid": a},
        {"node": "n", "event": "psync_decided", "end": "replica", "at_us": 8, "peer": "m:1", "replid": b},
        {"node": "n", "event": "psync_asked", "end": "replica", "at_us": 7, "peer": "k:1"},
        {"node": "n", "event": "psync_asked", "end": "master", "at_us": 9, "peer": "r:1", "asked_replid": "c" * 40},
        *({"node": "o", "event": "psync_asked", "end": "master", "at_us": at_us, "peer": "r:1"} for at_us in range(99)),
    ]
    rows = pl.DataFrame([{"form": TEXT, **row} for row in told], schema=schema(EVENTS))
    one, other = rollup(EVENTS, rows).marks
    assert (one["labels"], one["followed"], one["replids"]) == (["k:1", "m:1"], [a], [b])
    assert one["asks"] == {"master": [9], "replica": [7, 8]}
    assert (other["labels"], other["asks"]) == ([], {"master": list(range(TRACED)), "replica": []})
