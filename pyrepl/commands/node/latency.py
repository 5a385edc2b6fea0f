"""LATENCY: what the latency monitor noted (`node.latency_monitor`), and how long commands took (`node.latencies`)."""

from __future__ import annotations

from typing import Final

from pyrepl.commands.describe.help import help_reply
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import ADMIN, LOADING, NOSCRIPT, STALE, command, container
from pyrepl.errors import CommandError
from pyrepl.node.latency_monitor import Series
from pyrepl.observability.latency_report import doctor, graph
from pyrepl.resp.reply import Reply, Simple, Verbatim
from pyrepl.words import to_text

_ADMIN: Final = ADMIN | NOSCRIPT | LOADING | STALE

latency = container("LATENCY", group="server", since="2.8.13", summary="A container for latency diagnostics commands")


@command("LATENCY|LATEST", arity=2, flags=_ADMIN, group="server", since="2.8.13")
def latency_latest(call: Call) -> list[Reply]:
    """Answer of each kind of event that took long: its name, when it last did, how many ms then and at most"""
    found: list[Reply] = []
    for event, series in call.node.latency_monitor.series.items():
        last = series.samples[-1]
        found.append([event.encode(), last.at_s, last.took_ms, series.most_ms])
    return found


@command("LATENCY|HISTORY", arity=3, flags=_ADMIN, group="server", since="2.8.13")
def latency_history(call: Call, event: bytes) -> list[Reply]:
    """Answer the samples of one kind of event: Unix time in seconds, and ms"""
    series = _series(call, event)
    return [] if series is None else [[sample.at_s, sample.took_ms] for sample in series.samples]


def _series(call: Call, event: bytes) -> Series | None:
    """The series of a kind of event; None if it had no sample."""
    return call.node.latency_monitor.series.get(to_text(event))


@command("LATENCY|GRAPH", arity=3, flags=_ADMIN, group="server", since="2.8.13")
def latency_graph(call: Call, event: bytes) -> Verbatim:
    """Draw the samples of one kind of event"""
    series = _series(call, event)
    name = to_text(event)
    if series is None:
        raise CommandError(f"ERR No samples available for event '{name}'")
    return Verbatim(graph(name, series, call.now_ms // 1000).encode())


@command("LATENCY|DOCTOR", arity=2, flags=_ADMIN, group="server", since="2.8.13")
def latency_doctor(call: Call) -> Verbatim:
    """Say what took long, and what to do about it"""
    return Verbatim(doctor(call.node.latency_monitor, call.node.settings).encode())


@command("LATENCY|HISTOGRAM", arity=-2, flags=_ADMIN, group="server", since="7.0.0")
def latency_histogram(call: Call, *names: bytes) -> dict[Reply, Reply]:
    """Answer how many calls of each command took no longer than so many microseconds; without names, of all."""
    rows = call.node.stats.commands
    wanted = {to_text(name).lower() for name in names}
    found: dict[Reply, Reply] = {}
    for name, row in rows.items():
        if row.latencies.count and (not wanted or name in wanted or name.partition("|")[0] in wanted):
            steps: dict[Reply, Reply] = dict(row.latencies.doublings())
            found[name.encode()] = {b"calls": row.latencies.count, b"histogram_usec": steps}
    return found


@command("LATENCY|RESET", arity=-2, flags=_ADMIN, group="server", since="2.8.13")
def latency_reset(call: Call, *events: bytes) -> int:
    """Forget the samples of these kinds of events, or of all; how many kinds had some"""
    return call.node.latency_monitor.reset([to_text(event) for event in events])


@command("LATENCY|HELP", arity=2, flags=LOADING | STALE, group="server", since="2.8.13")
def latency_help(call: Call) -> list[Simple]:
    """Show what LATENCY can do"""
    return help_reply(
        "LATENCY",
        "DOCTOR",
        "    Return a human readable latency analysis report.",
        "GRAPH <event>",
        "    Return an ASCII latency graph for the <event> class.",
        "HISTORY <event>",
        "    Return time-latency samples for the <event> class.",
        "LATEST",
        "    Return the latest latency samples for all events.",
        "RESET [<event> ...]",
        "    Reset latency data of one or more <event> classes.",
        "    (default: reset all data for all event classes)",
        "HISTOGRAM [COMMAND ...]",
        "    Return a cumulative distribution of latencies in the format of a histogram for the specified command"
        " names.",
        "    If no commands are specified then all histograms are replied.",
    )
