"""The phases of a sync follow one another, and add up to no more than the sync took."""

from __future__ import annotations

from typing import Any, Final

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrepl.metrics.phases import PHASES, with_phases
from tests.unit.metrics.conftest import Analysed

TIMES: Final = (
    "at_us", "end_us", "m.decided_us", "r.decided_us", "r.asked_us", "m.bgsave_us", "m.delivery_us", "r.delivery_us",
    "r.delivered_us", "r.load_us", "r.loaded_us", "m.delivered_us", "m.online_us", "r.online_us", "r.caught_up_us",
    "r.catch_up_us",
)  # fmt: skip
SHAPE: Final = {
    "sync": pl.String,
    "verdict": pl.String,
    "ok": pl.Boolean,
    "r.load_ms": pl.Int64,
    **dict.fromkeys(TIMES, pl.Int64),
}


def phases(**told: Any) -> dict[str, Any]:
    """Of one attempt; times in ms."""
    times = {name: value * 1000 if name.endswith("_us") else value for name, value in told.items()}
    row = {"sync": "s", "verdict": "full", "ok": True} | times
    return with_phases(pl.DataFrame([row], schema=SHAPE)).row(0, named=True)


def shown(row: dict[str, Any]) -> list[float | None]:
    return [row[name] for name in PHASES]


def both_ends(**more: Any) -> dict[str, Any]:
    told = {"at_us": 100, "r.asked_us": 101, "m.decided_us": 102, "m.bgsave_us": 110, "r.decided_us": 111,
            "r.delivery_us": 112, "r.load_us": 140, "r.loaded_us": 170, "m.online_us": 172, "r.online_us": 175,
            "end_us": 175}  # fmt: skip
    return {name.replace("__", "."): value for name, value in (told | more).items()}


def test_a_sync_told_by_both_ends() -> None:
    row = phases(**both_ends())
    assert shown(row) == [2, 8, 30, 30, 5]
    assert (row["total_ms"], row["loading_ms"]) == (75, 30)


def test_what_is_parsed_on_the_fly_is_transfer() -> None:
    """Loading goes on all the time; what it takes beyond the last byte is its phase."""
    row = phases(**both_ends(**{"r.load_us": 113}))
    assert shown(row) == [2, 8, 60, 0, 5]
    row = phases(**both_ends(**{"r.load_us": 112, "r.delivered_us": 160, "r.load_ms": 58}))
    assert (shown(row), row["loading_ms"]) == ([2, 8, 50, 10, 5], 58)


def test_a_delivery_that_was_told_as_ended_long_after_the_sync() -> None:
    row = phases(**both_ends(**{"m.delivered_us": 9_000_000}))
    assert shown(row) == [2, 8, 30, 30, 5]
    by_master = {name: value for name, value in both_ends().items() if not name.startswith("r.")}
    row = phases(**by_master, **{"m.delivered_us": 9_000_000})
    assert shown(row) == [2, 8, 65, None, None]


def test_a_replica_alone_knows_when_it_asked() -> None:
    """A diskless master answers when it forks, seconds later."""
    row = phases(**{name: value for name, value in both_ends().items() if not name.startswith("m.")})
    assert shown(row) == [1, 11, 28, 30, 5]


def test_the_last_phase_of_a_failed_sync_ends_with_it() -> None:
    names = ("r.online_us", "m.online_us", "r.loaded_us")
    failed = {name: value for name, value in both_ends().items() if name not in names} | {"ok": False, "end_us": 150}
    assert shown(phases(**failed)) == [2, 8, 30, 10, None]
    del failed["r.load_us"]
    assert shown(phases(**failed)) == [2, 8, 40, None, None]


def test_a_sync_that_goes_on_has_the_phases_that_are_over() -> None:
    told = {name: value for name, value in both_ends().items() if name in ("at_us", "m.decided_us", "m.bgsave_us")}
    row = phases(**told, ok=None)
    assert (shown(row), row["total_ms"]) == ([2, 8, None, None, None], None)


@settings(deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "verdict": st.sampled_from(["full", "continue"]),
                "ok": st.sampled_from([True, False, None]),
                **{name: st.none() | st.integers(0, 5000) for name in TIMES},
            }
        ),
        min_size=1,
        max_size=20,
    )
)
def test_phases_add_up_to_no_more_than_the_sync_took(rows: list[dict[str, Any]]) -> None:
    """However the times that were logged stand to one another."""
    for row in rows:
        row["at_us"] = row["at_us"] or 0
        row["end_us"] = None if row["end_us"] is None else row["at_us"] + row["end_us"]
    for row in with_phases(pl.DataFrame(rows, schema=SHAPE)).iter_rows(named=True):
        spent = [row[name] for name in PHASES if row[name] is not None]
        assert all(value >= 0 for value in spent)
        assert row["total_ms"] is None or sum(spent) <= row["total_ms"] + 0.001


@pytest.mark.parametrize("corpus", ["text", "events"])
def test_real_syncs_add_up_too(corpora: dict[str, Analysed], corpus: str) -> None:
    rows = [row for row in corpora[corpus].tables["syncs"] if row["total_ms"] is not None]
    assert rows
    for row in rows:
        assert sum(row[name] or 0 for name in PHASES) <= row["total_ms"] + 0.001, row


def test_a_master_that_tells_the_end_of_the_delivery_with_that_of_the_link(corpora: dict[str, Analysed]) -> None:
    """These two masters logged `delivery_ended ok:false` 1.2 and 1.3 s after their syncs had ended well."""
    for scenario in ("pyrepl-to-redis8", "pyrepl-to-valkey8"):
        rows = [row for row in corpora["events"].rows("syncs", scenario) if row["mode"] != "continue"]
        assert rows and all(row["transfer_ms"] < 500 for row in rows)
