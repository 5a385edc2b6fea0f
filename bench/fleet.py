"""Logs of a fleet that never was: masters with a replica each, half of the pairs with event logs, half with text logs.

    python -m bench.fleet OUT --nodes 1000 --lines 500

A folder for each pair, a file for each node. The pairs' clocks agree; a pair syncs in full, is cut, and continues,
again and again. What an event log has besides are samples, as a real one; a text log has the lines of Redis 7.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

BEGIN_US: Final = 1_795_000_000_000_000
SAMPLES: Final = 8
"""Of an event log, for each of its other lines."""
_ROUND_US: Final = 60_000_000
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def make(folder: Path, nodes: int, lines: int) -> int:
    """Write about `lines` lines for each of `nodes` nodes; how many bytes that came to."""
    size = 0
    for pair in range(nodes // 2):
        own = folder / f"p{pair:05}"
        own.mkdir(parents=True, exist_ok=True)
        made = _text(pair, lines) if pair % 2 else _events(pair, lines)
        for name, told in made.items():
            data = "".join(told).encode()
            (own / name).write_bytes(data)
            size += len(data)
    return size


def _replid(pair: int) -> str:
    return f"{pair:040x}"


def _rounds(pair: int, count: int) -> Iterator[tuple[int, int, bool]]:
    """When each round of a pair begins, at which offset, and whether it is a full sync."""
    rng = random.Random(pair)
    at_us, offset = BEGIN_US + rng.randrange(_ROUND_US), 1000
    for number in range(count):
        yield at_us, offset, number % 3 == 0
        at_us += _ROUND_US + rng.randrange(_ROUND_US)
        offset += rng.randrange(10_000, 5_000_000)


def _events(pair: int, lines: int) -> dict[str, list[str]]:
    """An event log of pyrepl for both ends; each round has three events, and samples at the master."""
    made: dict[str, list[str]] = {"master.jsonl": [], "replica.jsonl": []}
    numbers = dict.fromkeys(made, 0)
    replid, (ours, theirs) = _replid(pair), (f"10.{pair >> 8}.{pair & 255}.{last}:6379" for last in (1, 2))

    def tell(name: str, at_us: int, **told: Any) -> None:
        numbers[name] += 1
        node = f"{name.partition('.')[0]}-{pair}"
        head = {"v": 1, "at_us": at_us, "mono_us": at_us - BEGIN_US, "seq": numbers[name], "node": node,
                "run": f"{node:0>40}", "role": name.partition(".")[0], "replid": replid}  # fmt: skip
        made[name].append(json.dumps(head | told, separators=(",", ":")) + "\n")

    for number, (at_us, offset, full) in enumerate(_rounds(pair, max(1, lines // (3 + SAMPLES)))):
        sync = f"{pair}-{number}/{replid[-6:]}"
        for name, end, late in (("replica.jsonl", "replica", 0), ("master.jsonl", "master", 300)):
            both = {"offset": offset, "sync": sync, "peer": theirs if end == "master" else ours}
            verdict: dict[str, Any] = {"verdict": "full", "cause": "first", "snapshot_offset": offset} if full else {
                "verdict": "continue", "asked_offset": offset - 9000, "missing_bytes": 9000}  # fmt: skip
            tell(name, at_us + late, event="psync_asked", end=end, **both)
            tell(name, at_us + 2000 - late, event="psync_decided", end=end, **both, **verdict)
            if full:
                tell(name, at_us + 90_000 + late, event="online", end=end, **both, mode="full_diskless", sync_ms=90)
        for place in range(SAMPLES):
            state: dict[str, Any] = {
                "offset": offset + place * 100, "replicas": 1, "output_bytes": 0, "writes_per_s": 900.5,
                "stream_bytes_per_s": 90000.5, "backlog_size_bytes": 1 << 20,
            }  # fmt: skip
            if place % 2:
                state = {"offset": offset, "peer": theirs, "phase": "online", "lag_bytes": place * 10, "lag_s": 0.25}
            event = "replica_sample" if place % 2 else "sample"
            tell("master.jsonl", at_us + (place + 1) * 1_000_000, event=event, **state)
        tell("master.jsonl", at_us + 20_000_000, event="replica_down", offset=offset, sync=sync, peer=theirs,
             phase="online", cause="connection_lost", by_us=False)  # fmt: skip
    return made


def _line(pid: int, letter: str, at_us: int, text: str) -> str:
    at = datetime.fromtimestamp(at_us / 1e6, UTC)
    shown = f"{at.day:02} {_MONTHS[at.month - 1]} {at.year} {at:%H:%M:%S}.{at_us // 1000 % 1000:03}"
    return f"{pid}:{letter} {shown} * {text}\n"


def _text(pair: int, lines: int) -> dict[str, list[str]]:
    """A text log of Redis 7 for both ends; a round has about five lines at each."""
    replid = _replid(pair)
    replica, master = f"10.{pair >> 8}.{pair & 255}.2:6379", f"10.{pair >> 8}.{pair & 255}.1:6379"
    ours, theirs = [], []
    for number, (at_us, offset, full) in enumerate(_rounds(pair, max(1, lines // 5))):
        if not number:
            begun = f"Replication backlog created, my new replication IDs are '{replid}' and '{'0' * 40}'"
            ours.append(_line(7, "M", at_us, begun))
        theirs.append(_line(8, "S", at_us - 2000, f"Connecting to MASTER {master}"))
        if full:
            ours += [_line(7, "M", at_us + 1000 * late, text) for late, text in (
                (0, f"Replica {replica} asks for synchronization"),
                (0, f"Full resync requested by replica {replica}"),
                (60, f"Streamed replica with replica {replica} succeeded (socket). Waiting for REPLCONF ACK from "
                     "replica to enable streaming"),
                (70, f"Synchronization with replica {replica} succeeded"),
            )]  # fmt: skip
            theirs += [_line(8, "S", at_us + 1000 * late, text) for late, text in (
                (2, f"Full resync from master: {replid}:{offset}"),
                (60, "MASTER <-> REPLICA sync: Finished with success"),
            )]  # fmt: skip
        else:
            behind = offset - 9000
            theirs.append(
                _line(8, "S", at_us - 1000, f"Trying a partial resynchronization (request {replid}:{behind}).")
            )
            theirs.append(
                _line(8, "S", at_us + 2000, "MASTER <-> REPLICA sync: Master accepted a Partial Resynchronization.")
            )
            ours.append(_line(7, "M", at_us, f"Replica {replica} asks for synchronization"))
            ours.append(_line(7, "M", at_us + 1000, f"Partial resynchronization request from {replica} accepted. "
                              f"Sending 9000 bytes of backlog starting from offset {behind}."))  # fmt: skip
        ours.append(_line(7, "M", at_us + 30_000_000, f"Connection with replica {replica} lost."))
        theirs.append(_line(8, "S", at_us + 30_000_000, "Connection with master lost."))
    return {"master.log": ours, "replica.log": theirs}


def main() -> None:
    """As the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--lines", type=int, default=500)
    asked = parser.parse_args()
    print(f"{make(asked.out, asked.nodes, asked.lines) / 1e6:,.1f} MB")


if __name__ == "__main__":
    main()
