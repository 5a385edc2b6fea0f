"""What to do, and what it would have saved: the rows of the table ADVICE, decided and worded.

Plain Python over the rows of facts.py, a few for each master and pair, whoever gathers them. Each piece of advice
carries its numbers; where the logs do not tell enough for a number, none is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil
from typing import Any, Final

from pyrepl.metrics.facts import SHARES, Facts, Row
from pyrepl.metrics.kinds import RDB_VERSION

_MB: Final = 1 << 20
_SEVERITIES: Final = ("act", "consider")
LASTING_S: Final = 60.0
"""An outage that had lasted so long when the logs end does not mend itself. Inclusive."""
_HINTS: Final[Mapping[str, str]] = {
    "connect_failed": "Nothing answers at the master's address: see whether the master runs, and whether the replica "
    "can reach its port.",
    "refused": "The master answers and refuses: see masteruser, masterauth and TLS on the replica.",
    "not_ready": "The master has no data to give: it is a replica itself, and its own link is down, or it is loading.",
    "timeout": "Nothing came for repl-timeout: see the network between the two, and whether either stood still.",
    "output_buffer": "The master cut the replica for its output buffer: see why the replica does not read.",
    RDB_VERSION: "The replica is older than the master's snapshots: upgrade it.",
}
"""What to look at first, by the cause of an outage."""


def advice(facts: Facts) -> list[Row]:
    """Rows of the table ADVICE, by the names of its columns; what is not there is null."""
    pieces = [
        *map(_backlog, facts.backlogs),
        *map(_output_buffer, facts.output_buffers),
        *map(_channel, facts.channels),
        *map(_storm, facts.storms),
        *map(_loop, facts.loops),
        *map(_outage, facts.outages),
    ]
    pieces.sort(key=_urgency)
    return pieces


def _urgency(piece: Row) -> tuple[Any, ...]:
    """By what still runs, then by what it has cost."""
    running, cost = piece.get("running_s") or 0.0, piece.get("cost_s") or 0.0
    rest = _nulls_first(piece, "kind", "node", "replica")
    return (-running, -cost, _SEVERITIES.index(piece["severity"]), *rest)


def _nulls_first(piece: Row, *names: str) -> Iterator[tuple[bool, Any]]:
    for name in (*names, "share"):
        value = piece.get(name)
        yield value is not None, value if value is not None else 0


def _mb(size: float) -> str:
    """Bytes as the configuration file has them, rounded up to whole megabytes (or kilobytes, below one)."""
    return f"{ceil(size / 1024)}kb" if size < _MB else f"{ceil(size / _MB)}mb"


def _shown(size: float) -> str:
    if size >= 100_000:
        return f"{size / 1e6:,.1f} MB"
    return f"{size / 1e3:,.1f} kB" if size >= 1000 else f"{size:.0f} bytes"


def _saved(size: int | None, seconds: float) -> str:
    took = f"{seconds:,.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"
    return f"{_shown(size)} and {took} of syncing" if size else f"{took} of syncing"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _backlog(row: Row) -> Row:
    """A size that would have done for 50, 90 or 99 % of the avoidable full resyncs."""
    now = row["now"]
    return {
        "kind": "backlog_size",
        "severity": "act" if row["wanted"] == SHARES[-1] else "consider",
        "node": row["node"],
        "directive": "repl-backlog-size",
        "value": _mb(row["backlog_size"]),
        "share": row["wanted"],
        "count": row["avoided"],
        "saved_bytes": row["saved_bytes"],
        "saved_s": row["saved_s"],
        "cost_s": row["saved_s"],
        "text": f"repl-backlog-size {_mb(row['backlog_size'])} would have made {row['avoided']} of "
        f"{row['avoidable']} avoidable full resyncs partial, saving "
        f"{_saved(row['saved_bytes'], row['saved_s'])}{'' if now is None else f' (it is {_mb(now)} now)'}.",
    }


def _output_buffer(row: Row) -> Row:
    """A pair that was cut for its output buffer: a limit above what had piled up."""
    limit = None if not row["most"] else ceil(row["most"] * 1.25 / _MB) * _MB
    waited = (
        " (the log does not tell how much waited)"
        if limit is None
        else f" with up to {_shown(row['most'])} waiting; a hard limit of {_mb(limit)} would have kept what had "
        "piled up by then"
    )
    return {
        "kind": "output_buffer",
        "severity": "act",
        "node": row["node"],
        "replica": row["replica"],
        "directive": "client-output-buffer-limit",
        "value": None if limit is None else f"replica {_mb(limit)} 0 0",
        "share": 1.0,
        "count": row["count"],
        "saved_s": row["down_s"],
        "running_s": row["open_s"],
        "cost_s": row["down_s"],
        "text": f"The master cut this replica {_times(row['count'])} for client-output-buffer-limit{waited}. "
        "If the replica stood still, look there first: no limit helps for ever.",
    }


def _channel(row: Row) -> Row:
    """One connection against two, by the time they took."""
    better = row["two_ms"] <= row["one_ms"]
    worse = row["one_n"] if better else row["two_n"]
    say = "keep the RDB channel on." if better else "the RDB channel does not pay here by time alone."
    return {
        "kind": "rdb_channel",
        "severity": "consider",
        "node": row["node"],
        "directive": "repl-rdb-channel",
        "value": "yes" if better else "no",
        "count": row["one_n"] + row["two_n"],
        "saved_s": abs(row["one_ms"] - row["two_ms"]) / 1000,
        "cost_s": worse * abs(row["one_ms"] - row["two_ms"]) / 1000,
        "text": f"A full sync on two connections took {row['two_ms']:,.0f} ms in the median ({row['two_n']}), on "
        f"one {row['one_ms']:,.0f} ms ({row['one_n']}): {say}",
    }


def _storm(row: Row) -> Row:
    """Full syncs that came at once and did not share a snapshot."""
    delay = ceil(row["delay_s"])
    return {
        "kind": "storm",
        "severity": "consider",
        "node": row["node"],
        "directive": "repl-diskless-sync-delay",
        "value": str(delay),
        "count": row["count"],
        "cost_s": row["lasted_s"],
        "text": f"{row['syncs']} full syncs came at once in {row['count']} storm{'' if row['count'] == 1 else 's'} "
        f"and took {row['snapshots']} snapshots; repl-diskless-sync-delay {delay} would have let each storm share "
        "one.",
    }


def _loop(loop: Row) -> Row:
    version = loop["reason"] == RDB_VERSION
    is_exact = loop["bytes_known"] == loop["count"]
    size = loop["bytes"] if is_exact else loop["bytes_estimate"]
    vain = "" if size is None else f", {'' if is_exact else 'about '}{_shown(size)} sent in vain"
    again = f"{loop['count']} times in a row, every {loop['every_s']:,.1f} s{vain}"
    say = (
        f"The replica cannot read this master's snapshots ({loop['detail'] or 'RDB version'}): {again}. It will never "
        "succeed: upgrade the replica, or let the master write an older RDB version (pyrepl: rdb-version)."
        if version
        else f"Syncs of this pair failed by {loop['reason']}: {again}."
    )
    return {
        "kind": "version_mismatch" if version else "loop",
        "severity": "consider" if loop["over"] else "act",
        "node": loop["node"],
        "replica": loop["replica"],
        "count": loop["count"],
        "saved_bytes": size,
        "running_s": loop["open_s"],
        "cost_s": (loop["last_us"] - loop["first_us"]) / 1e6,
        "text": say,
    }


def _outage(row: Row) -> Row:
    """A pair without a stream when the logs end."""
    cause, detail = row["open_cause"] or "unknown", row["open_detail"]
    said = f" ({detail})" if detail else ""
    hint = _HINTS.get(cause, "")
    return {
        "kind": "outage",
        "severity": "act" if row["open_outage_s"] >= LASTING_S else "consider",
        "node": row["node"],
        "replica": row["replica"],
        "count": row["cuts"],
        "running_s": row["open_outage_s"],
        "text": f"When the logs end the replica has not had this master's stream for {row['open_outage_s']:,.1f} "
        f"s; the last cause is {cause}{said}.{f' {hint}' if hint else ''}",
    }
