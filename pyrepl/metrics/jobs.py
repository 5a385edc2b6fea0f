"""The whole analysis: what has been read goes in, every result table comes out. The metrics' front door.

    with session() as spark:
        ingest(reading.by_tasks(spark), ["logs/"], Path("out/tables"))
        results = analyse(asking.by_tasks(spark), Path("out/tables"))
        print(summary(results))

Spark's tasks answer for the nodes, those together that belong together (asking.py, shares.py, groups.py, answers.py),
from the rollups of their parts (parts.py), and write the answers down (keep.py); here they become one. What each column
means stands in results.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from pyrepl.metrics import manifest
from pyrepl.metrics.advice import advice
from pyrepl.metrics.answers import Answering, answers
from pyrepl.metrics.base import Frames
from pyrepl.metrics.gather import gather
from pyrepl.metrics.groups import groups
from pyrepl.metrics.keep import sweep
from pyrepl.metrics.manifest import Manifest
from pyrepl.metrics.parts import Bounds, Piece, Sources, pieces, sources, told_elsewhere
from pyrepl.metrics.places import forget, of_answer, place
from pyrepl.metrics.results import ADVICE, COSTS, RESULTS, TOTALS
from pyrepl.metrics.samples import SPANS
from pyrepl.metrics.schemas import conform, literal, schema
from pyrepl.metrics.series import series
from pyrepl.metrics.shares import shares, weight
from pyrepl.metrics.syncs import cut_causes, full_causes, modes
from pyrepl.metrics.tables import FILES, UNPARSED
from pyrepl.metrics.what_if_sql import READS, STATEMENTS

MODES: Final = ("continue", "full_disk", "full_diskless", "rdb_channel", "dual_channel")
ORDER: Final[Mapping[str, tuple[tuple[str, ...], tuple[bool, ...]]]] = {
    "syncs": (("at_us", "sync"), (False, False)),
    "cuts": (("at_us", "node", "replica"), (False, False, False)),
    "loops": (("count", "node", "replica"), (True, False, False)),
    "retries": (("count", "node", "replica", "reason"), (True, False, False, False)),
    "availability": (("availability", "node", "replica"), (False, False, False)),
    "write_rate": (("node",), (False,)),
    "forks": (("at_us", "node"), (False, False)),
    "skew": (("node",), (False,)),
    "nodes": (("node",), (False,)),
    "backlog_what_if": (("node", "backlog_size"), (False, False)),
    "storms": (("node", "at_us"), (False, False)),
}
"""By what the rows of a table are sorted, and which of it downwards."""

_BY_SQL: Final = {table.name: table for table in RESULTS if table.name in STATEMENTS}

Results = dict[str, pl.LazyFrame]


def analyse(
    answering: Answering,
    tables: Path,
    since_us: int | None = None,
    until_us: int | None = None,
    spans: int = SPANS,
) -> Results:
    """Every table of results.RESULTS, the series, files and unparsed, by name.

    `since_us` and `until_us` bound the begin of what is told (Unix us, the first inclusive, the last not); the series
    has at most `spans` points a line. Raises ConfigError when `tables` holds what this version did not write.
    """
    known = manifest.load(tables)
    whole = _answered(answering, tables, wanted(tables, known, (since_us, until_us)))
    found = {name: whole[name].sort(by, descending=down) for name, (by, down) in ORDER.items()}
    found |= _by_sql(found)
    sizes = dict(whole["sizes"].iter_rows())
    first, last = whole["counts"]["first_us"].min(), whole["counts"]["last_us"].max()
    found |= {
        "modes": modes(found["syncs"]),
        "full_causes": full_causes(found["syncs"]),
        "cut_causes": cut_causes(found["cuts"]),
        "advice": literal(ADVICE, [[row.get(name) for name in ADVICE.names] for row in advice(gather(found, sizes))]),
        "series": series(whole["drawn"], first or 0, last or 0, spans),  # type: ignore[arg-type]
        FILES.name: literal(FILES, [tuple(row[name] for name in FILES.names) for row in known.file_rows()]),
    }
    unparsed = [tables / part for part in known.parts(UNPARSED.name)]
    told = {name: int(whole["counts"][name].sum()) for name in ("connect_failures", "dumps")}
    files = known.file_rows()
    told |= {f"{name}_lines": sum(row[name] for row in files) for name in ("unparsed", "unknown")}
    found["totals"] = _totals(found, told)
    return {
        **{table.name: found[table.name].lazy() for table in RESULTS},
        **{name: rows.lazy() for name, rows in found.items()},
        UNPARSED.name: _stored(unparsed),
    }


def wanted(tables: Path, known: Manifest, bounds: Bounds) -> list[Sources]:
    """What is to be answered for: the sources of each share of the nodes."""
    every = pieces(known)
    elsewhere = told_elsewhere(every)
    of_node: defaultdict[str, list[Piece]] = defaultdict(list)
    for piece in every:
        of_node[piece.node].append(piece)
    return [
        sources([piece for group in share for node in group for piece in of_node[node]], bounds, elsewhere, share)
        for share in shares(groups(tables, every), {node: weight(own) for node, own in of_node.items()})
    ]


def _answered(answering: Answering, tables: Path, asked: Sequence[Sources]) -> Frames:
    """The tables over all shares. Answers of a run before that turn out to be damaged are made anew."""
    # Of no nodes at all there are answers too, empty ones; they have the shape of all.
    shape, _ = answers(tables, sources([], (None, None), frozenset()))
    if not asked:
        return shape
    folder = place(tables, asked[0].bounds)
    answered = answering(asked, tables)
    try:
        found = _whole(folder, answered, shape)
    except (OSError, pl.exceptions.PolarsError):
        forget(tables)
        found = _whole(folder, answering(asked, tables), shape)
    sweep(tables, asked, answered)
    return found


def _whole(folder: Path, answered: Sequence[str], shape: Iterable[str]) -> Frames:
    kept = {name: [of_answer(folder, named, name) for named in answered] for name in shape}
    return {name: pl.read_parquet(paths, glob=False, hive_partitioning=False) for name, paths in kept.items()}


def _by_sql(found: Frames) -> Frames:
    """The tables that are SQL over others."""
    context = pl.SQLContext({name: found[name] for name in READS}, eager=True)
    made = {
        name: pl.concat([conform(context.execute(statement), _BY_SQL[name]) for statement in statements])
        for name, statements in STATEMENTS.items()
    }
    costs = made.pop(COSTS.name).sort("out_s", "node", descending=[True, False])
    return {COSTS.name: costs} | {name: rows.sort(rows.columns[:2]) for name, rows in made.items()}


def _stored(unparsed: list[Path]) -> pl.LazyFrame:
    """As read so far; empty when there is none."""
    if not unparsed:
        return pl.LazyFrame(schema=schema(UNPARSED))
    return pl.scan_parquet(unparsed, hive_partitioning=False, glob=False).select(UNPARSED.names)


def _totals(found: Frames, told: Mapping[str, int]) -> pl.DataFrame:
    full = (pl.col("mode") != "continue").fill_null(True)
    counts = found["syncs"].select(
        pl.len().alias("syncs"),
        (full & pl.col("ok")).sum().alias("full_ok"),
        (full & ~pl.col("ok")).sum().alias("full_failed"),
        (full & pl.col("ok").is_null()).sum().alias("full_open"),
        (~full).sum().alias("partial_ok"),
        (full & pl.col("asked_with_id")).sum().alias("partial_refused"),
    ).row(0, named=True)  # fmt: skip
    asked = counts["partial_ok"] + counts["partial_refused"]
    counts |= {
        **told,
        "partial_ratio": counts["partial_ok"] / asked if asked else None,
        "nodes": len(found["nodes"]),
    }
    return literal(TOTALS, [tuple(counts[name] for name in TOTALS.names)])


def summary(results: Mapping[str, pl.LazyFrame]) -> dict[str, Any]:
    """The counts of the whole as one object: what `--format json` has at its top level."""
    rows = {
        name: results[name].collect().to_dicts()
        for name in ("totals", "nodes", "full_causes", "modes", "loops", "cut_causes")
    }
    totals = rows["totals"][0]
    counted = {row["mode"]: row["count"] for row in rows["modes"]}
    return {
        **{name: totals[name] for name in ("syncs", "full_ok", "full_failed", "partial_ok", "partial_refused")},
        "modes": {mode: counted.get(mode, 0) for mode in MODES},
        "full_causes": {row["cause"]: row["count"] for row in rows["full_causes"]},
        "loops": rows["loops"],
        "cuts": {row["cause"]: row["count"] for row in rows["cut_causes"]},
        **{name: totals[name] for name in ("unparsed_lines", "unknown_lines")},
        "nodes": rows["nodes"],
        **{name: totals[name] for name in ("full_open", "partial_ratio", "connect_failures", "dumps")},
    }
