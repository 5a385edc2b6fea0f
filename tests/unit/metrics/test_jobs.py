"""The whole analysis of real logs gives the numbers that were worked out by hand."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.unit.metrics import inline
from tests.unit.metrics.conftest import LOGS, Analysed
from tests.unit.metrics.corpus import MANGLED

TRUTH = json.loads((LOGS / "truth.json").read_text())
COUNTED = json.loads((LOGS / "counted.json").read_text())
EVENTS = sorted(path.name for path in (LOGS / "events").iterdir())
CASES = [("text", name) for name in TRUTH] + [("events", name) for name in (*EVENTS, *MANGLED)]


def found(corpus: Analysed, scenario: str) -> dict[str, Any]:
    """The numbers of truth.json, as the job has them."""
    syncs = corpus.rows("syncs", scenario)
    full = [row for row in syncs if row["mode"] != "continue"]
    loops = corpus.rows("loops", scenario)
    return {
        "syncs": len(syncs),
        "full_ok": sum(row["ok"] is True for row in full),
        "full_failed": sum(row["ok"] is False for row in full),
        "partial_ok": len(syncs) - len(full),
        "partial_refused": sum(row["asked_with_id"] for row in full),
        "modes": Counter(row["mode"] for row in syncs),
        "full_causes": Counter(row["cause"] for row in full),
        "loops": [{"reason": row["reason"], "count": row["count"]} for row in loops],
        "cuts": Counter(row["cause"] for row in corpus.rows("cuts", scenario)),
        "storms": len(corpus.rows("storms", scenario)),
        "forks": len(corpus.rows("forks", scenario)),
    }


@pytest.mark.parametrize(("name", "scenario"), CASES)
def test_the_true_numbers(corpora: dict[str, Analysed], name: str, scenario: str) -> None:
    truth = TRUTH[scenario]
    numbers = found(corpora[name], scenario)
    assert {key: numbers[key] for key in truth} == truth


@pytest.mark.parametrize("scenario", sorted(TRUTH))
def test_masters_counted_the_same(corpora: dict[str, Analysed], scenario: str) -> None:
    """INFO of the nodes; Valkey's sync_partial_ok counts the main channels of full syncs too."""
    numbers = found(corpora["text"], scenario)
    counted = COUNTED[scenario].values()
    gone = sum(row["node"].endswith("/other") for row in corpora["text"].rows("syncs", scenario))
    assert sum(node["sync_full"] for node in counted) + gone == numbers["full_ok"] + numbers["full_failed"]
    if numbers["modes"]["dual_channel"] == 0:
        assert sum(node["sync_partial_ok"] for node in counted) == numbers["partial_ok"]


def test_all_ends_were_joined(corpora: dict[str, Analysed]) -> None:
    for name in ("text", "events"):
        assert {row["ends"] for row in corpora[name].tables["syncs"]} == {"both"}, name


def test_shuffled_doubled_and_split_logs_give_the_same_tables(corpora: dict[str, Analysed]) -> None:
    for scenario in MANGLED:
        for table in ("syncs", "cuts", "loops", "availability", "forks", "storms", "advice", "retries"):
            mangled, whole = (corpora[name].rows(table, scenario) for name in ("events", "text"))
            assert plain(mangled) == plain(whole), (scenario, table)


def plain(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def test_event_log_and_text_log_tell_the_same_story(corpora: dict[str, Analysed]) -> None:
    for scenario in EVENTS:
        text, events = (sorted(corpora[name].rows("syncs", scenario), key=begin) for name in ("text", "events"))
        for ours, theirs in zip(text, events, strict=True):
            for column in ("mode", "ok", "cause", "asked_with_id", "asked_offset", "offset", "behind_bytes", "keys"):
                told = {ours[column], theirs[column]} - {None}
                assert len(told) <= 1, (scenario, column, told)
            assert abs(ours["at_us"] - theirs["at_us"]) < 100_000
            assert abs(ours["end_us"] - theirs["end_us"]) < 100_000


def begin(row: dict[str, Any]) -> int:
    return int(row["at_us"])


def test_the_summary_has_what_users_count_on(corpora: dict[str, Analysed]) -> None:
    summary = corpora["text"].tables["summary"][0]
    assert summary["syncs"] == sum(row["syncs"] for row in TRUTH.values())
    assert summary["full_ok"] == sum(row["full_ok"] for row in TRUTH.values())
    assert summary["full_failed"] == sum(row["full_failed"] for row in TRUTH.values())
    assert summary["partial_ok"] == sum(row["partial_ok"] for row in TRUTH.values())
    assert summary["partial_refused"] == sum(row["partial_refused"] for row in TRUTH.values())
    assert set(summary["modes"]) == {"continue", "full_disk", "full_diskless", "rdb_channel", "dual_channel"}
    assert {loop["reason"] for loop in summary["loops"]} == {"rdb_version"}
    assert summary["cuts"]["output_buffer"] == 3
    assert summary["unparsed_lines"] == 0
    assert len(summary["nodes"]) == len(list((LOGS / "text").rglob("*.log")))


@pytest.mark.parametrize("content", [None, b"", b"PAR1 cut short"])
def test_damaged_answers_are_made_anew(tmp_path: Path, content: bytes | None) -> None:
    inline.read(LOGS / "text" / "redis7-output-buffer", tmp_path)
    whole = inline.told(tmp_path)
    for name in ("counts", "syncs"):
        (path,) = (tmp_path / "answers" / name).iterdir()
        path.unlink() if content is None else path.write_bytes(content)
        assert inline.told(tmp_path) == whole
