"""Every result table with unit and exact rule of each column: the one place where the metrics are defined.

Made from the canonical tables (tables.py) by jobs.py. Times are of the master's clock where both ends were logged, else
of the end that was. A null means: the logs do not tell. Ratios are between 0 and 1. Percentiles are exact ones of the
samples, linearly interpolated.
"""

from __future__ import annotations

from typing import Final

from pyrepl.metrics.column import Table, count, flag, moment, number, text

SYNCS: Final = Table(
    "syncs",
    "one row per attempt that reached a verdict (continue, or a full resync was announced), both ends joined",
    (
        text("sync", "its id: the event log's, else one made of pair and begin"),
        text("day", "the UTC day of at_us"),
        text("node", "the master's node, or its address when no log of it was read"),
        text("replica", "the replica's node, or its address when no log of it was read"),
        text("ends", "whose logs told: both, master, replica"),
        moment("at_us", "begin: when the replica connected, where logged, else its request at the master"),
        moment(
            "end_us",
            "online at the master or the stream caught up at the replica, whichever is later; or failure",
        ),
        text("mode", "continue, full_disk, full_diskless, rdb_channel (Redis), dual_channel (Valkey)"),
        flag("ok", "true online, false failed, null still running or the log ends"),
        text("cause", "of a full resync: first, no_backlog, out_of_backlog, id_mismatch, forced, ... (CAUSES)"),
        text("failure", "why it failed (CAUSES); null when it did not"),
        text("failure_detail", "the same in the log's own words"),
        flag("asked_with_id", "the replica asked to be continued (PSYNC with an id, not ?)"),
        count("asked_offset", "bytes", "the offset up to which the replica held the stream"),
        count("offset", "bytes", "the offset at which the snapshot ends, or from which the replica was continued"),
        count("gap_bytes", "bytes", "by how many bytes the request missed the backlog; null when no log tells"),
        count(
            "behind_bytes",
            "bytes",
            "how much of the stream the replica lacked: a backlog of that size would have been enough",
        ),
        number(
            "handshake_ms", "ms", "from at_us to the verdict; where only the replica's log is there, to the request"
        ),
        number(
            "wait_bgsave_ms",
            "ms",
            "from the end of handshake_ms to the start of the snapshot that served it; where only the"
            " replica's log is there, to the first byte",
        ),
        number("transfer_ms", "ms", "from the end of wait_bgsave_ms to the last byte, or to the failure"),
        number("load_ms", "ms", "from the last byte to the end of loading, or to the failure (replica)"),
        number("catch_up_ms", "ms", "from the end of load_ms until the stream that was held is applied, or to online"),
        number(
            "total_ms",
            "ms",
            "from at_us to end_us; the phases follow one another (phases.py): they add up to no more than this",
        ),
        number("loading_ms", "ms", "all of the time of loading, with what was parsed during the transfer (replica)"),
        count("bytes", "bytes", "snapshot bytes; of a continue the bytes of backlog sent"),
        count(
            "bytes_estimate",
            "bytes",
            "bytes, where known; else, of a full resync, the size of its snapshot, or if no log tells that,"
            " the median of its master's snapshots; 0 when it failed before the snapshot began; null of a"
            " continue",
        ),
        number("mb_per_s", "MB/s", "bytes / 10^6 / transfer seconds; null below 1 ms"),
        count("keys", "", "keys loaded"),
        count("master_buffer_peak", "bytes", "largest output buffer of that replica seen during the sync"),
        count("replica_buffer_peak", "bytes", "most of the stream that the replica held while loading"),
        text("rdb_version", "RDB version of the snapshot where told"),
    ),
    days=True,
)

TOTALS: Final = Table(
    "totals",
    "one row: the counts of the whole, which are the JSON's top level too",
    (
        count("syncs", "", "attempts that reached a verdict: rows of syncs"),
        count("full_ok", "", "full resyncs, of any mode, that ended online"),
        count("full_failed", "", "full resyncs that failed"),
        count("full_open", "", "full resyncs whose end no log tells"),
        count("partial_ok", "", "partial resyncs that ended online"),
        count("partial_refused", "", "asked with an id and got a full resync"),
        number("partial_ratio", "", "partial_ok / (partial_ok + partial_refused); null when neither"),
        count("connect_failures", "", "attempts that ended before a verdict"),
        count(
            "dumps",
            "",
            "connections without a port (redis-cli --rdb and its like) that asked for a snapshot; they "
            "are no replicas, and in no other table",
        ),
        count("unparsed_lines", "", "lines that are no log lines, or damaged (table unparsed)"),
        count(
            "unknown_lines",
            "",
            "lines that speak of replication in words that pyrepl does not know (table unparsed): what they"
            " tell is missing in every number",
        ),
        count("nodes", "", "rows of nodes"),
    ),
)

MODES: Final = Table(
    "modes",
    "one row per mode that occurred",
    (
        text("mode", "as in syncs"),
        count("count", "", "syncs of this mode"),
        count("ok", "", "those of them that ended online"),
    ),
)

FULL_CAUSES: Final = Table(
    "full_causes",
    "one row per cause of full resyncs",
    (
        text("cause", "as in syncs"),
        count("count", "", "full resyncs, failed ones included"),
        count("bytes", "bytes", "snapshot bytes that they moved, where known"),
        count("bytes_known", "", "of how many of them the bytes are known"),
        count("bytes_estimate", "bytes", "bytes_estimate of all of them, summed; null when some have none"),
        number("seconds", "s", "their total_ms, summed"),
        count("gap_p50", "bytes", "median of gap_bytes, where known"),
        count("gap_max", "bytes", "largest gap_bytes, where known"),
        count("behind_p50", "bytes", "median of behind_bytes, where known"),
        count("behind_max", "bytes", "largest behind_bytes, where known"),
    ),
)

LOOPS: Final = Table(
    "loops",
    "one row per pair and reason that failed three times or more in a row, with no success between",
    (
        text("node", "the master"),
        text("replica", "the replica"),
        text("reason", "the failure that all of them share (CAUSES)"),
        text("detail", "the log's own words for the last of them"),
        count("count", "", "failures in the longest such row"),
        moment("first_us", "begin of the first"),
        moment("last_us", "end of the last"),
        number("every_s", "s", "mean time from one to the next"),
        count("bytes", "bytes", "snapshot bytes moved in vain, where known"),
        count("bytes_known", "", "of how many of them the bytes are known"),
        count("bytes_estimate", "bytes", "bytes_estimate of all of them, summed; null when some have none"),
        flag("over", "a sync of the pair succeeded afterwards"),
        number(
            "open_s",
            "s",
            "how long the pair had failed when it was observed last; null when that is over, or the replica was "
            "stopped or followed another master",
        ),
    ),
)

RETRIES: Final = Table(
    "retries",
    "one row per pair with at least one failed attempt",
    (
        text("node", "the master"),
        text("replica", "the replica"),
        text("reason", "why attempts failed (CAUSES)"),
        count("count", "", "attempts that failed so, before or after a verdict"),
        moment("first_us", "begin of the first"),
        moment("last_us", "end of the last"),
    ),
)

CUTS: Final = Table(
    "cuts",
    "one row per established link (stream flowing, or snapshot under way) that ended; both ends joined",
    (
        text("day", "the UTC day of at_us"),
        text("node", "the master"),
        text("replica", "the replica"),
        moment("at_us", "when the first end noticed"),
        text("ends", "whose logs told: both, master, replica"),
        text("cause", "output_buffer, timeout, load_failed, rdb_version, shutdown, role_change, connection_lost, ..."),
        text("phase", "stream, or the phase of the sync it interrupted"),
        text("detail", "the log's own words"),
        count("output_buffer_bytes", "bytes", "what had piled up at the master, where told"),
        number(
            "back_s",
            "s",
            "until the replica's next request that was answered by a verdict began; null when none came",
        ),
        count(
            "lacked_bytes",
            "bytes",
            "how much of the stream the replica lacked at that request: of a sync that was cut, from its snapshot's "
            "offset to the next snapshot's; null when no log tells, or the stream was another one",
        ),
        number("down_s", "s", "until the pair's next sync that ended well; null when none did"),
        number(
            "open_s",
            "s",
            "where down_s is null: until the pair was observed last; null when the replica was stopped or"
            " followed another master",
        ),
    ),
    days=True,
)

CUT_CAUSES: Final = Table(
    "cut_causes", "one row per cause of cuts", (text("cause", "as in cuts"), count("count", "", "cuts by it"))
)

AVAILABILITY: Final = Table(
    "availability",
    "one row per pair of master and replica",
    (
        text("node", "the master"),
        text("replica", "the replica"),
        number(
            "observed_s",
            "s",
            "from the pair's first event to the end of the logs of its ends, or until the replica was stopped or "
            "followed another master",
        ),
        number("online_s", "s", "the part of observed_s with the stream flowing: from a sync's end to the next cut"),
        number("availability", "", "online_s / observed_s; null when nothing was observed"),
        count("cuts", "", "rows of cuts"),
        number(
            "longest_outage_s",
            "s",
            "longest time without the stream after it once flowed; of a pair that was never online, all of observed_s",
        ),
        number(
            "open_outage_s", "s", "how long the stream had not flowed when the pair was observed last; null if it did"
        ),
        text(
            "open_cause",
            "of a pair with open_outage_s: why its last failed attempt failed, or why its link ended (CAUSES)",
        ),
        text("open_detail", "the same in the log's own words"),
        count("samples", "", "samples of its lag: those taken while it was online, its snapshot acknowledged"),
        number("lag_bytes_p50", "bytes", "median of lag_bytes"),
        number("lag_bytes_p90", "bytes", "90th percentile"),
        number("lag_bytes_p99", "bytes", "99th percentile"),
        number("lag_bytes_max", "bytes", "largest"),
        number("lag_s_p50", "s", "median of lag_s"),
        number("lag_s_p90", "s", "90th percentile"),
        number("lag_s_p99", "s", "99th percentile"),
        number("lag_s_max", "s", "largest"),
        count("output_buffer_max", "bytes", "largest output buffer at the master, by samples, syncs and cuts"),
    ),
)

WRITE_RATE: Final = Table(
    "write_rate",
    "one row per node: what it writes to its stream, and what its backlog covers",
    (
        text("node", "the node"),
        text("source", "samples (event log) or syncs (offsets that text logs name, between two of one replid)"),
        number("observed_s", "s", "spans between two known offsets of one replid, summed"),
        count("stream_bytes", "bytes", "stream written in them"),
        number("bytes_per_s_mean", "bytes/s", "stream_bytes / observed_s"),
        number("bytes_per_s_p50", "bytes/s", "median over the spans"),
        number("bytes_per_s_p99", "bytes/s", "99th percentile over the spans"),
        number("bytes_per_s_max", "bytes/s", "fastest span"),
        number("writes_per_s_p50", "1/s", "median of the samples' commands per second"),
        number("writes_per_s_p99", "1/s", "99th percentile"),
        count("backlog_size", "bytes", "capacity of the backlog, the last one told"),
        number("cover_mean_s", "s", "backlog_size / bytes_per_s_mean: how long a replica may be away"),
        number("cover_p99_s", "s", "backlog_size / bytes_per_s_p99: the same while writes are heavy"),
    ),
)

FORKS: Final = Table(
    "forks",
    "one row per snapshot child",
    (
        text("day", "the UTC day of at_us"),
        text("node", "the node that forked"),
        count("pid", "", "the child"),
        moment("at_us", "its start"),
        text("target", "disk or socket"),
        text("why", "sync when replicas wait for it, else save"),
        flag("ok", "its end; null when the log does not tell"),
        number("seconds", "s", "from start to end"),
        count("fork_us", "us", "how long the node stood still for the fork itself, where told"),
        count("bytes", "bytes", "snapshot bytes, where told"),
        count("keys", "", "keys written, where told"),
        count("private_bytes", "bytes", "memory the child had for itself (copy-on-write), where told"),
        count("replicas", "", "syncs it served"),
    ),
    days=True,
)

SKEW: Final = Table(
    "skew",
    "one row per node: how its clock stands to the reference node's",
    (
        text("node", "the node"),
        text(
            "reference", "the node whose clock counts: of each group that syncs tie together, the one with most links"
        ),
        number("skew_ms", "ms", "its clock minus the reference's; subtracted from its times before ends are joined"),
        number(
            "spread_ms", "ms", "half the width of what the events allow: the true skew is within skew_ms +- spread_ms"
        ),
        count("pairs", "", "pairs of events used: cause at one end, effect at the other"),
    ),
)

NODES: Final = Table(
    "nodes",
    "one row per node whose log was read",
    (
        text("node", "its name"),
        text("kind", "pyrepl, redis, valkey; null when no start was logged"),
        text("version", "the last one it started as"),
        count("port", "", "where it listens"),
        count("runs", "", "processes seen"),
        moment("first_us", "first event"),
        moment("last_us", "last event"),
        count("events", "", "rows of events"),
    ),
)

BACKLOG_WHAT_IF: Final = Table(
    "backlog_what_if",
    "one row per node and size of interest: what a larger repl-backlog-size would have done",
    (
        text("node", "the master"),
        count(
            "backlog_size", "bytes", "the size tried: each that turns one more avoidable full resync into a partial one"
        ),
        count(
            "avoided",
            "",
            "full resyncs by out_of_backlog that it would have made partial; no_backlog is not among them, as no size "
            "helps where the backlog was freed",
        ),
        count("avoidable", "", "full resyncs by out_of_backlog with known behind_bytes"),
        number("share", "", "avoided / avoidable"),
        count(
            "saved_bytes",
            "bytes",
            "bytes_estimate of those avoided, less the stream sent instead; null when nothing is known of any",
        ),
        number("saved_s", "s", "their total_ms, summed"),
    ),
)

BUFFER_WHAT_IF: Final = Table(
    "buffer_what_if",
    "one row per node and size of interest: what a larger client-output-buffer-limit for replicas would have done",
    (
        text("node", "the master"),
        count("limit_bytes", "bytes", "the hard limit tried: each that keeps one more replica from being cut"),
        count(
            "avoided",
            "",
            "cuts by output_buffer that this limit would have spared; each needs the larger one of"
            " lacked_bytes and output_buffer_bytes, and output_buffer_bytes alone is a lower bound",
        ),
        count(
            "avoidable",
            "",
            "cuts by output_buffer whose need is known, without those of replicas that did not read for 10 s or more",
        ),
        number("share", "", "avoided / avoidable"),
        number("saved_s", "s", "their down_s, summed"),
        count("memory_bytes", "bytes", "what that may take at most: limit_bytes for each replica of the master"),
    ),
)

DELAY_WHAT_IF: Final = Table(
    "delay_what_if",
    "one row per node and delay of interest: what a longer repl-diskless-sync-delay would have done",
    (
        text("node", "the master"),
        number("delay_s", "s", "the delay tried: each that lets one more storm share a snapshot"),
        count("saved", "", "children that need not have been forked: of each storm that this delay spans, all but one"),
        count("forks", "", "children forked for replicas, with the settings of that time"),
        number("share", "", "saved / forks, at least: a shorter delay may spare a part of a storm's children too"),
        number("waited_s", "s", "how much later full syncs begin, summed, at most: delay_s for each"),
    ),
)

FLEET_WHAT_IF: Final = Table(
    "fleet_what_if",
    "one row per setting and value, if all masters had it; sizes in powers of two, delays in whole seconds",
    (
        text("setting", "repl-backlog-size, client-output-buffer-limit or repl-diskless-sync-delay"),
        number("value", "", "bytes, or seconds of the delay"),
        count("avoided", "", "full resyncs made partial, cuts spared, or children not forked"),
        count("avoidable", "", "the most that can be"),
        number("share", "", "avoided / avoidable"),
        count(
            "memory_bytes",
            "bytes",
            "what it takes: of the backlog value for each master, of the limit, at most, for each pair; null of the "
            "delay",
        ),
    ),
)

COSTS: Final = Table(
    "costs",
    "one row per master: what keeping its replicas in step has cost",
    (
        text("node", "the master"),
        count("replicas", "", "pairs"),
        count("out_now", "", "pairs that were without the stream when they were observed last"),
        number("out_s", "s", "observed_s less online_s of its pairs, summed: replica-seconds out of step"),
        count("fulls", "", "full resyncs, failed ones included"),
        count("avoidable", "", "full resyncs for lack of backlog or by an output buffer, and those that failed"),
        count(
            "resent_bytes",
            "bytes",
            "bytes_estimate of all full resyncs but the first ones of replicas that went well: what was sent again",
        ),
        count("unknown", "", "how many of the full resyncs of resent_bytes have no bytes_estimate"),
        count("forks", "", "snapshot children for replicas"),
        count("private_bytes", "bytes", "the most memory that one of them had for itself, where told"),
    ),
)

STORMS: Final = Table(
    "storms",
    "one row per time in which full resyncs of two or more replicas of one master ran at once and not from one "
    "snapshot; what a replica repeats after a failure is a loop, and not counted",
    (
        text("node", "the master"),
        moment("at_us", "begin of the first"),
        moment("end_us", "end of the last"),
        count("syncs", "", "full resyncs in it"),
        count("snapshots", "", "children forked for them"),
        count("on_disk", "", "syncs that came from a file, for which a master keeps no delay"),
        number("delay_s", "s", "repl-diskless-sync-delay with which one snapshot would have served all"),
    ),
)

ADVICE: Final = Table(
    "advice",
    "one row per piece of advice: first by the cost that still runs, then by what it has cost",
    (
        text(
            "kind",
            "outage, backlog_size, backlog_ttl (the backlog was freed, whatever its size), output_buffer, "
            "sync_buffer (an output buffer, while the replica took its snapshot), stalled (it did not read at all), "
            "rdb_channel, storm, version_mismatch, loop",
        ),
        text("severity", "act, consider"),
        text("node", "the node that the advice is for"),
        text("replica", "the other end, where the advice is for a pair"),
        text("directive", "what to set, as in the configuration file; null when nothing is to be set"),
        text("value", "the value to set; a size is enough for twice of what happened"),
        text("least", "the least size that would have been enough here, and a fifth more; null for what is no size"),
        text(
            "confidence",
            "measured: the logs tell the quantity; estimated: made of a rate and a time; lower_bound: they tell how "
            "much it was at least; null when nothing is to be set",
        ),
        number("share", "", "the part of the trouble that it would have prevented"),
        count("count", "", "cases behind it"),
        count("saved_bytes", "bytes", "bytes that it would have saved"),
        number("saved_s", "s", "seconds that it would have saved"),
        number("running_s", "s", "how long the trouble had lasted when the logs end; null when it is over"),
        number("cost_s", "s", "how long it kept replicas out of step, or syncing, before"),
        text("text", "the whole in a sentence or two, with its numbers"),
    ),
)

SERIES: Final = Table(
    "series",
    "one row per node, replica and span of time, for charts of the samples; all of the time is cut into at"
    " most 240 spans, each a power of two of us, the least that will do, and beginning at one of its"
    " multiples",
    (
        text("node", "who took the samples: the master"),
        text("replica", "the replica as its master calls it; null where the node speaks of itself"),
        moment("at_us", "begin of the span"),
        number("lag_bytes", "bytes", "largest lag_bytes in it; null while the replica was not online"),
        number("lag_s", "s", "largest lag_s in it; null while the replica was not online"),
        number("output_bytes", "bytes", "largest output buffer in it; of a node all its replicas' together"),
        number("sync_buffer_bytes", "bytes", "most of the stream held while a snapshot loads; null of a replica"),
        number("writes_per_s", "1/s", "largest writes_per_s in it; null of a replica"),
        number("stream_bytes_per_s", "bytes/s", "largest stream_bytes_per_s in it; null of a replica"),
    ),
)

RESULTS: Final = (
    TOTALS, COSTS, SYNCS, MODES, FULL_CAUSES, LOOPS, RETRIES, CUTS, CUT_CAUSES, AVAILABILITY, WRITE_RATE, FORKS, SKEW,
    NODES, BACKLOG_WHAT_IF, BUFFER_WHAT_IF, DELAY_WHAT_IF, FLEET_WHAT_IF, STORMS, ADVICE,
)  # fmt: skip
"""All of them, in the order of a report."""
