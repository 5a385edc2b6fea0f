"""Advice on sizes and delays: the backlog, the replicas' output buffers, one connection or two, one snapshot for many.

A size has headroom, as the next trouble is never the same: `least` is what would have done with a fifth to spare, and
`value` what survives twice of what happened. What waited in an output buffer when its replica was cut is no measure of
what is needed: it is just above the limit that was in force. How much of the stream the replica lacked when it came
back is one, as all of that would have waited had nobody cut it; and so is the master's write rate times the time that a
full sync takes.

Since Redis 7, and in Valkey, a limit for replicas below repl-backlog-size is taken as repl-backlog-size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from typing import Final

from pyrepl.metrics.amounts import HEADROOM, SPARE, least, roomy, setting, shown, span, times
from pyrepl.metrics.facts import SHARES, Row

TWO_CONNECTIONS: Final = {
    "redis": ("repl-rdb-channel", (8,)),
    "valkey": ("dual-channel-replication-enabled", (8,)),
}
"""Directive for full syncs on two connections by maker, and the first version that has it."""
NEED: Final = "need"
"""Of a piece of advice that names a limit: how many bytes it is for, as long as it is not known whether another replica
of the master needs more (one_limit)."""


def backlogs(rows: Iterable[Row]) -> Iterator[Row]:
    """Sizes that would have done for 50, 90 and 99 % of the avoidable full resyncs; of like settings the last."""
    best = {(row["node"], roomy(row["backlog_size"])): row for row in rows}
    return map(_backlog, best.values())


def _backlog(row: Row) -> Row:
    size, now = row["backlog_size"], row["now"]
    value = roomy(size)
    memory = "" if now is None else f" It is {setting(now)} now: that costs {shown(max(0, value - now))} of memory."
    return {
        "kind": "backlog_size",
        "severity": "act" if row["wanted"] == SHARES[-1] else "consider",
        "node": row["node"],
        "directive": "repl-backlog-size",
        "value": setting(value),
        "least": setting(least(size)),
        "confidence": "measured",
        "share": row["wanted"],
        "count": row["avoided"],
        "saved_bytes": row["saved_bytes"],
        "saved_s": row["saved_s"],
        "cost_s": row["saved_s"],
        "text": f"A repl-backlog-size of at least {setting(least(size))} makes {row['avoided']} of {row['avoidable']} "
        f"avoidable full resyncs partial, saving {_saved(row['saved_bytes'], row['saved_s'])}; {setting(value)} "
        f"survives twice that.{memory}",
    }


def miss(row: Row) -> Row:
    """Full resyncs for lack of backlog, no log tells by how much: Redis 8 on two connections names no offset."""
    rate, away, now = row["bytes_per_s"], row["away_s"], row["now"]
    piece = {
        "kind": "backlog_size",
        "severity": "consider",
        "node": row["node"],
        "directive": "repl-backlog-size",
        "count": row["count"],
    }
    were = "1 full resync was" if row["count"] == 1 else f"{row['count']} full resyncs were"
    said = f"{were} for lack of backlog, and no log tells how much was lacking."
    is_now = "" if now is None else f" It is {setting(now)} now."
    if not (rate and away):
        long = f" A replica was away for {span(away)}." if away else ""
        say = "Set it to twice what is written in the longest time that a replica may be away."
        return piece | {"text": f"{said}{long} {say}{is_now}"}
    need = rate * away
    return piece | {
        "value": setting(roomy(need)),
        "least": setting(least(need)),
        "confidence": "estimated",
        "text": f"{said} A replica was away for {span(away)}, and {shown(rate)} a second are written: at least "
        f"{setting(least(need))}, {setting(roomy(need))} to survive twice that.{is_now}",
    }


def freed(row: Row) -> Row:
    """Full resyncs as the backlog was freed, whatever its size: no replica was connected for repl-backlog-ttl."""
    away = row["away_s"]
    least_s, value_s = ceil(away * SPARE), ceil(away * HEADROOM)
    were = "1 full resync was" if row["count"] == 1 else f"{row['count']} full resyncs were"
    return {
        "kind": "backlog_ttl",
        "severity": "act",
        "node": row["node"],
        "directive": "repl-backlog-ttl",
        "value": str(value_s),
        "least": str(least_s),
        "confidence": "measured",
        "share": 1.0,
        "count": row["count"],
        "saved_s": row["saved_s"],
        "cost_s": row["saved_s"],
        "text": f"{were} needed as the backlog had been freed: no replica was connected for repl-backlog-ttl. A "
        f"replica was away for {span(away)}: a repl-backlog-ttl of at least {least_s} keeps what it lacks, as long as "
        f"repl-backlog-size holds it; {value_s} survives twice that.",
    }


def _saved(size: int | None, seconds: float) -> str:
    return f"{shown(size)} and {span(seconds)} of syncing" if size else f"{span(seconds)} of syncing"


def output_buffer(row: Row) -> Row:
    """A replica that read, but slower than its master wrote, and was cut for it."""
    need = max(row["lacked"] or 0, row["most"] or 0)
    measured = (row["lacked"] or 0) >= (row["most"] or 0) > 0
    cut = f"The master cut this replica {times(row['count'])} for client-output-buffer-limit"
    if not need:
        return _limit(
            row, "output_buffer", None, f"{cut}. The log tells neither how much waited nor how much it lacked."
        )
    waited = f", with {shown(row['most'])} waiting" if row["most"] else ""
    why = (
        f"when it came back it lacked {shown(need)}, all of which would have waited"
        if measured
        else "how much more would have come until it had read that, no log tells"
    )
    return _limit(row, "output_buffer", need, f"{cut}{waited}; {why}.", "measured" if measured else "lower_bound")


def sync_buffer(row: Row) -> Row:
    """A replica that was cut while it took its snapshot: the stream of that time waits on the master."""
    rate, took = row["bytes_per_s"], row["took_s"]
    estimate = rate * took if rate and took else 0
    need = max(row["lacked"] or 0, row["most"] or 0, estimate)
    cut = (
        f"The master cut this replica {times(row['count'])} for client-output-buffer-limit in the middle of a full sync"
    )
    two = _two_connections(row)
    if two:
        return _limit(row, "sync_buffer", None, f"{cut}. On two connections the stream waits on the replica and not "
                      f"in this buffer: {two} yes at both ends.") | {
            "directive": two, "value": "yes", "confidence": "measured"
        }  # fmt: skip
    if not need:
        return _limit(
            row, "sync_buffer", None, f"{cut}. The log tells neither how much waited nor how much was written."
        )
    if estimate >= need:
        why = f"a full sync takes {span(took)}, and {shown(rate)} a second are written meanwhile: {shown(need)}"
        return _limit(row, "sync_buffer", need, f"{cut}; {why}.", "estimated")
    if (row["lacked"] or 0) >= need:
        why = f"until it had come back {shown(need)} were written, all of which would have waited"
        return _limit(row, "sync_buffer", need, f"{cut}; {why}.", "measured")
    return _limit(row, "sync_buffer", need, f"{cut}, with {shown(need)} waiting; how much more would have come until "
                  "the snapshot was loaded, no log tells.", "lower_bound")  # fmt: skip


def _two_connections(row: Row) -> str:
    """The directive that both ends know and this pair does not use, or nothing. A pyrepl speaks either's dialect."""
    kinds = {row["kind"], row["replica_kind"]} - {"pyrepl"}
    if row["two_n"] or None in kinds or len(kinds) > 1:
        return ""
    directive, since = TWO_CONNECTIONS[next(iter(kinds), "redis")]
    old = [end for end in ("", "replica_") if row[f"{end}kind"] != "pyrepl" and _number(row[f"{end}version"]) < since]
    return "" if old else directive


def _number(version: str | None) -> tuple[int, ...]:
    return tuple(int(part) for part in (version or "0").split(".") if part.isdigit())


def _limit(row: Row, kind: str, need: float | None, text: str, confidence: str | None = None) -> Row:
    """A limit for `need` bytes; null: none can be named."""
    piece = {
        "kind": kind,
        "severity": "act",
        "node": row["node"],
        "replica": row["replica"],
        "directive": "client-output-buffer-limit",
        "share": 1.0,
        "count": row["count"],
        "saved_s": row["down_s"],
        "running_s": row["open_s"],
        "cost_s": row["down_s"],
        "confidence": confidence,
        "text": text,
    }
    if need is None:
        return piece
    value, enough = setting(roomy(need)), setting(least(need))
    slow = " See why it reads so slowly, too." if kind == "output_buffer" else ""
    said = f"A hard limit of at least {enough} would have kept it; {value} survives twice that.{slow}"
    return piece | {"value": f"replica {value} 0 0", "least": enough, NEED: need, "text": f"{text} {said}"}


def one_limit(pieces: Sequence[Row]) -> list[Row]:
    """The same advice; that on limits of one master, which has one limit for all its replicas, names the largest."""
    largest: dict[str, Row] = {}
    for piece in pieces:
        if NEED in piece:
            largest[piece["node"]] = max(largest.get(piece["node"], piece), piece, key=_need)
    return [_agreed(piece, largest[piece["node"]]) if NEED in piece else piece for piece in pieces]


def _need(piece: Row) -> float:
    return float(piece[NEED])


def _agreed(piece: Row, largest: Row) -> Row:
    told = {name: value for name, value in piece.items() if name != NEED}
    if piece["value"] == largest["value"]:
        return told
    other = largest["replica"] or "another replica"
    said = f"A master has one limit for all its replicas, and {other} needs more: {largest['value']}."
    same = {name: largest[name] for name in ("value", "least", "confidence")}
    return told | same | {"text": f"{piece['text']} {said}"}


def channel(row: Row) -> Row:
    """One connection against two, by the time they took."""
    better = row["two_ms"] <= row["one_ms"]
    worse = row["one_n"] if better else row["two_n"]
    saved_s = abs(row["one_ms"] - row["two_ms"]) / 1000
    say = "two are quicker" if better else "two do not pay here by time alone"
    return {
        "kind": "rdb_channel",
        "severity": "consider",
        "node": row["node"],
        "directive": TWO_CONNECTIONS["valkey" if row["dual_n"] else "redis"][0],
        "value": "yes" if better else "no",
        "confidence": "measured",
        "count": row["one_n"] + row["two_n"],
        "saved_s": saved_s,
        "cost_s": worse * saved_s,
        "text": f"A full sync on two connections took {row['two_ms']:,.0f} ms in the median ({row['two_n']}), on "
        f"one {row['one_ms']:,.0f} ms ({row['one_n']}): {say}.",
    }


def storm(row: Row) -> list[Row]:
    """Full syncs that came at once and did not share a snapshot. Those that came by way of a file need two settings."""
    # Redis looks once a second whether the delay has passed.
    delay = ceil(row["delay_s"] * SPARE) + 1
    storms = f"{row['count']} storm{'' if row['count'] == 1 else 's'}"
    text = f"{row['syncs']} full syncs came at once in {storms} and took {row['snapshots']} snapshots"
    wait = {
        "kind": "storm",
        "severity": "consider",
        "node": row["node"],
        "directive": "repl-diskless-sync-delay",
        "value": str(delay),
        "confidence": "measured",
        "count": row["count"],
        "cost_s": row["lasted_s"],
        "text": f"{text}; repl-diskless-sync-delay {delay} would have let each storm share one.",
    }
    if not row["on_disk"]:
        return [wait]
    both = f"repl-diskless-sync yes with repl-diskless-sync-delay {delay} would have let each storm share one."
    socket = {
        "directive": "repl-diskless-sync",
        "value": "yes",
        "text": f"{text}, by way of a file, for which no delay is kept; {both}",
    }
    # What the storms have cost is told once.
    late = {"cost_s": None, "text": f"With repl-diskless-sync yes, for the same storms: {both}"}
    return [wait | socket, wait | late]
