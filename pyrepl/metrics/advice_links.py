"""Advice on links that no size mends: loops, outages, replicas that stand still."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyrepl.metrics.amounts import shown, span, times
from pyrepl.metrics.facts import Row
from pyrepl.metrics.kinds import RDB_VERSION
from pyrepl.metrics.readers import reads

LASTING_S: Final = 60.0
"""An outage that had lasted so long when the logs end does not mend itself. Inclusive."""
AUTH: Final = ("WRONGPASS", "NOAUTH", "NOPERM", "AUTH", "invalid password", "invalid username")
"""Words by which a master that refuses tells that the replica's password or user is wrong."""
_STILL: Final = (
    "a process that was stopped, a machine that swaps, a full disk, a long command or script, a paused VM, a network "
    "that drops"
)
_HINTS: Final[Mapping[str, str]] = {
    "connect_failed": "Nothing answers at the master's address: see whether the master runs, and whether the replica "
    "can reach its port.",
    "refused": "The master answers and refuses: see TLS, and what the master's log says of it.",
    "auth": "The master refuses the replica's password or user: set masterauth (and masteruser) on the replica to what "
    "the master has.",
    "not_ready": "The master has no data to give: it is a replica itself, and its own link is down, or it is loading.",
    "timeout": "Nothing came for repl-timeout: see the network between the two, and whether either stood still.",
    "output_buffer": "The master cut the replica for its output buffer: see why the replica does not read.",
    "connection_lost": "The connection ends each time before the snapshot has come: see what stands between the two (a "
    "proxy, a firewall, a limit on connections), and whether one of them was ended.",
    "load_failed": "The replica cannot load the snapshot: its log says why; see its memory and its disk.",
    RDB_VERSION: "The replica is older than the master's snapshots: upgrade it.",
}
"""What to look at first, by the cause."""


def _shown(cause: str) -> str:
    """A code as a word of a sentence."""
    return cause.replace("_", " ")


def stalled(row: Row) -> Row:
    """A replica that did not read at all. No limit is advised: whatever its size, the buffer fills up."""
    back = row["back_s"]
    gone = "it has not come back since" if row["open_s"] is not None else ""
    away = f"there was no sign of life of it for {span(back)}" if back is not None else ""
    said = "; ".join(part for part in (away, gone) if part) or "it did not come back"
    waited = f" with up to {shown(row['most'])} waiting" if row["most"] else ""
    return {
        "kind": "stalled",
        "severity": "act",
        "node": row["node"],
        "replica": row["replica"],
        "count": row["count"],
        "running_s": row["open_s"],
        "cost_s": row["down_s"],
        "text": f"The master cut this replica {times(row['count'])} for client-output-buffer-limit{waited}, and "
        f"{said}: it did not read at all, and no buffer is large enough for that. See why it stood still: {_STILL}.",
    }


def loop(row: Row) -> Row:
    """Failures of one kind in a row."""
    version = row["reason"] == RDB_VERSION
    is_exact = row["bytes_known"] == row["count"]
    size = row["bytes"] if is_exact else row["bytes_estimate"]
    vain = "" if size is None else f", {'' if is_exact else 'about '}{shown(size)} sent in vain"
    again = f"{row['count']} times in a row, every {span(row['every_s'])}{vain}"
    piece = {
        "kind": "version_mismatch" if version else "loop",
        "severity": "consider" if row["over"] else "act",
        "node": row["node"],
        "replica": row["replica"],
        "count": row["count"],
        "saved_bytes": size,
        "running_s": row["open_s"],
        "cost_s": (row["last_us"] - row["first_us"]) / 1e6,
    }
    if version:
        return piece | _version(row, again)
    hint = _HINTS.get(row["reason"], "See both ends' logs.")
    return piece | {"text": f"Syncs of this pair failed by {_shown(row['reason'])}: {again}. {hint}"}


def _version(row: Row, again: str) -> Row:
    """A replica that is too old for the snapshots. A pyrepl can write older ones; other masters cannot."""
    said = (
        f"The replica cannot read this master's snapshots ({row['detail'] or 'RDB version'}): {again}. It will never "
        "succeed:"
    )
    number = reads(row["replica_kind"], row["replica_version"])
    if row["kind"] != "pyrepl":
        return {"text": f"{said} upgrade the replica, or put a pyrepl between the two, which writes older snapshots."}
    if number is None:
        return {"text": f"{said} upgrade the replica, or set rdb-version on the master to what the replica reads."}
    return {
        "directive": "rdb-version",
        "value": str(number),
        "share": 1.0,
        "confidence": "measured",
        "text": f"{said} upgrade the replica, or let the master write what {row['replica_kind']} "
        f"{row['replica_version']} reads: rdb-version {number}.",
    }


def outage(row: Row) -> Row:
    """A pair without a stream when the logs end."""
    cause, detail = row["open_cause"] or "unknown", row["open_detail"]
    auth = cause == "refused" and any(word in (detail or "") for word in AUTH)
    said = f" ({detail.rstrip('.')})" if detail else ""
    hint = _HINTS.get("auth" if auth else cause, "")
    return {
        "kind": "auth" if auth else "outage",
        "severity": "act" if auth or row["open_outage_s"] >= LASTING_S else "consider",
        "node": row["node"],
        "replica": row["replica"],
        "directive": "masterauth" if auth else None,
        "count": row["cuts"],
        "running_s": row["open_outage_s"],
        "text": f"When the logs end the replica has not had this master's stream for {row['open_outage_s']:,.1f} "
        f"s; the last cause is {_shown(cause)}{said}.{f' {hint}' if hint else ''}",
    }
