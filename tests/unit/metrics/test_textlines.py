"""Text lines of all forms: times, heads, messages; and what is none is told."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pyrepl.metrics.textlines import parse
from pyrepl.observability.events import ReplicaAsksForSync
from pyrepl.observability.log_form import ISO, JSON, LEGACY, LOGFMT, MILLISECONDS, LogForm, log_line

ASKS = "Replica 127.0.0.1:7001 asks for synchronization"
AT = "21 Nov 2026 11:09:41.858"
AT_US = 1_795_259_381_858_000


def as_json(at: str, message: str = ASKS) -> str:
    return f'{{"pid":77,"role":"primary","timestamp":"{at}","level":"notice","message":"{message}"}}'


def rows(*lines: str, zone: str = "UTC") -> list[dict[str, object]]:
    return list(parse(pa.array(lines, pa.string()), zone).events.to_pylist())


@pytest.mark.parametrize(
    ("line", "form"),
    [
        (f"77:M {AT} * {ASKS}", "text"),
        (f"77:M 2026-11-21T11:09:41.858+00:00 * {ASKS}", "text"),
        (f"77:M 2026-11-21T13:09:41.858+02:00 * {ASKS}", "text"),
        (f"77:M 2026-11-21T05:39:41.858-05:30 # {ASKS}", "text"),
        (f"77:M {AT_US // 1000} * {ASKS}", "text"),
        (f'pid=77 role=primary timestamp="{AT}" level=notice message="{ASKS}"', "logfmt"),
        (f'pid=77 role=primary timestamp="2026-11-21T12:09:41.858+01:00" level=notice message="{ASKS}"', "logfmt"),
        (f'pid=77 role=primary timestamp="{AT_US // 1000}" level=warning message="{ASKS}"', "logfmt"),
        (as_json(AT), "text_json"),
        (as_json("2026-11-21T12:09:41.858+01:00"), "text_json"),
        (as_json(str(AT_US // 1000)), "text_json"),
    ],
)
def test_each_form(line: str, form: str) -> None:
    (row,) = rows(line)
    assert (row["at_us"], row["run"], row["role"], row["form"]) == (AT_US, "77", "master", form)
    assert (row["event"], row["end"], row["peer"], row["day"]) == (
        "psync_asked",
        "master",
        "127.0.0.1:7001",
        "2026-11-21",
    )


@pytest.mark.parametrize("form", [JSON, LOGFMT, LEGACY])
@pytest.mark.parametrize("timestamp", [LEGACY, ISO, MILLISECONDS])
def test_each_form_that_a_node_writes(form: str, timestamp: str) -> None:
    event = ReplicaAsksForSync("127.0.0.1:7001")
    how = LogForm(form, timestamp)
    written = log_line(event, how, pid=77, role="M", at_ms=AT_US // 1000, utc_offset_s=0)
    (row,) = rows(written)
    assert (row["at_us"], row["event"], row["peer"]) == (AT_US, "psync_asked", "127.0.0.1:7001")


def test_what_json_escapes() -> None:
    (row,) = rows(as_json(AT, r"MASTER aborted replication with an error: say \"hi\" a\\b\tc"))
    assert row["error"] == 'say "hi" a\\b\tc'


def test_a_zone_is_taken_into_account_where_the_line_names_none() -> None:
    (row,) = rows(f"77:M {AT} * {ASKS}", zone="Europe/Berlin")
    assert row["at_us"] == AT_US - 3_600_000_000
    (row,) = rows(f"77:M 2026-11-21T11:09:41.858+00:00 * {ASKS}", zone="Europe/Berlin")
    assert row["at_us"] == AT_US


def test_numbers_and_cuts() -> None:
    (row,) = rows(
        f"1:M {AT} * Partial resynchronization request from 10.0.0.1:1 accepted. Sending 12 bytes of backlog starting "
        "from offset 101."
    )
    assert (row["missing_bytes"], row["asked_offset"], row["verdict"]) == (12, 100, "continue")
    (row,) = rows(f"9:C {AT} * Fork CoW for RDB: current 1 MB, peak 3 MB, average 2 MB")
    assert (row["private_bytes"], row["child_pid"]) == (3 << 20, 9)


def test_valkey_9_tells_how_far_the_backlog_reaches() -> None:
    (row,) = rows(
        f"1:M {AT} * Unable to partial resync with replica 10.0.0.1:1 for lack of backlog (Replica request was "
        f"{'a' * 40}:2634, and I can only reply with the range [32769, 55324])."
    )
    assert (row["peer"], row["asked_replid"], row["cause"]) == ("10.0.0.1:1", "a" * 40, "out_of_backlog")
    assert (row["asked_offset"], row["backlog_start_offset"]) == (2633, 32768)


@pytest.mark.parametrize("word", ["MASTER", "PRIMARY"])
def test_valkey_says_primary(word: str) -> None:
    (row,) = rows(f"1:S {AT} * Connecting to {word} 10.0.0.1:6379")
    assert (row["event"], row["peer"], row["role"]) == ("link_connecting", "10.0.0.1:6379", "replica")


def test_a_signal_has_whole_seconds() -> None:
    (row,) = rows("5:signal-handler (1795259381) Received SIGTERM scheduling shutdown...")
    assert (row["event"], row["at_us"]) == ("stopping", 1_795_259_381_000_000)


def test_what_means_nothing_here_is_counted_and_what_is_no_log_is_told() -> None:
    lines = [
        f"1:M {AT} * Ready to accept connections",
        "                _._",
        "",
        "*** FATAL CONFIG FILE ERROR ***",
        f"1:M {AT} * {ASKS}",
        "1:M 99 Foo 2026 11:09:41.858 * x",
    ]
    parsed = parse(pa.array(lines, pa.string()))
    assert parsed.unparsed == [3]
    assert parsed.events.num_rows == 1
    assert parsed.ignored == 4
