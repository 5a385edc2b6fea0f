"""INFO commandstats, errorstats and latencystats: a line per command that was called, one per kind of error reply."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pyrepl.node.node import Node
from pyrepl.observability.info.field import Rows, Section

_UNSAFE: Final = str.maketrans("#:\r\n", "____")


def _commands(node: Node) -> Iterator[tuple[str, str]]:
    for name, row in node.stats.commands.items():
        if row.calls or row.rejected_calls or row.failed_calls:
            usec = int(row.seconds * 1e6)
            per_call = row.seconds * 1e6 / row.calls if row.calls else 0.0
            yield (
                f"cmdstat_{name}",
                f"calls={row.calls},usec={usec},usec_per_call={per_call:.2f},"
                f"rejected_calls={row.rejected_calls},failed_calls={row.failed_calls}",
            )


def _latencies(node: Node) -> Iterator[tuple[str, str]]:
    percents = node.settings.latency_tracking_info_percentiles
    for name, row in node.stats.commands.items():
        if row.latencies.count:
            shown = (f"p{_short(percent)}={row.latencies.percentile_us(percent):.3f}" for percent in percents)
            yield f"latency_percentiles_usec_{name}", ",".join(shown)


def _short(percent: float) -> str:
    return f"{percent:f}".rstrip("0").rstrip(".")


def _errors(node: Node) -> Iterator[tuple[str, str]]:
    for word, count in sorted(node.stats.errors.items()):
        yield f"errorstat_{word.translate(_UNSAFE)}", f"count={count}"


COMMANDSTATS: Final = Section(
    "Commandstats",
    (
        Rows(
            "cmdstat_<command>",
            _commands,
            "Per command: calls, time they took, calls that were refused, calls that failed.",
        ),
    ),
    usual=False,
)

ERRORSTATS: Final = Section("Errorstats", (Rows("errorstat_<word>", _errors, "Error replies, by their first word."),))

LATENCYSTATS: Final = Section(
    "Latencystats",
    (
        Rows(
            "latency_percentiles_usec_<command>",
            _latencies,
            "Per command: microseconds that so many per cent of the calls did not exceed;"
            " latency-tracking-info-percentiles says which.",
        ),
    ),
    usual=False,
)
