"""What the latency monitor has seen, as text for people: LATENCY GRAPH and LATENCY DOCTOR.

The graph has the form of Redis's: a head line, columns whose height is the sample's share of the highest, and below
each column how long ago it was. The doctor's sentences are ours. Each advice names a directive or a command of pyrepl
that changes what is complained of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyrepl.config.settings import Settings
from pyrepl.node.latency_monitor import (
    AOF_FSYNC_ALWAYS,
    AOF_WRITE,
    COMMAND,
    EVICTION_CYCLE,
    EXPIRE_CYCLE,
    FAST_COMMAND,
    FORK,
    LatencyMonitor,
    Sample,
    Series,
)

_HEIGHT: Final = 4
_WIDTH: Final = 80
_STEPS: Final = ("_", "o", "#")
"""How far a column reaches into its highest row: below a third, below two thirds, above."""
_UNITS: Final = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))

_OFF: Final = (
    "The latency monitor is off. CONFIG SET latency-monitor-threshold <milliseconds> makes it note what takes that"
    " long.\n"
)
_NOTHING: Final = "Nothing has taken as long as latency-monitor-threshold ({} ms) since the start or the last reset.\n"


def graph(event: str, series: Series, now_s: int) -> str:
    """The graph of one kind of event; `now_s` is Unix time. The newest samples that fit into 80 columns are shown."""
    samples = list(series.samples)[-_WIDTH:]
    high = max(sample.took_ms for sample in samples)
    low = min(sample.took_ms for sample in samples)
    head = f"{event} - high {high} ms, low {low} ms (all time high {series.most_ms} ms)"
    columns = [_column(sample.took_ms, low, high) + _label(now_s - sample.at_s) for sample in samples]
    depth = max(map(len, columns))
    rows = ["".join(column[row : row + 1] or " " for column in columns) for row in range(depth)]
    return "\n".join((head, "-" * _WIDTH, *rows, ""))


def _column(took_ms: int, low: int, high: int) -> str:
    """The signs of one column from the top down; the lowest sample is a flat line."""
    thirds = (took_ms - low) * (3 * _HEIGHT - 1) // max(1, high - low)
    full, part = divmod(thirds, 3)
    return " " * (_HEIGHT - 1 - full) + _STEPS[part] + "|" * full


def _label(ago_s: int) -> str:
    """How long ago, from the top down below a column: `15s`, `3m`."""
    size, unit = next((row for row in _UNITS if ago_s >= row[0]), _UNITS[-1])
    return f"{max(0, ago_s) // size}{unit}"


def doctor(monitor: LatencyMonitor, settings: Settings) -> str:
    """What the samples look like, and what to do about them."""
    if not monitor.is_on and not monitor.series:
        return _OFF
    if not monitor.series:
        return _NOTHING.format(settings.latency_monitor_threshold)
    lines = ["Events that took long:", ""]
    for number, (event, series) in enumerate(sorted(monitor.series.items()), 1):
        lines.append(f"{number}. {event}: {_figures(series)}.")
    advice = [text for event in sorted(monitor.series) for text in _advice(event, settings)]
    lines += ["", "What you can do:", "", *(f"- {text}" for text in dict.fromkeys(advice))]
    return "\n".join((*lines, ""))


def _figures(series: Series) -> str:
    """Count, mean, mean deviation, period and worst of a series."""
    samples = series.samples
    mean = sum(sample.took_ms for sample in samples) / len(samples)
    deviation = sum(abs(sample.took_ms - mean) for sample in samples) / len(samples)
    return (
        f"{len(samples)} samples (mean {mean:.0f} ms, mean deviation {deviation:.0f} ms,"
        f" one in {_period_s(samples):.2f} s); the worst took {series.most_ms} ms"
    )


def _period_s(samples: Sequence[Sample]) -> float:
    """Seconds from one sample to the next, in the mean; 1 s at least, as samples of one second are one."""
    return max(1.0, (samples[-1].at_s - samples[0].at_s) / max(1, len(samples) - 1))


def _advice(event: str, settings: Settings) -> list[str]:
    """What to do about one kind of event."""
    if event in (COMMAND, FAST_COMMAND):
        found = ["Look at SLOWLOG GET: it has the commands that took longest."]
        slower_us = settings.slowlog_log_slower_than
        wanted_us = settings.latency_monitor_threshold * 1000
        if wanted_us and (slower_us < 0 or slower_us > wanted_us):
            found.insert(
                0, f"The slow log notes less than this monitor: CONFIG SET slowlog-log-slower-than {wanted_us}."
            )
        return found
    return list(_ADVICE.get(event, ()))


_ADVICE: Final[dict[str, tuple[str, ...]]] = {
    FORK: (
        "A fork takes the longer the more memory the node has. Save less often (CONFIG SET save), and switch"
        " transparent huge pages off in the system.",
    ),
    EXPIRE_CYCLE: (
        "Many keys expire at the same moment. Spread their times to live, or lower active-expire-effort, which deletes"
        " less at a time.",
    ),
    EVICTION_CYCLE: ("Many keys have to be evicted at a time. Raise maxmemory, or write less large values.",),
    AOF_WRITE: (
        "The disk makes writes to the append-only file wait. Give it a disk of its own, or set"
        " no-appendfsync-on-rewrite to yes while rewrites run.",
    ),
    AOF_FSYNC_ALWAYS: (
        "With appendfsync always each write waits for the disk. CONFIG SET appendfsync everysec risks a second of"
        " writes instead.",
    ),
}
