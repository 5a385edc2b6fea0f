"""The subcommands of `pyrepl`. Every directive of redis.conf is an option as well: `--port 6380 --save ""`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Final

import click

from pyrepl import VERSION

_PASS_ON: Final[dict[str, Any]] = {"ignore_unknown_options": True, "help_option_names": ["-h", "--help"]}
_CONFIG = click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    help="Configuration in redis.conf syntax; CONFIG REWRITE writes it back.",
)
_DIRECTIVES = click.argument("directives", nargs=-1, type=click.UNPROCESSED)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="pyrepl")
def cli() -> None:
    """A replication daemon that speaks Redis's PSYNC.

    \b
        pyrepl master --config conf/master.conf
        pyrepl replica --master 127.0.0.1:6379 --port 6380
        redis-cli -p 6379 INFO replication

    Either end may be a real Redis or Valkey server.
    """


@cli.command(context_settings=_PASS_ON)
@_CONFIG
@_DIRECTIVES
def master(config_file: Path | None, directives: tuple[str, ...]) -> None:
    """Serve clients and feed replicas.

    Every directive of redis.conf is an option too and wins over the file:
    `pyrepl master --port 6380 --save "" --requirepass secret`. A configuration that says `replicaof` is obeyed.
    """
    sys.exit(_run(config_file, directives, None))


@cli.command(context_settings=_PASS_ON)
@click.option("--master", "address", metavar="HOST:PORT", help="The master to follow; wins over `replicaof`.")
@_CONFIG
@_DIRECTIVES
def replica(address: str | None, config_file: Path | None, directives: tuple[str, ...]) -> None:
    """Follow a master: a pyrepl, a Redis or a Valkey.

    Every directive of redis.conf is an option too and wins over the file:
    `pyrepl replica --master 10.0.0.1:6379 --masterauth secret --repl-diskless-load swapdb`.
    """
    if address is not None and split_address(address) is None:
        raise click.BadParameter("expected HOST:PORT, for example 127.0.0.1:6379", param_hint="--master")
    sys.exit(_run(config_file, directives, address, must_follow=True))


def split_address(address: str) -> tuple[str, int] | None:
    """Host and port of `host:port` or `[ip6]:port`; None if it is neither."""
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdigit() or not 0 < int(port) < 65536:
        return None
    return host, int(port)


def _run(
    config_file: Path | None, directives: tuple[str, ...], address: str | None, *, must_follow: bool = False
) -> int:
    """Load the configuration and run the node; the exit code."""
    from pyrepl.config.parser import Line
    from pyrepl.daemon.config_files import load_settings
    from pyrepl.daemon.loop import run_node
    from pyrepl.errors import ConfigError

    if config_file is None and directives and not directives[0].startswith("-"):
        # redis-server takes the file as its first argument.
        config_file, directives = Path(directives[0]), directives[1:]
    target = split_address(address) if address is not None else None
    extra = [] if target is None else [Line("--master", 0, "replicaof", [target[0].encode(), b"%d" % target[1]])]
    try:
        settings, loaded = load_settings(config_file, [os.fsencode(word) for word in directives], extra)
    except ConfigError as error:
        sys.stderr.write(f"pyrepl: {error}\n")
        return 1
    if must_follow and settings.replicaof is None:
        sys.stderr.write("pyrepl: no master to follow: give --master HOST:PORT, or `replicaof` in the configuration\n")
        return 1
    return run_node(settings, config_file.resolve() if config_file is not None else None, loaded)
