"""The subcommands of `pyrepl`. Every directive of redis.conf is an option as well: `--port 6380 --save ""`."""

from __future__ import annotations

import gc
import os
import ssl
import sys
from pathlib import Path
from typing import Any, Final

import click

from pyrepl import VERSION
from pyrepl.kernels import form

from .addresses import EXPECTED, Target, parse_target
from .completion import SHELLS, TakesDirectives, script_for, words_of
from .helping import TaskGroup
from .login_options import login_options
from .mailbox import mailbox
from .metrics.command import metrics
from .pages import OK, TROUBLE
from .seconds import Seconds
from .tail.command import tail
from .tls_options import context_of, tls_options

_PASS_ON: Final[dict[str, Any]] = {"ignore_unknown_options": True, "help_option_names": ["-h", "--help"]}
_CONFIG = click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    help="Configuration in redis.conf syntax; CONFIG REWRITE writes it back.",
)
_DIRECTIVES = click.argument("directives", nargs=-1, type=click.UNPROCESSED, shell_complete=words_of)


@click.group(cls=TaskGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="pyrepl", message=f"%(prog)s, version %(version)s ({form()})")
def cli() -> None:
    """A replication daemon that speaks Redis's PSYNC. Either end may be a real Redis or Valkey server.

    `pyrepl COMMAND --help` shows what a command takes, with examples.
    """


cli.add_command(mailbox)
cli.add_command(tail)
cli.add_command(metrics)


@cli.command(cls=TakesDirectives, context_settings=_PASS_ON)
@_CONFIG
@_DIRECTIVES
def master(config_file: Path | None, directives: tuple[str, ...]) -> None:
    """Serve clients and feed replicas.

    Every directive of redis.conf is an option too and wins over the file. With `replicaof` in the configuration the
    node is a replica. The directives are listed below; conf/all.conf, in the sources, says more of each.
    """
    sys.exit(_run(config_file, directives, None))


@cli.command(cls=TakesDirectives, context_settings=_PASS_ON)
@click.option(
    "--master",
    "address",
    metavar="HOST:PORT",
    help="The master to follow; wins over `replicaof`. As rediss://HOST:PORT by TLS.",
)
@_CONFIG
@_DIRECTIVES
def replica(address: str | None, config_file: Path | None, directives: tuple[str, ...]) -> None:
    """Follow a master: a pyrepl, a Redis or a Valkey.

    Every directive of redis.conf is an option too and wins over the file. The directives are listed below;
    conf/all.conf, in the sources, says more of each.
    """
    target = parse_target(address) if address is not None else None
    if address is not None and target is None:
        raise click.BadParameter(EXPECTED, param_hint="--master")
    sys.exit(_run(config_file, directives, target, must_follow=True))


@cli.command()
@click.argument("address", metavar="HOST:PORT")
@click.option("--watch", is_flag=True, help="Look again every second, until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="A JSON document; with --watch one a line.")
@login_options
@click.option(
    "--timeout",
    "timeout_s",
    type=Seconds(0.05, 600),
    default=3.0,
    show_default=True,
    help="Seconds to wait for a node.",
)
@click.option(
    "--max-lag",
    "max_lag_s",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    help="A replica counts as in sync for so many seconds after its last acknowledgement.",
)
@tls_options
def status(
    address: str,
    watch: bool,
    as_json: bool,
    user: str,
    password: str,
    timeout_s: float,
    max_lag_s: int,
    tls: ssl.SSLContext | None,
) -> None:
    """Show who follows whom, how far behind, and what is wrong.

    Starts at any node, pyrepl, Redis, Valkey or a Sentinel, and finds its masters and all replicas. No node lists a
    replica that is gone: start at that replica to see why. HOST:PORT may be a URL too:
    redis://user:password@host:port.
    With --tls, or rediss:// in the URL, all nodes are asked by TLS.
    """
    target = parse_target(address)
    if target is None:
        raise click.BadParameter(EXPECTED, param_hint="HOST:PORT")
    from . import status as screen
    from .asking import Credentials, Way

    credentials = Credentials(user or target.user, password or target.password)
    way = Way(credentials, context_of(target, tls))
    options = screen.Options(target.address, way, timeout_s, max_lag_s, as_json)
    sys.exit(screen.watch(options) if watch else screen.show(options))


@cli.command()
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    help="Check the machine for this configuration, and its `dir`.",
)
@click.option("--json", "as_json", is_flag=True, help="A JSON document.")
def doctor(config_file: Path | None, as_json: bool) -> None:
    """Check this machine: what would disturb a node here, and what to do about it.

    Looks at memory, huge pages, swap, limits of connections and files, the clock, and how pyrepl is installed. Changes
    nothing. Run it as the user that the node runs as: limits and rights are those of a user.
    """
    from pyrepl.config.settings import Settings
    from pyrepl.daemon.disk.config_files import load_settings
    from pyrepl.daemon.host import look_at_host, wants_of
    from pyrepl.errors import ConfigError
    from pyrepl.host.rules import findings, is_in_order

    from . import doctor as screen

    try:
        settings = Settings() if config_file is None else load_settings(config_file, [])[0]
    except ConfigError as error:
        sys.stderr.write(f"pyrepl: {error}\n")
        sys.exit(TROUBLE)
    found = findings(look_at_host(), wants_of(settings, with_folder=config_file is not None))
    if as_json:
        click.echo(screen.document_of(found))
    else:
        screen.show(found)
    sys.exit(OK if is_in_order(found) else TROUBLE)


@cli.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print what makes your shell complete pyrepl's commands and directives with the Tab key.

    The same as `_PYREPL_COMPLETE=bash_source pyrepl`; run it again after an upgrade.
    """
    click.echo(script_for(shell), nl=False)


def _run(
    config_file: Path | None, directives: tuple[str, ...], master: Target | None, *, must_follow: bool = False
) -> int:
    """Load the configuration and run the node; the exit code."""
    # What imports make is there to stay: to look through it for garbage is a sixth of the start.
    gc.disable()
    from pyrepl.config.parser import Line
    from pyrepl.daemon.disk.config_files import load_settings
    from pyrepl.daemon.loop import run_node
    from pyrepl.errors import ConfigError

    gc.freeze()
    gc.enable()
    if config_file is None and directives and not directives[0].startswith("-"):
        # redis-server takes the file as its first argument.
        config_file, directives = Path(directives[0]), directives[1:]
    words = {} if master is None else _directives_of(master)
    extra = [Line("--master", 0, name, values) for name, values in words.items()]
    try:
        settings, loaded = load_settings(config_file, [os.fsencode(word) for word in directives], extra)
    except ConfigError as error:
        sys.stderr.write(f"pyrepl: {error}\n")
        return TROUBLE
    if must_follow and settings.replicaof is None:
        sys.stderr.write("pyrepl: no master to follow: give --master HOST:PORT, or `replicaof` in the configuration\n")
        return TROUBLE
    return run_node(settings, config_file.resolve() if config_file is not None else None, loaded)


def _directives_of(master: Target) -> dict[str, list[bytes]]:
    """The directives that say the same as `--master`."""
    found = {"replicaof": [master.host.encode(), b"%d" % master.port]}
    if master.tls:
        found["tls-replication"] = [b"yes"]
    if master.user:
        found["masteruser"] = [master.user.encode()]
    if master.password:
        found["masterauth"] = [master.password.encode()]
    return found
