"""`pyrepl tail` on the command line: its options, and which of them go together. follow.py and pyrepl.capture work."""

from __future__ import annotations

import ssl
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from ..completion import streams_of
from ..helping import PagedCommand
from ..login_options import login_options
from ..seconds import Seconds
from ..tls_options import tls_options

Given = TypeVar("Given")
Value = TypeVar("Value")


def _memory(context: click.Context, parameter: click.Parameter, value: str) -> int:
    from pyrepl.units import parse_memory

    try:
        size = parse_memory(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    if size < 1:
        raise click.BadParameter("expected at least 1 byte")
    return size


@click.command(cls=PagedCommand)
@click.argument("nodes", metavar="HOST:PORT...", nargs=-1, required=True)
@click.option("--stream", default="keys", show_default=True, help="Which stream.", shell_complete=streams_of)
@click.option("--from", "start", metavar="TOKEN|NOW", default="NOW", show_default=True, help="Begin behind this token.")
@click.option("--match", "pattern", metavar="PATTERN", default="", help="Only rows whose key matches, as in KEYS.")
@click.option(
    "--format",
    "form",
    type=click.Choice(("lines", "json", "table", "parquet")),
    help="On the screen lines (default), json or table; with --to json (default) or parquet.",
)
@click.option("--count", type=click.IntRange(1), help="End after so many rows.")
@click.option(
    "--save-token",
    "token_file",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the token of the last row to FILE, and go on from there the next time.",
)
@click.option(
    "--to",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write files in DIR, each row exactly once, even if this command is killed; go on where the files end.",
)
@click.option(
    "--roll-bytes", default="64mb", show_default=True, callback=_memory, help="With --to: finish a file of this size."
)
@click.option(
    "--roll-seconds",
    type=Seconds(0.1),
    default=60.0,
    show_default=True,
    help="With --to: finish a file after this time.",
)
@click.option(
    "--name", default="pyrepl-tail", show_default=True, help="The name that the node shows for this subscriber."
)
@login_options
@click.option("--quiet", "-q", is_flag=True, help="Print nothing about connections.")
@tls_options
def tail(
    nodes: tuple[str, ...],
    stream: str,
    start: str,
    pattern: str,
    form: str | None,
    count: int | None,
    token_file: Path | None,
    folder: Path | None,
    roll_bytes: int,
    roll_seconds: float,
    name: str,
    user: str,
    password: str,
    quiet: bool,
    tls: ssl.SSLContext | None,
) -> None:
    """Follow what changes on a node, from the stream port of a master or replica.

    Each row has a token, a number that is the same on a master and all its replicas. When the connection ends,
    pyrepl tail connects again, to the same node or to the next one named, and goes on after the last token.
    """
    from pyrepl.address import Address
    from pyrepl.capture.files import Rolling
    from pyrepl.changes.place import Place

    from . import follow as follower

    place = _parsed(Place.parse, start, "--from")
    for node in nodes:
        _parsed(Address.parse, node, "HOST:PORT")
    if folder is not None and form in ("lines", "table"):
        raise click.BadParameter("files are written as json or parquet", param_hint="--format")
    if folder is None and form == "parquet":
        raise click.BadParameter("parquet is for files: give --to DIR", param_hint="--format")
    if folder is not None and (token_file is not None or count is not None):
        raise click.UsageError(
            "--to keeps its place in DIR and runs without an end, so --save-token and --count cannot be given with it"
        )
    form = form or ("json" if folder is not None else "lines")
    rolling = Rolling(roll_bytes, roll_seconds)
    options = follower.Options(
        nodes=nodes,
        stream=stream,
        start=place,
        pattern=pattern,
        form=form,
        most_rows=count or 0,
        token_file=token_file,
        folder=folder,
        rolling=rolling,
        name=name,
        user=user,
        password=password,
        tls=tls,
        quiet=quiet,
    )
    sys.exit(follower.run(options))


def _parsed(parse: Callable[[Given], Value], text: Given, hint: str) -> Value:
    try:
        return parse(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=hint) from None
