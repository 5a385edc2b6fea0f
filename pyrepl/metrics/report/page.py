"""The page: one HTML file that needs no network, with charts, for the screen in light and dark and for paper.

What is drawn is charts.py's, what is listed listing.py's; the form is in templates/.
"""

from __future__ import annotations

import json
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pyrepl.metrics.report import charts, lines, listing, troubles, what_ifs, words
from pyrepl.metrics.report.charts import Spec
from pyrepl.metrics.report.model import Report, real, whole
from pyrepl.metrics.report.queries import QUERIES, VIEW
from pyrepl.metrics.report.troubles import Tile

_MOST_SOURCES: Final = 3
_SHORT_US: Final = 3_600_000_000
"""Below this the seconds count."""


def page(report: Report, bundle: str) -> str:
    """The whole file. `bundle` is the JavaScript that draws the charts (library.py)."""
    environment = Environment(
        loader=PackageLoader("pyrepl.metrics.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    source = environment.loader
    assert source is not None
    plain = {name: source.get_source(environment, name)[0] for name in ("report.css", "report.js")}
    drawn = drawings(report)
    several = {name: lines.over_time(report, *wanted) for name, wanted in _LINES.items()}
    specs = drawn | {f"{name}-{place}": spec for name, own in several.items() for place, (_, spec) in enumerate(own)}
    return environment.get_template("report.html").render(
        report=report,
        css=Markup(plain["report.css"]),
        script=Markup(plain["report.js"]),
        bundle=Markup(_inside_script(bundle)),
        specs=Markup(_as_script_data(specs)),
        charts=dict.fromkeys(_DRAWINGS, False) | dict.fromkeys(drawn, True),
        several={name: [whose for whose, _ in own] for name, own in several.items()},
        titles={name: title for name, (_, title) in _LINES.items()},
        queries=QUERIES,
        view=VIEW,
        broken=troubles.broken(report),
        out_now=troubles.out_now(report),
        broken_kinds=troubles.broken_kinds(report),
        first_actions=troubles.FIRST_ACTIONS,
        first_broken=troubles.FIRST_BROKEN,
        more_broken=troubles.more_broken(report),
        costs=troubles.costs(report),
        cards=troubles.cards(report),
        more_masters=troubles.more_masters(report),
        tiles=tiles(report),
        modes=listing.modes(report),
        availability=listing.availability(report),
        rates=listing.rates(report),
        lists=listing.lists(report),
        span=_span(report),
        nodes=f"{len(report.rows('nodes')):,} node{'' if len(report.rows('nodes')) == 1 else 's'}",
        sources=_sources(report),
        made_at=words.time(report.made_at_us),
        steps=", ".join(f"{step} {words.span(spent)}" for step, spent in report.seconds.items()),
        thinned=charts.is_thinned(report),
        pairs=len(report.rows("availability")),
        most_lanes=charts.MOST_LANES,
        most_lines=lines.MOST_LINES,
    )


_LINES: Final[dict[str, tuple[str, str]]] = {
    "lag_bytes": ("lag_bytes", "lag, bytes"),
    "lag_s": ("lag_s", "since the last ACK, s"),
    "output_bytes": ("output_bytes", "output buffer, bytes"),
    "sync_buffer_bytes": ("sync_buffer_bytes", "held while loading, bytes"),
}
"""Name of a set of small charts -> the column of `series`, and what it is called."""
_DRAWINGS: Final[dict[str, Any]] = {
    "timeline": charts.timeline,
    "phases": charts.phases,
    "backlog": what_ifs.backlog,
    "limit": what_ifs.limit,
    "delay": what_ifs.delay,
    "fleet_backlog": lambda report: what_ifs.fleet(report, "repl-backlog-size"),
    "fleet_limit": lambda report: what_ifs.fleet(report, "client-output-buffer-limit"),
    "fleet_delay": lambda report: what_ifs.fleet(report, "repl-diskless-sync-delay"),
    "full_causes": lambda report: charts.causes(report.rows("full_causes"), "var(--diskless)"),
    "cut_causes": lambda report: charts.causes(report.rows("cut_causes"), "var(--channel)"),
}
"""Name of a chart in the page -> how it is made."""


def drawings(report: Report) -> dict[str, Spec]:
    """The charts for which there is something to draw."""
    made = {name: make(report) for name, make in _DRAWINGS.items()}
    return {name: spec for name, spec in made.items() if spec is not None}


def tiles(report: Report) -> list[Tile]:
    """The numbers at the head of the page."""
    totals = report.totals
    failed, ratio = whole(totals, "full_failed"), real(totals, "partial_ratio")
    worst = min((real(row, "availability") or 0.0 for row in report.rows("availability")), default=None)
    cuts = sum(whole(row, "count") for row in report.rows("cut_causes"))
    made = [
        Tile(words.count(whole(totals, "syncs")), "syncs"),
        Tile(words.count(whole(totals, "partial_ok")), "partial"),
        Tile(words.count(whole(totals, "full_ok")), "full"),
        Tile(words.count(failed), "full that failed", "bad" if failed else "good"),
        Tile(words.share(ratio), "of returns were partial", _tone(ratio, 0.95, 0.75)),
        Tile(words.count(cuts), "links cut"),
        Tile(words.share(worst), "in step, the worst replica", _tone(worst, 0.999, 0.99)),
    ]
    dumps, unparsed, unknown = (whole(totals, name) for name in ("dumps", "unparsed_lines", "unknown_lines"))
    if dumps:
        made.append(Tile(words.count(dumps), "dumps taken by tools"))
    if unknown:
        made.append(Tile(words.count(unknown), "lines on replication not understood: all counts may be low", "bad"))
    if unparsed:
        made.append(Tile(words.count(unparsed), "lines that are no log lines", "warn"))
    return made


def _tone(share: float | None, good: float, fair: float) -> str:
    if share is None:
        return ""
    return "good" if share >= good else "warn" if share >= fair else "bad"


def _span(report: Report) -> str:
    span = report.span_us
    if span is None:
        return "no events"
    short = span[1] - span[0] < _SHORT_US
    begin, end = words.time(span[0], seconds=short), words.time(span[1], seconds=short)
    return f"{begin} to {end[11:] if begin[:10] == end[:10] else end} UTC"


def _sources(report: Report) -> str:
    shown = ", ".join(report.sources[:_MOST_SOURCES])
    more = len(report.sources) - _MOST_SOURCES
    return f"{shown} and {more} more" if more > 0 else shown or "nothing"


def _as_script_data(value: Any) -> str:
    """JSON that no text in it can end the element around it."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _inside_script(code: str) -> str:
    """Code whose strings cannot end the element around it."""
    return code.replace("</script", "<\\/script").replace("<!--", "<\\!--")
