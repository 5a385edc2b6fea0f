"""The JSON object: its top level stays what other programs read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pyrepl.metrics.report.as_json import TABLES, as_json
from pyrepl.metrics.report.model import Report, Row
from tests.unit.metrics.report.sample import empty, report


def test_the_top_level_of_a_day() -> None:
    made = json.loads("".join(as_json(report())))
    assert (made["syncs"], made["full_ok"], made["full_failed"]) == (43, 11, 10)
    assert (made["partial_ok"], made["partial_refused"], made["dumps"]) == (22, 7, 2)
    assert made["modes"] == {
        "continue": 22,
        "full_disk": 2,
        "full_diskless": 15,
        "rdb_channel": 3,
        "dual_channel": 1,
    }
    assert made["full_causes"]["out_of_backlog"] == 7
    assert made["cuts"]["connection_lost"] == 24
    (loop,) = made["loops"]
    assert (loop["replica"], loop["reason"], loop["count"]) == ("cache-4:6379", "rdb_version", 9)
    assert made["unparsed_lines"] == 4
    assert [node["node"] for node in made["nodes"]] == ["cache-1:6379", "cache-2:6379", "cache-3:6379", "cache-4:6379"]


def test_the_top_level_of_nothing() -> None:
    made = json.loads("".join(as_json(empty())))
    assert made["syncs"] == made["full_ok"] == made["unparsed_lines"] == 0
    assert made["partial_ratio"] is None and made["first_us"] is None
    assert (
        set(made["modes"].values()) == {0}
        and made["full_causes"] == made["cuts"] == {}
        and made["loops"] == made["nodes"] == []
    )


def test_every_table_is_in_it_and_it_is_json() -> None:
    read: dict[str, Any] = json.loads("".join(as_json(report())))
    assert list(read["tables"]) == [table.name for table in TABLES]
    assert len(read["tables"]["syncs"]) == 43


def test_numbers_that_json_has_no_word_for_are_null() -> None:
    rows: list[Row] = [{"node": "m", "cover_mean_s": float("inf"), "cover_p99_s": float("nan")}]
    read = json.loads("".join(as_json(report(write_rate=rows))))
    assert read["tables"]["write_rate"] == [{"node": "m", "cover_mean_s": None, "cover_p99_s": None}]


def test_the_top_level_is_the_jobs_own_summary(corpora: Mapping[str, Any]) -> None:
    for one in corpora.values():
        made = json.loads("".join(as_json(Report(one.tables, (), 0, ""))))
        for name, value in one.tables["summary"][0].items():
            assert made[name] == value, name
