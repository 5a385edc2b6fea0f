"""Where the time of a sync went: phases that follow one another, none of them outside the sync.

    handshake   begin            to the verdict
    wait        the verdict      to the snapshot's start
    transfer    its start        to its last byte
    load        the last byte    to the end of loading
    catch_up    the end of it    to the end of the stream that was held meanwhile

Each bound is the time at which one of the ends logged it, on one clock (attempts.py). A phase begins no earlier than
the one before it ended, and ends no later than the sync: so the phases add up to no more than the sync took, whatever
was logged late, or in disorder by a clock's jitter. A phase whose bounds no log tells is null. A failed sync's last
phase ends with it.
"""

from __future__ import annotations

from typing import Final

import polars as pl

PHASES: Final = ("handshake_ms", "wait_bgsave_ms", "transfer_ms", "load_ms", "catch_up_ms")
"""In the order in which they come."""
_SLACK_MS: Final = 0.001
"""What floats may be off by when they are added up."""
_ON_THE_FLY_US: Final = 2000
"""A load that begins so soon after the first byte parses the bytes as they come. Inclusive."""


def with_phases(attempts: pl.DataFrame) -> pl.DataFrame:
    """The attempts with the columns PHASES, `loading_ms` and `total_ms`, in ms. `end_us` is there already."""
    bounds = _bounds()
    rows = attempts.with_columns(
        *(bound.alias(f"{name}.{place}") for name in PHASES for place, bound in zip(("from", "to"), bounds[name])),
        _ms(pl.col("at_us"), pl.col("end_us")).alias("total_ms"),
        pl.coalesce(pl.col("r.load_ms").cast(pl.Float64), _ms(pl.col("r.load_us"), _loaded())).alias("loading_ms"),
        pl.col("at_us").alias("reached"),
    )
    for name in PHASES:
        begin = pl.max_horizontal(f"{name}.from", "reached")
        # Of bounds of which one is null Polars takes the other: a sync that goes on has no end.
        end = pl.min_horizontal(f"{name}.to", "end_us")
        known = pl.col(f"{name}.from").is_not_null() & (pl.col(f"{name}.to") >= pl.col(f"{name}.from"))
        spent = (pl.max_horizontal(begin, end) - begin) / 1000.0
        rows = rows.with_columns(
            pl.when(known).then(spent).alias(name),
            pl.when(known).then(pl.max_horizontal(begin, end)).otherwise("reached").alias("reached"),
        )
    too_long = rows.filter(pl.sum_horizontal(PHASES) > pl.col("total_ms") + _SLACK_MS)
    assert too_long.is_empty(), f"the phases of {too_long['sync'][0]} add up to more than the sync took"
    return rows


def _bounds() -> dict[str, tuple[pl.Expr, pl.Expr]]:
    """Begin and end of each phase as the ends tell it, Unix us."""
    c = pl.col
    full, failed = c("verdict") == "full", c("ok") == pl.lit(False)
    # A master that waits before it forks answers no sooner: of its silence the replica alone knows when it asked.
    verdict = pl.coalesce("m.decided_us", pl.when(full).then("r.asked_us"), "r.decided_us")
    began = pl.coalesce("m.bgsave_us", "m.delivery_us", "r.delivery_us")
    on_the_fly = c("r.delivery_us").is_not_null() & (c("r.load_us") <= c("r.delivery_us") + _ON_THE_FLY_US)
    last_byte = pl.coalesce(
        "r.delivered_us",
        pl.when(on_the_fly).then("r.loaded_us").otherwise("r.load_us"),
        "m.delivered_us",
        "m.online_us",
        pl.when(failed).then("end_us"),
    )
    loaded = pl.coalesce("r.catch_up_us", "r.loaded_us", "r.delivered_us")
    done = pl.when(full & c("ok")).then(loaded)
    return {
        "handshake_ms": (c("at_us"), verdict),
        "wait_bgsave_ms": (pl.when(full).then(verdict), began),
        "transfer_ms": (pl.when(full).then(began), last_byte),
        "load_ms": (pl.when(full).then("r.load_us"), _loaded()),
        "catch_up_ms": (done, pl.max_horizontal("r.caught_up_us", "r.online_us")),
    }


def _loaded() -> pl.Expr:
    """The end of loading, by success or failure."""
    failed = pl.when(pl.col("ok") == pl.lit(False)).then("end_us")
    return pl.coalesce("r.loaded_us", failed)


def _ms(begin: pl.Expr, end: pl.Expr) -> pl.Expr:
    """Milliseconds from one time to another, null when it would be negative or either is not known."""
    return pl.when(end >= begin).then((end - begin) / 1000.0)
