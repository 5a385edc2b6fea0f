"""A report as an ordinary bad day makes it: three nodes, full and partial syncs of every mode, cuts, a loop, advice."""

from __future__ import annotations

import random
from typing import Any

from pyrepl.metrics.report.model import Report, Row

DAY_US = 1795219200000000
"""2026-11-21 00:00 UTC."""
MADE_AT_US = DAY_US + 86_400_000_000
MASTER = "cache-1:6379"
REPLICAS = ("cache-2:6379", "cache-3:6379", "cache-4:6379")
MB = 1_000_000


def minute(at: float) -> int:
    return DAY_US + int(at * 60e6)


def sync(at: float, replica: str, mode: str, **known: Any) -> dict[str, Any]:
    """One row of syncs; `total_ms` is the phases' sum."""
    row: dict[str, Any] = {
        "sync": f"{replica}/{at}",
        "day": "2026-11-21",
        "node": MASTER,
        "replica": replica,
        "ends": "both",
        "at_us": minute(at),
        "mode": mode,
        "ok": True,
        "cause": None,
        "failure": None,
        "failure_detail": None,
        "asked_with_id": mode == "continue",
        "gap_bytes": None,
        "handshake_ms": 4.0,
        "wait_bgsave_ms": None,
        "transfer_ms": None,
        "load_ms": None,
        "catch_up_ms": None,
        "bytes": 120_000,
        "mb_per_s": None,
        "master_buffer_peak": None,
        "replica_buffer_peak": None,
    }
    row.update(known)
    phases = [row[name] for name in ("handshake_ms", "wait_bgsave_ms", "transfer_ms", "load_ms", "catch_up_ms")]
    row["total_ms"] = sum(value or 0.0 for value in phases)
    row["end_us"] = row["at_us"] + int(row["total_ms"] * 1000)
    return row


def full(at: float, replica: str, mode: str, cause: str, mb: float, speed: float, **known: Any) -> dict[str, Any]:
    transfer_ms = mb / speed * 1000
    phases = {
        "wait_bgsave_ms": 5200.0 if mode != "rdb_channel" else 240.0,
        "transfer_ms": transfer_ms,
        "load_ms": transfer_ms * 0.7,
        "catch_up_ms": 900.0 if mode.endswith("channel") else 2300.0,
        "mb_per_s": speed,
        "bytes": int(mb * MB),
        "master_buffer_peak": int(mb * MB / 9) if not mode.endswith("channel") else int(mb * MB / 60),
        "replica_buffer_peak": int(mb * MB / 12) if mode.endswith("channel") else None,
    }
    return sync(at, replica, mode, cause=cause, **(phases | known))


def syncs() -> list[Row]:
    chance = random.Random(5)
    rows: list[dict[str, Any]] = [
        full(2, REPLICAS[0], "full_diskless", "first", 2400, 95),
        full(2.02, REPLICAS[1], "full_diskless", "first", 2400, 92),
        full(2.05, REPLICAS[2], "full_disk", "first", 2400, 70),
    ]
    for number in range(22):
        replica = REPLICAS[number % 3]
        rows.append(sync(30 + number * 55 + chance.random() * 20, replica, "continue", bytes=chance.randrange(8 * MB)))
    for number, gap in enumerate((3, 9, 14, 22, 60, 130, 410)):
        mode = "rdb_channel" if number % 2 else "full_diskless"
        at = 95 + number * 180 + chance.random() * 40
        rows.append(
            full(
                at, REPLICAS[number % 2], mode, "out_of_backlog", 2500 + 60 * number, 80 + 8 * number,
                gap_bytes=gap * MB, asked_with_id=True,
            )
        )  # fmt: skip
    for number in range(9):
        rows.append(
            full(
                600 + number * 6, REPLICAS[2], "full_diskless", "load_failed", 2600, 90, ok=False,
                failure="rdb_version", failure_detail="Can't handle RDB format version 80", load_ms=12.0,
                catch_up_ms=None,
            )
        )  # fmt: skip
    rows.append(
        full(
            820, REPLICAS[1], "full_disk", "output_buffer", 2600, 55, ok=False, failure="output_buffer",
            master_buffer_peak=268 * MB, load_ms=None, catch_up_ms=None,
        )
    )  # fmt: skip
    rows.append(full(1300, REPLICAS[0], "dual_channel", "id_mismatch", 2550, 110))
    rows.sort(key=lambda row: int(row["at_us"]))
    return [*rows]


def series() -> list[Row]:
    chance = random.Random(9)
    rows: list[Row] = []
    for replica in REPLICAS:
        lag = 0.0
        for number in range(240):
            at = number * 6
            busy = 8 if 700 < at < 900 else 1
            lag = max(0.0, lag * 0.7 + chance.random() * 300_000 * busy)
            spike = 180 * MB if replica == REPLICAS[1] and 808 < at < 822 else 0
            rows.append(
                {
                    "node": MASTER,
                    "replica": replica,
                    "at_us": minute(at),
                    "lag_bytes": lag,
                    "lag_s": min(1.0, chance.random() * busy / 4),
                    "output_bytes": lag / 2 + spike,
                    "sync_buffer_bytes": None,
                }
            )
    return rows


def tables() -> dict[str, list[Row]]:
    rows = syncs()
    fulls = [row for row in rows if row["mode"] != "continue"]
    causes = sorted({str(row["cause"]) for row in fulls})
    modes = sorted({str(row["mode"]) for row in rows})
    return {
        "totals": [
            {
                "syncs": len(rows),
                "full_ok": sum(bool(row["ok"]) for row in fulls),
                "full_failed": sum(not row["ok"] for row in fulls),
                "full_open": 0,
                "partial_ok": len(rows) - len(fulls),
                "partial_refused": 7,
                "partial_ratio": 22 / 29,
                "connect_failures": 3,
                "dumps": 2,
                "unparsed_lines": 4,
                "unknown_lines": 0,
                "nodes": 4,
            }
        ],
        "syncs": rows,
        "modes": [
            {"mode": mode, "count": sum(row["mode"] == mode for row in rows),
             "ok": sum(row["mode"] == mode and bool(row["ok"]) for row in rows)}
            for mode in modes
        ],
        "full_causes": [
            {"cause": cause, "count": sum(row["cause"] == cause for row in fulls), "bytes": 2_500_000_000 * number,
             "bytes_known": 1, "bytes_estimate": 2_700_000_000 * number,
             "seconds": 55.5 * number, "gap_p50": 22 * MB if "backlog" in cause else None,
             "gap_max": 410 * MB if "backlog" in cause else None}
            for number, cause in enumerate(causes, 1)
        ],
        "loops": [
            {"node": MASTER, "replica": REPLICAS[2], "reason": "rdb_version",
             "detail": "Can't handle RDB format version 80", "count": 9, "first_us": minute(600),
             "last_us": minute(649), "every_s": 360.0, "bytes": 9 * 2600 * MB, "bytes_known": 9,
             "bytes_estimate": 9 * 2600 * MB, "over": True, "open_s": None}
        ],
        "retries": [
            {"node": MASTER, "replica": REPLICAS[2], "reason": "rdb_version", "count": 9, "first_us": minute(600),
             "last_us": minute(649)}
        ],
        "cuts": [
            {"day": "2026-11-21", "node": MASTER, "replica": REPLICAS[number % 3], "at_us": minute(94 + 180 * number),
             "ends": "both", "cause": cause, "phase": "stream", "detail": "", "output_buffer_bytes": None,
             "down_s": 40.0 + number, "open_s": None}
            for number, cause in enumerate(
                ["connection_lost"] * 5 + ["timeout", "output_buffer", "killed"]
            )
        ],
        "cut_causes": [
            {"cause": "connection_lost", "count": 24}, {"cause": "rdb_version", "count": 9},
            {"cause": "timeout", "count": 3}, {"cause": "output_buffer", "count": 1}, {"cause": "killed", "count": 1},
        ],
        "availability": [
            {"node": MASTER, "replica": replica, "observed_s": 86_280.0, "online_s": 86_280.0 * share,
             "availability": share, "cuts": cuts, "longest_outage_s": outage, "open_outage_s": None,
             "open_cause": None, "open_detail": None, "samples": 240,
             "lag_bytes_p50": 210_000.0, "lag_bytes_p90": 900_000.0, "lag_bytes_p99": 4.1e6, "lag_bytes_max": 7.7e6,
             "lag_s_p50": 0.2, "lag_s_p90": 0.6, "lag_s_p99": 1.0, "lag_s_max": 1.0, "output_buffer_max": 183 * MB}
            for replica, share, cuts, outage in zip(
                REPLICAS, (0.9987, 0.9941, 0.9612), (12, 14, 12), (61.0, 214.0, 3241.0)
            )
        ],
        "write_rate": [
            {"node": MASTER, "source": "samples", "observed_s": 86_000.0, "stream_bytes": 30_000 * MB,
             "bytes_per_s_mean": 348_000.0, "bytes_per_s_p50": 290_000.0, "bytes_per_s_p99": 2.6e6,
             "bytes_per_s_max": 4.4e6, "writes_per_s_p50": 2100.0, "writes_per_s_p99": 18_000.0,
             "backlog_size": 1 << 20, "cover_mean_s": 3.01, "cover_p99_s": 0.4}
        ],
        "forks": [
            {"day": "2026-11-21", "node": MASTER, "pid": 4000 + number, "at_us": minute(2 + 180 * number),
             "target": "socket", "why": "sync", "ok": True, "seconds": 24.0 + number, "bytes": 2400 * MB,
             "keys": 9_000_000, "private_bytes": 310 * MB, "replicas": 2 if not number else 1}
            for number in range(8)
        ],
        "skew": [
            {"node": MASTER, "reference": MASTER, "skew_ms": 0.0, "spread_ms": 0.0, "pairs": 0},
            {"node": REPLICAS[2], "reference": MASTER, "skew_ms": -1840.0, "spread_ms": 3.0, "pairs": 18},
        ],
        "nodes": [
            {"node": node, "kind": kind, "version": version, "port": 6379, "runs": 1, "first_us": minute(0),
             "last_us": minute(1438), "events": 4000}
            for node, kind, version in zip(
                (MASTER, *REPLICAS), ("pyrepl", "pyrepl", "redis", "valkey"), ("0.1.0", "0.1.0", "8.2.3", "8.0.1")
            )
        ],
        "backlog_what_if": [
            {"node": MASTER, "backlog_size": (1 << 20) + gap * MB, "avoided": place, "avoidable": 7,
             "share": place / 7, "saved_bytes": place * 2600 * MB, "saved_s": place * 55.0}
            for place, gap in enumerate((3, 9, 14, 22, 60, 130, 410), 1)
        ],
        "buffer_what_if": [
            {"node": MASTER, "limit_bytes": size * MB, "avoided": place, "avoidable": 3, "share": place / 3,
             "saved_s": 40.0 * place, "memory_bytes": 3 * size * MB}
            for place, size in enumerate((180, 268, 410), 1)
        ],
        "delay_what_if": [
            {"node": MASTER, "delay_s": 3.0, "saved": 1, "forks": 8, "share": 0.125, "waited_s": 63.0}
        ],
        "fleet_what_if": [
            {"setting": setting, "value": value, "avoided": avoided, "avoidable": all_of, "share": avoided / all_of,
             "memory_bytes": memory}
            for setting, value, avoided, all_of, memory in (
                ("client-output-buffer-limit", 2.0**28, 2, 3, 3 << 28),
                ("client-output-buffer-limit", 2.0**29, 3, 3, 3 << 29),
                ("repl-backlog-size", 2.0**22, 1, 7, 1 << 22),
                ("repl-backlog-size", 2.0**26, 5, 7, 1 << 26),
                ("repl-backlog-size", 2.0**29, 7, 7, 1 << 29),
                ("repl-diskless-sync-delay", 3.0, 1, 1, None),
            )
        ],
        "costs": [
            {"node": MASTER, "replicas": 3, "out_now": 1, "out_s": 3969.0, "fulls": 21, "avoidable": 17,
             "resent_bytes": 48_000 * MB, "unknown": 0, "forks": 8, "private_bytes": 310 * MB}
        ],
        "storms": [
            {"node": MASTER, "at_us": minute(2), "end_us": minute(3), "syncs": 3, "snapshots": 2, "delay_s": 3.0}
        ],
        "advice": [
            {"kind": "version_mismatch", "severity": "act", "node": MASTER, "replica": REPLICAS[2],
             "directive": "rdb-version", "value": "11", "confidence": "measured", "running_s": 2940.0, "share": 1.0,
             "count": 9, "saved_bytes": 9 * 2600 * MB,
             "saved_s": 495.0,
             "text": "cache-4:6379 was sent a snapshot 9 times that it cannot read (RDB version 80); each moved 2.6 GB "
             "in vain. Send it version 11."},
            {"kind": "backlog_size", "severity": "act", "node": MASTER, "replica": None,
             "directive": "repl-backlog-size", "value": "64mb", "least": "36mb", "confidence": "measured",
             "share": 0.714, "count": 7,
             "saved_bytes": 13_000 * MB, "saved_s": 275.0,
             "text": "7 full resyncs were due to a backlog of 1 MB, which covers 3 s of writes. 64mb would have made "
             "5 of them partial and saved 13 GB and 4 min 35 s."},
            {"kind": "rdb_channel", "severity": "consider", "node": MASTER, "replica": None,
             "directive": "repl-rdb-channel", "value": "yes", "share": None, "count": 3, "saved_bytes": None,
             "saved_s": None,
             "text": "With the RDB channel a full resync held 43 MB in the master's output buffer, without it 267 MB."},
            {"kind": "storm", "severity": "consider", "node": MASTER, "replica": None, "directive": None, "value": None,
             "share": None, "count": 1, "saved_bytes": None, "saved_s": None,
             "text": "One storm: 3 full resyncs took 2 snapshots; repl-diskless-sync-delay 5 would have shared one."},
        ],
        "files": [
            {"file": "logs/cache-1.jsonl", "node": MASTER, "form": "json", "bytes": 90 * MB, "lines": 400_000,
             "events": 399_996, "ignored": 0, "unparsed": 4, "unknown": 0, "wrapper": None,
             "error": None},
            {"file": "logs/secret.log", "node": None, "form": "unreadable", "bytes": 0, "lines": 0, "events": 0,
             "ignored": 0, "unparsed": 0, "unknown": 0, "wrapper": None, "error": "Permission denied"},
        ],
        "series": series(),
    }  # fmt: skip


def report(**changes: list[Row]) -> Report:
    """The sample, with some tables changed."""
    seconds = {"start": 5.1, "read": 7.75, "analyse": 3.0}
    return Report(tables() | changes, ("logs/",), MADE_AT_US, "0.1.0", seconds)


def empty() -> Report:
    """What is made of logs in which nothing happened."""
    return Report({}, ("logs/",), MADE_AT_US, "0.1.0")
