"""The subcommand `pyrepl metrics`: its options, and what help says. The work is in metrics.py."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Final

import click

FORMATS: Final = ("text", "json", "openmetrics", "html")


@click.command()
@click.argument("logs", nargs=-1, required=True, metavar="LOG...", type=click.Path())
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder for all of it; see below.")
@click.option("--master", default="", metavar="URL", help="Spark to run on: spark://host:7077; else local[*].")
@click.option("--since", default="", metavar="TIME", help="Only what began then or later: 2026-11-21T10:00, or 7d.")
@click.option("--until", default="", metavar="TIME", help="Only what began before.")
@click.option(
    "--format", "wanted", type=click.Choice(FORMATS), default="text", show_default=True, help="What to print."
)
@click.option("--zone", default="UTC", show_default=True, help="Time zone of text logs, as Europe/Berlin.")
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
def metrics(
    logs: tuple[str, ...], out: Path | None, master: str, since: str, until: str, wanted: str, zone: str, quiet: bool
) -> None:
    """Tell from logs what replication cost, and what would make it cheaper.

    LOG is a file or a folder, which is searched to its bottom: event logs of pyrepl, ordinary logs of pyrepl, Redis 6
    to 8 and Valkey 8 and 9, also packed (.gz). Logs of both ends of a link are joined.

    \b
    With --out DIR it writes
      DIR/report.html    charts, advice and tables, one file that needs no network
      DIR/metrics.json   the same as --format json
      DIR/metrics.prom   the same as --format openmetrics
      DIR/results/       every result table as Parquet, happenings by day and node
      DIR/tables/        what was read; the next run with this DIR reads only what is new

    \b
    Exit status:
      0  done, whatever the logs tell
      2  it cannot be done: no such log, no Java, something is not installed
    """
    from . import metrics as screen

    now_us = time.time_ns() // 1000
    since_us, until_us = _bound("--since", since, now_us), _bound("--until", until, now_us)
    sys.exit(screen.show(screen.Options(logs, out, master, since_us, until_us, wanted, zone, quiet)))


def _bound(option: str, text: str, now_us: int) -> int | None:
    """Unix us of an option; None where it is not given. Raises BadParameter."""
    from .metrics import moment

    if not text:
        return None
    try:
        return moment(text, now_us)
    except ValueError:
        complaint = f"{text!r} is no time: expected 2026-11-21, 2026-11-21T10:56, or 2h, 7d for so long ago"
        raise click.BadParameter(complaint, param_hint=option) from None
