"""The whole analysis: canonical tables in, every result table out. The metrics' front door.

    with session() as spark:
        ingest(by_tasks(spark), ["logs/"], Path("out/tables"))
        results = analyse(spark, Path("out/tables"))
        print(summary(results))

What each column means stands in results.py; no expression is written twice, be it for a batch or for a stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from pyrepl.metrics import advice as advices
from pyrepl.metrics import manifest, rates
from pyrepl.metrics.attempts import attempts
from pyrepl.metrics.column import Table
from pyrepl.metrics.ends import ends, once, told
from pyrepl.metrics.keep import at_once, kept, literal
from pyrepl.metrics.manifest import Manifest
from pyrepl.metrics.results import CUT_CAUSES, RESULTS, SKEW, TOTALS
from pyrepl.metrics.schemas import conform, schema, stored
from pyrepl.metrics.series import series
from pyrepl.metrics.syncs import cuts, full_causes, loops, modes, retries, syncs
from pyrepl.metrics.tables import EVENTS, FILES, SAMPLES, UNPARSED

MODES = ("continue", "full_disk", "full_diskless", "rdb_channel", "dual_channel")


def canonical(spark: SparkSession, tables: Path, table: Table, known: Manifest) -> DataFrame:
    """Events or samples as read so far, each once."""
    rows = stored(spark, tables, known, table)
    if table.name in (EVENTS.name, SAMPLES.name) and known.may_hold_doubles(table.name):
        numbered = rows.where(f.col("seq").isNotNull()).dropDuplicates(["node", "run", "seq"])
        return numbered.unionByName(rows.where(f.col("seq").isNull()))
    return rows


def analyse(
    spark: SparkSession, tables: Path, since_us: int | None = None, until_us: int | None = None
) -> dict[str, DataFrame]:
    """Every table of results.RESULTS, and files and unparsed, by name.

    `since_us` and `until_us` bound the begin of what is told (Unix us, the first inclusive, the last not). Raises
    ConfigError when `tables` holds what this version did not write.
    """
    known = manifest.load(tables)
    all_events = canonical(spark, tables, EVENTS, known)
    events = _told(_within(all_events, since_us, until_us), known)
    samples = _within(canonical(spark, tables, SAMPLES, known), since_us, until_us)
    # What is made of the large tables, each in one pass, and small afterwards.
    nodes, lags, rates_told, drawn, halves = at_once(
        lambda: kept(rates.nodes(events, samples)),
        lambda: kept(rates.lags(samples)),
        lambda: kept(rates.sampled_rates(samples)),
        lambda: kept(series(samples, all_events)),
        lambda: ends(events),
    )
    tried, clocks = attempts(spark, halves, nodes)
    tried = tried.localCheckpoint()
    done, links = at_once(lambda: syncs(tried).localCheckpoint(), lambda: cuts(tried).localCheckpoint())
    sizes, looped, stormy = at_once(
        lambda: advices.what_if(done).localCheckpoint(),
        lambda: loops(done).localCheckpoint(),
        lambda: advices.storms(done, tried).localCheckpoint(),
    )
    found = {
        "syncs": done,
        "modes": modes(done),
        "full_causes": full_causes(done),
        "loops": looped,
        "retries": retries(tried),
        "cuts": links,
        "cut_causes": conform(links.groupBy("cause").agg(f.count("*").alias("count")), CUT_CAUSES).orderBy("cause"),
        "availability": rates.availability(tried, nodes, lags),
        "write_rate": rates.write_rate(rates_told, nodes, tried),
        "forks": rates.forks(events),
        "series": drawn,
        "skew": literal(spark, [astuple(clock) for clock in clocks], schema(SKEW)),
        "nodes": rates.shown_nodes(nodes),
        "backlog_what_if": sizes,
        "storms": stormy,
        "advice": advices.advice(done, sizes, links, looped, stormy, nodes),
        FILES.name: literal(
            spark, [tuple(row[name] for name in FILES.names) for row in known.file_rows()], schema(FILES)
        ),
        UNPARSED.name: stored(spark, tables, known, UNPARSED),
    }  # fmt: skip
    found["totals"] = _totals(done, tried, found)
    return {**{table.name: found[table.name] for table in RESULTS}, **found}


def _told(events: DataFrame, known: Manifest) -> DataFrame:
    """The events, those of text logs told; event logs alone need not be looked through for any."""
    if not known.holds_text():
        return events
    return told(once(events))


def _within(rows: DataFrame, since_us: int | None, until_us: int | None) -> DataFrame:
    if since_us is not None:
        rows = rows.where(f.col("at_us") >= since_us)
    if until_us is not None:
        rows = rows.where(f.col("at_us") < until_us)
    return rows


def _totals(done: DataFrame, tried: DataFrame, found: Mapping[str, DataFrame]) -> DataFrame:
    full = f.col("mode").isNull() | (f.col("mode") != "continue")
    counted = done.agg(
        f.count("*").alias("syncs"),
        f.count(f.when(full & f.col("ok"), 1)).alias("full_ok"),
        f.count(f.when(full & ~f.col("ok"), 1)).alias("full_failed"),
        f.count(f.when(full & f.col("ok").isNull(), 1)).alias("full_open"),
        f.count(f.when(~full, 1)).alias("partial_ok"),
        f.count(f.when(full & f.col("asked_with_id"), 1)).alias("partial_refused"),
    )
    ratio = f.col("partial_ok") / f.nullif(f.col("partial_ok") + f.col("partial_refused"), f.lit(0))
    failures = tried.where(f.col("verdict").isNull() & f.col("failure").isNotNull())
    rows = (
        counted.withColumn("partial_ratio", ratio)
        .crossJoin(failures.agg(f.count("*").alias("connect_failures")))
        .crossJoin(found[UNPARSED.name].agg(f.count("*").alias("unparsed_lines")))
        .crossJoin(found["nodes"].agg(f.count("*").alias("nodes")))
    )
    return conform(rows, TOTALS)


def summary(results: Mapping[str, DataFrame]) -> dict[str, Any]:
    """The counts of the whole as one object: what `--format json` has at its top level."""
    totals = results["totals"].collect()[0].asDict()
    nodes = [row.asDict() for row in results["nodes"].collect()]
    causes = {row["cause"]: row["count"] for row in results["full_causes"].collect()}
    counted = {row["mode"]: row["count"] for row in results["modes"].collect()}
    looped = [row.asDict() for row in results["loops"].collect()]
    return {
        **{name: totals[name] for name in ("syncs", "full_ok", "full_failed", "partial_ok", "partial_refused")},
        "modes": {mode: counted.get(mode, 0) for mode in MODES},
        "full_causes": causes,
        "loops": looped,
        "cuts": {row["cause"]: row["count"] for row in results["cut_causes"].collect()},
        "unparsed_lines": totals["unparsed_lines"],
        "nodes": nodes,
        **{name: totals[name] for name in ("full_open", "partial_ratio", "connect_failures")},
    }
