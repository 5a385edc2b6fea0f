"""The subcommand `pyrepl metrics`: its options, and what help says. The work is in run.py."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from typing import Final

import click

from ..helping import PagedCommand

FORMATS: Final = ("text", "json", "csv", "openmetrics", "prometheus", "otlp", "html")
ANSWERS: Final = ("text", "json", "csv")
"""How answers to --sql are printed."""


@click.command(cls=PagedCommand)
@click.argument("logs", nargs=-1, metavar="LOG...", type=click.Path())
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder for all results; see above.")
@click.option("--master", default="", metavar="URL", help="Spark to run on: spark://host:7077; else local[*].")
@click.option("--conf", multiple=True, metavar="NAME=VALUE", help="A setting for Spark; may be given often.")
@click.option(
    "--packages", default="", metavar="G:A:V,...", help="Packages that Spark is to load, by Maven coordinates."
)
@click.option(
    "--since",
    default="",
    metavar="TIME",
    help="Only what began then or later: 2026-11-21T10:00, or 7d for the last 7 days.",
)
@click.option("--until", default="", metavar="TIME", help="Only what began before.")
@click.option(
    "--format", "wanted", type=click.Choice(FORMATS), default="text", show_default=True, help="What to print."
)
@click.option("--sql", multiple=True, metavar="SELECT", help="Ask the result tables; may be given often. See above.")
@click.option("--delta", is_flag=True, help="Write the result tables in the format of Delta Lake too; needs --out.")
@click.option("--zone", default="UTC", show_default=True, help="Time zone of text logs, as Europe/Berlin.")
@click.option("--quiet", is_flag=True, help="No progress on standard error; with --follow no lines.")
@click.option("--follow", is_flag=True, help="Go on as the logs grow, until stopped; needs --out. See above.")
@click.option("--every", default="10s", show_default=True, help="With --follow: how often to look for new lines.")
@click.option("--late", default="1m", show_default=True, help="With --follow: how late lines may come.")
def metrics(
    logs: tuple[str, ...],
    out: Path | None,
    master: str,
    conf: tuple[str, ...],
    packages: str,
    since: str,
    until: str,
    wanted: str,
    sql: tuple[str, ...],
    delta: bool,
    zone: str,
    quiet: bool,
    follow: bool,
    every: str,
    late: str,
) -> None:
    """Tell from logs what replication cost, and what would make it cheaper.

    LOG is a file, a folder, which is searched to its bottom, or a pattern in quotes: event logs of pyrepl, ordinary
    logs of pyrepl, Redis 6 to 8 and Valkey 8 and 9, also packed (.gz, .bz2, .zst). Logs of both ends of a link are
    joined.

    \b
    With --out DIR it writes
      DIR/report.html    charts, advice and tables, one file that needs no network
      DIR/metrics.json   the same as --format json
      DIR/metrics.prom   the same as --format prometheus, for node_exporter's textfile folder
      DIR/metrics.openmetrics  the same as --format openmetrics
      DIR/results/       every result table as Parquet, happenings by day; leads to the newest in DIR/versions/
      DIR/delta/         with --delta: the same as tables of Delta Lake
      DIR/tables/        what was read; the next run with this DIR reads only what is new

    With --sql Spark answers from the result tables, and only the answers are printed: as text, json (an object a line)
    or csv. With --out of an earlier run LOG may be left out: the results there are asked, and no log is read.

    With --follow it reads new lines and new files as they come, also from logs that are rotated, and writes all of DIR
    anew whenever there were new lines. If it is stopped or killed, even in a batch, the next start with this DIR goes
    on from there: no line is lost and none counts twice. What ended before the final_before_us of follow.json is
    final, unless lines come later than --late; such lines count all the same.

    \b
    With --follow DIR also has
      DIR/follow.json    when it was written, and what is final, Unix us; written last
      DIR/checkpoint/    Spark's own
    """
    from pyrepl.analysis.asked import Asked

    from . import run as screen
    from .options import Options

    now_us = time.time_ns() // 1000
    since_us, until_us = _bound("--since", since, now_us), _bound("--until", until, now_us)
    every_s, late_s = _span("--every", every), _span("--late", late)
    _refuse(logs, out, wanted, sql, follow)
    if delta and not (logs and out):
        raise click.UsageError("--delta needs LOG and --out DIR: the tables are written to DIR/delta")
    if follow and out is None:
        raise click.UsageError("--follow needs --out DIR: there it keeps how far it has read")
    if follow and wanted != "text":
        raise click.UsageError(f"--follow prints lines of text; {wanted} is written below --out after each batch")
    asked = Asked(
        logs,
        out,
        master,
        conf,
        packages,
        since_us=since_us,
        until_us=until_us,
        zone=zone,
        every_s=every_s,
        late_s=late_s,
        delta=delta,
        sql=sql,
    )
    sys.exit(screen.show(Options(asked, wanted, quiet, follow)))


def _refuse(logs: tuple[str, ...], out: Path | None, wanted: str, sql: tuple[str, ...], follow: bool) -> None:
    """Raises UsageError for options that do not go together."""
    if not logs and not (sql and out):
        raise click.UsageError("Missing argument 'LOG...'.")
    if follow and sql:
        raise click.UsageError(
            "--follow answers no --sql: run a second command with --sql and the same --out, without LOG"
        )
    if sql and wanted not in ANSWERS:
        raise click.UsageError(f"--sql prints {', '.join(ANSWERS)}, not {wanted}")
    if wanted == "csv" and not sql:
        raise click.UsageError("--format csv is for the answers of --sql")


def _span(option: str, text: str) -> float:
    """Seconds of `10s`, `5m`, `1h`. Raises BadParameter."""
    found = re.fullmatch(r"(\d+)([smh])", text.strip())
    if found is None or (option == "--every" and not int(found[1])):
        raise click.BadParameter(f"{text!r} is no span of time: expected 10s, 5m or 1h", param_hint=option)
    return float(int(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]])


def _bound(option: str, text: str, now_us: int) -> int | None:
    """Unix us of an option; None where it is not given. Raises BadParameter."""
    from .run import moment

    if not text:
        return None
    try:
        return moment(text, now_us)
    except ValueError:
        complaint = f"{text!r} is no time: expected 2026-11-21, 2026-11-21T10:56, or 2h, 7d for so long ago"
        raise click.BadParameter(complaint, param_hint=option) from None
