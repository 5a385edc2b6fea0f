"""Numbers and codes as people read them."""

from __future__ import annotations

import pytest

from pyrepl.metrics.kinds import CAUSES
from pyrepl.metrics.report import words


@pytest.mark.parametrize(
    ("count", "shown"),
    [(None, "–"), (0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2.5e9, "2.5 GB"), (4e15, "4,000 TB")],
)
def test_sizes_are_decimal(count: float | None, shown: str) -> None:
    assert words.size(count) == shown


@pytest.mark.parametrize(
    ("told", "estimate", "known", "shown"),
    [
        (9e6, 9e6, 9, "9 MB"),
        (4e6, 9e6, 4, "4 MB (4 of 9), about 9 MB in all"),
        (4e6, None, 4, "4 MB (4 of 9)"),
        (None, 9e6, 0, "about 9 MB in all"),
        (None, None, 0, "–"),
    ],
)
def test_bytes_of_which_some_are_known(told: float | None, estimate: float | None, known: int, shown: str) -> None:
    assert words.moved(told, estimate, known, 9) == shown


@pytest.mark.parametrize(("count", "shown"), [(None, "–"), (1 << 20, "1mb"), (3 << 29, "1.5gb"), (12, "12")])
def test_memory_as_configuration_files_write_it(count: float | None, shown: str) -> None:
    assert words.memory(count) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, "–"),
        (0, "0 ms"),
        (0.0004, "0.4 ms"),
        (0.25, "250 ms"),
        (4.24, "4.2 s"),
        (59, "59 s"),
        (60, "1 min"),
        (61, "1 min 1 s"),
        (3660, "1 h 1 min"),
        (90_000, "1 d 1 h"),
    ],
)
def test_spans(seconds: float | None, shown: str) -> None:
    assert words.span(seconds) == shown
    assert words.span_ms(None if seconds is None else seconds * 1000) == shown


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        (None, "–"),
        (1.0, "100 %"),
        (0.0, "0 %"),
        (0.76, "76 %"),
        (0.9987, "99.9 %"),
        (0.99996, "99.996 %"),
        (0.9999999, "< 100 %"),
        (0.0000001, "> 0 %"),
    ],
)
def test_a_share_never_claims_all_when_some_is_missing(part: float | None, shown: str) -> None:
    assert words.share(part) == shown


def test_times_are_utc() -> None:
    assert words.time(1795258584123456) == "2026-11-21 10:56:24"
    assert words.time(1795258584123456, seconds=False) == "2026-11-21 10:56"
    assert words.time(None) == words.NOT_TOLD
    assert words.rate(1500) == "1.5 kB/s" and words.rate(None) == words.NOT_TOLD
    assert words.count(12345) == "12,345" and words.count(None) == words.NOT_TOLD


def test_every_cause_has_words_and_a_new_one_is_shown_as_it_is() -> None:
    assert [code for code in CAUSES if code not in words.CAUSES] == []
    assert words.cause("solar_flare") == "solar flare" and words.cause("") == words.NOT_TOLD
    assert words.mode("continue") == "partial" and words.mode("by_mail") == "by_mail"


def test_several() -> None:
    assert [words.several(number, "sync") for number in (0, 1, 1200)] == ["0 syncs", "1 sync", "1,200 syncs"]
