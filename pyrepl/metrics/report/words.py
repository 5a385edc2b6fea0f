"""Numbers and codes as people read them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

NOT_TOLD: Final = "–"
"""Where the logs do not tell."""

MODES: Final[dict[str, str]] = {
    "continue": "partial",
    "full_disk": "full, from a file",
    "full_diskless": "full, diskless",
    "rdb_channel": "full, RDB channel",
    "dual_channel": "full, dual channel",
}
"""The modes of a sync, in the order in which they are shown."""

CAUSES: Final[dict[str, str]] = {
    "first": "first sync of the replica",
    "id_mismatch": "another history (id mismatch)",
    "past_fork": "past the fork of the old id",
    "out_of_backlog": "out of the backlog",
    "no_backlog": "no backlog",
    "above_offset": "replica ahead of its master",
    "forced": "forced",
    "load_failed": "snapshot could not be loaded",
    "rdb_version": "RDB version not understood",
    "timeout": "timeout",
    "output_buffer": "output buffer limit",
    "connection_lost": "connection lost",
    "connect_failed": "could not connect",
    "refused": "refused",
    "not_ready": "master not ready",
    "protocol": "protocol error",
    "snapshot_failed": "snapshot could not be made",
    "apply_failed": "stream could not be applied",
    "stopped": "ended by the node itself",
    "role_change": "role changed",
    "shutdown": "shutdown",
    "killed": "CLIENT KILL",
    "unknown": "not told",
}

PHASES: Final[dict[str, str]] = {
    "handshake_ms": "handshake",
    "wait_bgsave_ms": "wait for snapshot",
    "transfer_ms": "transfer",
    "load_ms": "load",
    "catch_up_ms": "catch up",
}
"""The phases of a sync by their columns, in the order in which they come."""

_DECIMAL: Final = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3))
_SPANS: Final = (("d", 86400.0, "h", 3600.0), ("h", 3600.0, "min", 60.0), ("min", 60.0, "s", 1.0))


def mode(code: str) -> str:
    """A mode in words; a code that is not known stays."""
    return MODES.get(code, code)


def cause(code: str) -> str:
    """A cause in words; a code that is not known stays."""
    return CAUSES.get(code, code.replace("_", " ") if code else NOT_TOLD)


def size(count: float | None) -> str:
    """Bytes, decimal: `1.5 MB`."""
    if count is None:
        return NOT_TOLD
    for unit, factor in _DECIMAL:
        if abs(count) >= factor:
            return f"{count / factor:.3g} {unit}" if abs(count) < 1000 * factor else f"{count / factor:,.0f} {unit}"
    return f"{count:.0f} B"


def moved(known_bytes: float | None, estimate: float | None, known: int, count: int) -> str:
    """Bytes of so many syncs of which `known` tell theirs: `1.5 MB`, `1.5 MB (4 of 9), about 3.4 MB in all`."""
    if known >= count:
        return size(known_bytes)
    about = f"about {size(estimate)} in all" if estimate is not None else ""
    told = f"{size(known_bytes)} ({known} of {count})" if known else ""
    return ", ".join(part for part in (told, about) if part) or NOT_TOLD


def memory(count: float | None) -> str:
    """Bytes as configuration files write them: `64mb`, `1.5gb`."""
    if count is None:
        return NOT_TOLD
    for unit, factor in (("gb", 1 << 30), ("mb", 1 << 20), ("kb", 1 << 10)):
        if count >= factor:
            return f"{count / factor:.3g}{unit}"
    return f"{count:.0f}"


def span(seconds: float | None) -> str:
    """A duration: `1 h 5 min`, `12 s`, `4.2 s`, `250 ms`."""
    if seconds is None:
        return NOT_TOLD
    for unit, length, below, part in _SPANS:
        if seconds >= length:
            rest = int(seconds % length / part)
            return f"{int(seconds / length)} {unit}" + (f" {rest} {below}" if rest else "")
    if seconds >= 10:
        return f"{seconds:.0f} s"
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{seconds * 1000:.0f} ms" if seconds >= 0.001 or not seconds else f"{seconds * 1000:.1f} ms"


def span_ms(ms: float | None) -> str:
    """A duration given in milliseconds."""
    return span(None if ms is None else ms / 1000)


def share(part: float | None) -> str:
    """A ratio between 0 and 1: `99.95 %`, with as many digits as it takes not to claim all of it."""
    if part is None:
        return NOT_TOLD
    percent = part * 100
    for digits in (0, 1, 2, 3):
        text = f"{percent:.{digits}f}"
        if part >= 1 or part <= 0 or float(text) not in (0.0, 100.0):
            return f"{text} %"
    return "< 100 %" if part > 0.5 else "> 0 %"


def count(number: float | None) -> str:
    """A whole number: `1,234`."""
    return NOT_TOLD if number is None else f"{number:,.0f}"


def several(number: int, noun: str) -> str:
    """How many of what: "1 sync", "1,200 syncs". `noun` is in the singular and takes an s."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def rate(per_s: float | None) -> str:
    """Bytes a second."""
    return NOT_TOLD if per_s is None else f"{size(per_s)}/s"


def time(at_us: int | None, *, seconds: bool = True) -> str:
    """A point in time, UTC: `2026-11-21 10:56:24`."""
    if not at_us:
        return NOT_TOLD
    at = datetime.fromtimestamp(at_us / 1e6, UTC)
    return f"{at:%Y-%m-%d %H:%M:%S}" if seconds else f"{at:%Y-%m-%d %H:%M}"
