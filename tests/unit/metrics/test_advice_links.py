"""Advice on links that no size mends."""

from __future__ import annotations

import pytest

from pyrepl.metrics.advice_links import loop, outage, stalled
from pyrepl.metrics.facts import Row

S = 1_000_000


def pair(**more: object) -> Row:
    return {"node": "m", "replica": "r"} | more


def looped(**more: object) -> Row:
    ends = {"kind": "redis", "version": "8.2.3", "replica_kind": "redis", "replica_version": "7.0.15"}
    return pair(reason="load_failed", detail=None, count=9, first_us=0, last_us=90 * S, every_s=10.0, over=False,
                open_s=95.0, bytes=7, bytes_known=4, bytes_estimate=16_000) | ends | more  # fmt: skip


@pytest.mark.parametrize(
    ("cause", "detail", "seconds", "kind", "severity", "text"),
    [
        (
            "refused",
            "WRONGPASS.",
            5.0,
            "auth",
            "act",
            "5.0 s; the last cause is refused (WRONGPASS). The master refuses",
        ),
        (
            "refused",
            "ERR max",
            3600.0,
            "outage",
            "act",
            "3,600.0 s; the last cause is refused (ERR max). The master answers",
        ),
        ("connect_failed", None, 5.0, "outage", "consider", "Nothing answers at the master's address"),
        (None, None, 5.0, "outage", "consider", "the last cause is unknown."),
        ("connection_lost", None, 5.0, "outage", "consider", "the last cause is connection lost. The connection"),
    ],
)
def test_a_replica_that_is_out_when_the_logs_end(
    cause: str | None, detail: str | None, seconds: float, kind: str, severity: str, text: str
) -> None:
    row = outage(pair(open_cause=cause, open_detail=detail, cuts=2, open_outage_s=seconds))
    assert (row["kind"], row["severity"], row["running_s"]) == (kind, severity, seconds)
    assert text in row["text"] and (row["directive"] == "masterauth") == (kind == "auth")


def test_a_loop_tells_what_was_sent_in_vain() -> None:
    row = loop(looped())
    assert (row["kind"], row["running_s"], row["cost_s"]) == ("loop", 95.0, 90.0)
    assert "about 16.0 kB sent in vain" in row["text"] and "its log says why" in row["text"]
    assert "9 times in a row, every 10.0 s, about" in row["text"]
    assert "every 44 ms" in loop(looped(every_s=0.0443))["text"]
    assert "See both ends' logs." in loop(looped(reason="killed"))["text"]


@pytest.mark.parametrize(
    ("master", "replica", "value", "text"),
    [
        ("redis", ("redis", "7.0.15"), None, "put a pyrepl between the two"),
        ("pyrepl", ("redis", "7.0.15"), "10", "what redis 7.0.15 reads: rdb-version 10"),
        ("pyrepl", (None, None), None, "set rdb-version on the master to what the replica reads"),
    ],
)
def test_a_replica_that_is_too_old(
    master: str, replica: tuple[str | None, str | None], value: str | None, text: str
) -> None:
    row = loop(looped(reason="rdb_version", kind=master, replica_kind=replica[0], replica_version=replica[1]))
    assert row["kind"] == "version_mismatch" and row.get("value") == value and text in row["text"]


@pytest.mark.parametrize(
    ("back", "still", "text"),
    [
        (None, 30.0, "and it has not come back since: it did not read at all"),
        (45.0, None, "there was no sign of life of it for 45.0 s: it did not read at all"),
        (None, None, "and it did not come back: it did not read"),
    ],
)
def test_one_that_stood_still_gets_no_larger_buffer(back: float | None, still: float | None, text: str) -> None:
    row = stalled(pair(count=2, most=3 << 20, lacked=None, back_s=back, down_s=None, open_s=still))
    assert "directive" not in row and text in row["text"] and "with up to 3.1 MB waiting" in row["text"]
