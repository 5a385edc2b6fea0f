"""The analysis of `pyrepl metrics` as plain SQL over events and samples, for bench.metrics to ask DuckDB.

It asks what costs: one row per sync and end with all that its events tell, both ends joined, causes and failures by
what came before in the pair, the counts of them, cuts, loops, storms and backlog sizes, forks, nodes, exact percentiles
of lag, write rates between samples in order of time, and the thinned series. It leaves out what only text logs need
(telling, clocks, stitching) and the words of the advice, which cost little here. DuckDB reads all events and samples;
`pyrepl metrics` itself answers from what its parts came to when they were read (rollup.py).
"""

from __future__ import annotations

from typing import Final

AT_US: Final = {
    "begin_us": "'link_connecting', 'psync_asked', 'psync_decided'", "asked_us": "'psync_asked'",
    "decided_us": "'psync_decided'", "bgsave_us": "'bgsave_for_sync', 'bgsave_shared'",
    "delivery_us": "'delivery_started'", "load_us": "'load_started'", "catch_up_us": "'catch_up_started'",
}  # fmt: skip
LAST_US: Final = {
    "delivered_us": "'delivery_ended'", "loaded_us": "'load_ended'", "caught_up_us": "'catch_up_ended'",
    "online_us": "'online'",
}  # fmt: skip
MOST: Final = (
    "form", "peer", "replica", "asked_replid", "asked_offset", "snapshot_offset", "replid", "missing_bytes", "by_bytes",
    "dialect", "mode", "target", "snapshot", "wait_ms", "delivery_ms", "load_ms", "catch_up_ms", "keys", "version",
)  # fmt: skip
_ENDS: Final = ", ".join(
    [
        *(f"min(at_us) FILTER (event IN ({kinds})) AS {name}" for name, kinds in AT_US.items()),
        *(f"max(at_us) FILTER (event IN ({kinds})) AS {name}" for name, kinds in LAST_US.items()),
        *(f"max({name}) AS {name}" for name in MOST),
        "max(CASE WHEN verdict = 'continue' THEN verdict ELSE 'full' END) FILTER (event = 'psync_decided') AS verdict",
        "min(cause) FILTER (event = 'psync_decided') AS cause",
        "max(greatest(total_bytes, delivered_bytes)) AS bytes",
        "max(peak_bytes) FILTER (buffer = 'output') AS output_peak",
        "max(peak_bytes) FILTER (buffer = 'sync') AS sync_peak",
        "min({'at_us': at_us, 'cause': cause, 'detail': coalesce(error, detail), 'phase': phase}) "
        "FILTER (event IN ('link_down', 'replica_down')) AS lost",
    ]
)
_PERCENTILES: Final = "[0.5, 0.9, 0.99]"

TABLES: Final = (
    f"""CREATE TEMP TABLE ends AS SELECT sync, node, side, {_ENDS} FROM (SELECT *, coalesce("end", CASE
        WHEN event = 'replica_down' THEN 'master' ELSE 'replica' END) AS side FROM events WHERE sync IS NOT NULL)
        GROUP BY sync, node, side""",
    """CREATE TEMP TABLE tried AS SELECT coalesce(m.sync, r.sync) AS sync, coalesce(m.node, r.peer) AS node,
        coalesce(r.node, m.peer) AS replica, coalesce(r.begin_us, m.begin_us) AS at_us,
        coalesce(m.verdict, r.verdict) AS verdict, coalesce(r.mode, m.mode) AS mode,
        coalesce(m.online_us, r.online_us) AS online_us, least(m.lost.at_us, r.lost.at_us) AS lost_us,
        coalesce(m.lost.cause, r.lost.cause) AS lost_cause, coalesce(m.online_us, r.online_us) IS NOT NULL AS ok,
        coalesce(m.cause, r.cause) AS told, greatest(m.bytes, r.bytes) AS bytes, m.snapshot_offset, m.asked_offset,
        m.snapshot, m.wait_ms, m.delivery_ms, r.load_ms, m.catch_up_ms, m.output_peak, r.sync_peak,
        m.peer AS label, m.node AS master
        FROM (FROM ends WHERE side = 'master') m FULL JOIN (FROM ends WHERE side = 'replica') r ON m.sync = r.sync""",
    """CREATE TEMP TABLE syncs AS SELECT *, coalesce(told, CASE WHEN lag(verdict) OVER pair IS NULL THEN 'first'
        WHEN NOT lag(ok) OVER pair THEN lag(lost_cause) OVER pair ELSE 'forced' END) AS cause,
        coalesce(mode, last_value(mode IGNORE NULLS) OVER master) AS known_mode,
        CASE WHEN ok THEN online_us ELSE lost_us END AS end_us, snapshot_offset - asked_offset AS behind_bytes
        FROM tried WHERE verdict IS NOT NULL
        WINDOW pair AS (PARTITION BY node, replica ORDER BY at_us, sync), master AS (PARTITION BY node
        ORDER BY at_us, sync ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)""",
    """CREATE TEMP TABLE cuts AS SELECT * FROM (SELECT *, min(online_us) OVER (PARTITION BY node, replica
        ORDER BY at_us DESC, sync DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS next_ok FROM tried)
        WHERE lost_us IS NOT NULL""",
)
"""What the questions share."""

QUESTIONS: Final = (
    "SELECT mode, count(*), count(*) FILTER (ok) FROM syncs GROUP BY mode",
    """SELECT cause, count(*), sum(bytes), median(behind_bytes), max(behind_bytes) FROM syncs GROUP BY cause""",
    "SELECT cause, count(*) FROM (SELECT lost_cause AS cause FROM cuts) GROUP BY cause",
    """SELECT node, replica, reason, island, count(*), min(at_us), max(end_us) FROM (SELECT *, sum(changed) OVER
        (PARTITION BY node, replica ORDER BY at_us, sync) AS island FROM (SELECT *, CASE WHEN lag(reason) OVER
        (PARTITION BY node, replica ORDER BY at_us, sync) = reason THEN 0 ELSE 1 END AS changed FROM (SELECT *,
        CASE WHEN ok THEN '' ELSE lost_cause END AS reason FROM syncs))) WHERE reason <> ''
        GROUP BY node, replica, reason, island HAVING count(*) >= 3""",
    """SELECT node, island, min(at_us), max(end_us), count(DISTINCT replica), count(DISTINCT snapshot) FROM (SELECT *,
        sum(fresh) OVER (PARTITION BY node ORDER BY at_us, sync) AS island FROM (SELECT *, CASE WHEN at_us <=
        max(end_us) OVER (PARTITION BY node ORDER BY at_us, sync ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
        THEN 0 ELSE 1 END AS fresh FROM syncs WHERE mode <> 'continue')) GROUP BY node, island
        HAVING count(DISTINCT replica) > 1""",
    """SELECT DISTINCT node, behind_bytes, count(*) OVER (PARTITION BY node ORDER BY behind_bytes) FROM syncs
        WHERE cause = 'out_of_backlog'""",
    """SELECT node, replica, min(at_us), max(lost_us), sum(lost_us - online_us) FILTER (ok), max(outage) FROM (SELECT *,
        lead(online_us) OVER (PARTITION BY node, replica ORDER BY online_us) - lost_us AS outage FROM tried)
        GROUP BY node, replica""",
    """SELECT node, run, snapshot, min(at_us), max(snapshot_ms), max(written_bytes) FROM events WHERE event IN
        ('snapshot_started', 'snapshot_ended', 'child_memory') GROUP BY node, run, snapshot""",
    """SELECT node, max(port), count(DISTINCT run), min(at_us), max(at_us), count(*), list(DISTINCT replid),
        arg_max(backlog_size_bytes, at_us) FROM events GROUP BY node""",
    "SELECT node, min(at_us), max(at_us), count(*), arg_max(backlog_size_bytes, at_us) FROM samples GROUP BY node",
    f"""SELECT node, peer, count(*), quantile_cont(lag_bytes, {_PERCENTILES}), quantile_cont(lag_s, {_PERCENTILES}),
        max(lag_bytes), max(lag_s), max(output_bytes) FROM samples WHERE event = 'replica_sample'
        GROUP BY node, peer""",
    """SELECT node, sum(grown) FILTER (good), sum(span_s) FILTER (good), quantile_cont(rate, [0.5, 0.99]), max(rate),
        quantile_cont(writes_per_s, [0.5, 0.99]) FROM (SELECT *, span_s > 0 AND grown >= 0 AS good, CASE WHEN
        span_s > 0 AND grown >= 0 THEN grown / span_s END AS rate FROM (SELECT node, writes_per_s,
        (at_us - lag(at_us) OVER run) / 1e6 AS span_s, "offset" - lag("offset") OVER run AS grown FROM samples
        WHERE event = 'sample' WINDOW run AS (PARTITION BY node, replid ORDER BY at_us, "offset"))) GROUP BY node""",
    """SELECT node, peer, (at_us - (SELECT min(at_us) FROM samples)) // (SELECT greatest(1, (max(at_us) - min(at_us)) //
        240) FROM samples) AS span, max(lag_bytes), max(lag_s), max(output_bytes), max(sync_buffer_bytes),
        max(writes_per_s), max(stream_bytes_per_s) FROM samples GROUP BY node, peer, span""",
)
"""Each is fetched whole. The rows of the tables syncs and cuts themselves stay where they are, as in Spark."""
