"""Logs that are elsewhere are copied by Hadoop, once for each change, and what it has against them is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyrepl.analysis import fetch
from pyrepl.analysis.failures import CannotRun
from tests.unit.metrics import far
from tests.unit.metrics.conftest import told_by_spark  # noqa: F401

ROOT = "viewfs/fleet/logs"


def contents(step: Any) -> dict[str, bytes]:
    return {name: bytes.fromhex(data) for name, (data, _) in step[1].items()}


@pytest.fixture
def told(told_by_spark: dict[str, Any]) -> dict[str, Any]:  # noqa: F811
    return dict(told_by_spark["far"])


def test_what_may_be_a_log_is_copied_and_paths_of_this_machine_stay(told: dict[str, Any]) -> None:
    first = told["steps"]["first"]
    assert first[0] == [f"copies/{ROOT}", "far"]
    assert contents(first).keys() == {
        f"{ROOT}/{name}" for name in ("a/redis.log", "b/redis.log.1.gz", "b/c d/redis.log")
    }
    assert contents(first)[f"{ROOT}/b/c d/redis.log"] == b"three\n"


def test_what_has_not_changed_is_not_copied_again(told: dict[str, Any]) -> None:
    steps = told["steps"]
    assert steps["again"][1] == steps["first"][1]
    same = f"{ROOT}/b/c d/redis.log"
    assert steps["grown"][1][same] == steps["first"][1][same]


def test_what_has_grown_is_copied_and_what_has_gone_goes(told: dict[str, Any]) -> None:
    grown = contents(told["steps"]["grown"])
    assert grown == {f"{ROOT}/a/redis.log": b"one\ntwo\n", f"{ROOT}/b/c d/redis.log": b"three\n"}


def test_a_pattern_is_one_of_the_copies(told: dict[str, Any]) -> None:
    here, files = told["steps"]["matched"]
    assert here == [f"copies/{ROOT}/{{a,z}}/redis.*"] and [*files] == [f"{ROOT}/a/redis.log"]


def test_what_cannot_be_fetched_is_told_in_one_line(told: dict[str, Any]) -> None:
    none, unmatched, s3, unknown, unmounted = (told["wrong"][log] for log in far.WRONG)
    assert none == "viewfs://fleet/logs/none: no such file, or no log in it"
    assert unmatched == "viewfs://fleet/logs/*/none-*: no file matches"
    assert s3.startswith("s3a://bucket/logs: Spark has no file system for s3a: give it one, as with --packages org.")
    assert unknown.startswith("nosuch://host/logs: Spark has no file system for nosuch: give it one")
    assert unmounted.startswith("viewfs://unknown/logs: ") and "unknown" in unmounted.partition(": ")[2]
    assert not any("\n" in error for error in told["wrong"].values())


def test_an_url_without_a_path() -> None:
    nobody: Any = None
    assert fetch.fetched(nobody, ["a.log"], Path("none")) == ["a.log"]
    with pytest.raises(CannotRun, match="expected SCHEME://HOST/PATH"):
        fetch._parts("hdfs:logs")
