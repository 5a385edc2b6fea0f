"""`pyrepl completion SHELL`: the script that teaches a shell our commands, options and every directive's name.

Click makes the scripts and answers them (`_PYREPL_COMPLETE`); here is what it cannot know: the directives, which are
no options to click, and their values.
"""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import CompletionItem, get_completion_class

from .helping import PagedCommand

SHELLS: Final = ("bash", "zsh", "fish")
PROGRAM: Final = "pyrepl"
VARIABLE: Final = "_PYREPL_COMPLETE"


def script_for(shell: str) -> str:
    """The script for one of SHELLS, to be run by the shell at its start."""
    found = get_completion_class(shell)
    assert found is not None, shell
    # Not source(): for bash it starts one to see how old it is, and complains where there is none.
    maker = found(_NO_COMMAND, {}, PROGRAM, VARIABLE)
    return maker.source_template % maker.source_vars() + "\n"


class TakesDirectives(PagedCommand):
    """A command that takes every directive as an option, though click knows none of them."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """click's own options, then the directives, each with its default."""
        super().format_options(ctx, formatter)
        from pyrepl.config.render import options

        for title, rows in options():
            with formatter.section(f"{title}, with the defaults"):
                formatter.write_dl(rows, col_max=34)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """click's own options, and the directives, once it is clear that an option is wanted."""
        found = super().shell_complete(ctx, incomplete)
        if not incomplete.startswith("-"):
            return found
        from pyrepl.config.directives import ROWS

        return found + [
            CompletionItem(f"--{name}", help=row.help.partition(".")[0])
            for name, row in ROWS.items()
            if not row.hidden and f"--{name}".startswith(incomplete)
        ]


def words_of(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """A directive's values where they are few (`--loglevel <TAB>`), a file where one is taken, else nothing."""
    given: tuple[str, ...] = ctx.params.get(param.name or "") or ()
    if not given:
        # redis-server takes the configuration as its first word, and so do we.
        return [CompletionItem(incomplete, type="file")]
    from pyrepl.config.directives import find
    from pyrepl.config.kinds import Choice, YesNo

    row = find(given[-1].removeprefix("--")) if given[-1].startswith("--") else None
    if row is None:
        return []
    kind = row.kind
    values = kind.options if isinstance(kind, Choice) else ("yes", "no") if isinstance(kind, YesNo) else ()
    if row.name in _PATHS:
        return [CompletionItem(incomplete, type="dir" if row.name == "dir" else "file")]
    return [CompletionItem(value) for value in values if value.startswith(incomplete)]


def streams_of(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The streams that every node has; those of applications are known to their nodes alone."""
    return [CompletionItem(name, help=what) for name, what in _STREAMS.items() if name.startswith(incomplete)]


_STREAMS: Final = {
    "keys": "each key changed",
    "commands": "each command as it was propagated",
    "caches": "cache entries to be dropped",
    "sync": "replication events of the node",
}
_PATHS: Final = frozenset({"dir", "logfile", "pidfile", "unixsocket"})
_NO_COMMAND: Final = click.Command(PROGRAM)
