"""The command line as click knows it: a page of the site, and a page for man(1) for each command.

What the pages say comes from the commands themselves and from the rows of `cli.pages`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Final

import click

from cli.commands import cli
from cli.helping import page_of, rows_of_exits
from cli.pages import PAGES
from manual.markdown import code, table
from pyrepl import VERSION

ENVIRONMENT: Final = (
    (
        "PYREPL_PASSWORD",
        "the password of `status`, `tail`, `mailbox status` and `mailbox compare`; `ps` does not show it",
    ),
    ("PYREPL_PURE", "1 while installing: the hot modules run as plain Python"),
    ("NO_COLOR", "set to anything: no colours on a terminal"),
)


def every_command() -> Iterator[tuple[click.Context, click.Command]]:
    """pyrepl itself, and each command below it, with the context that names it."""
    yield from _below(_context_of(cli, "pyrepl"), cli)


def _below(context: click.Context, command: click.Command) -> Iterator[tuple[click.Context, click.Command]]:
    yield context, command
    if isinstance(command, click.Group):
        order = list(PAGES)
        paths = {name: f"{context.command_path} {name}".partition(" ")[2] for name in command.commands}
        for name in sorted(command.commands, key=lambda name: order.index(paths[name])):
            below = command.commands[name]
            yield from _below(_context_of(below, name, context), below)


def _context_of(command: click.Command, name: str, parent: click.Context | None = None) -> click.Context:
    """The context that a run of it has. With other settings click would remember other names of the option for help."""
    return click.Context(command, parent, name, **command.context_settings)


def paragraphs(command: click.Command) -> list[str]:
    """What the command says of itself; a paragraph that begins with \\b is to be shown line by line."""
    return re.split(r"\n\s*\n", inspect.cleandoc(command.help or ""))


def options(context: click.Context, command: click.Command) -> list[tuple[str, str]]:
    """Its options, and what each means. The usage names arguments."""
    records = (parameter.get_help_record(context) for parameter in command.get_params(context))
    return [record for record in records if record is not None and record[1]]


def usage(context: click.Context, command: click.Command) -> str:
    """Its name and what follows it."""
    return " ".join((context.command_path, *command.collect_usage_pieces(context)))


def markdown() -> str:
    """All of it as one page."""
    parts = ["# Command line\n\nEvery directive is an option of `pyrepl master` and `pyrepl replica` too.\n"]
    for context, command in every_command():
        parts.append(f"\n## {context.command_path}\n\n{_block([usage(context, command)])}\n")
        parts += [_paragraph(text) for text in paragraphs(command)]
        page = page_of(context.command_path)
        parts.append(table(("option", ""), [(code(name), told) for name, told in options(context, command)]) + "\n")
        if page.examples:
            parts.append(_block(page.examples) + "\n")
    parts.append("\n## Exit statuses\n\n" + table(("command", "status", "when"), _exits()))
    parts.append("\n## Environment\n\n" + table(("variable", "what it does"), [(code(a), b) for a, b in ENVIRONMENT]))
    return "".join(parts)


def _exits() -> Iterator[tuple[str, str, str]]:
    """Each command, one of its exit statuses, and when it is seen."""
    for context, _ in every_command():
        page = page_of(context.command_path)
        if page.exits:
            yield from ((code(context.command_path), *row) for row in rows_of_exits(page))


def _block(lines: tuple[str, ...] | list[str]) -> str:
    return "```\n" + "\n".join(lines) + "\n```\n"


def _paragraph(text: str) -> str:
    if text.startswith("\b"):
        return _block(text.splitlines()[1:]) + "\n"
    return " ".join(text.split()) + "\n\n"


def man_pages() -> dict[str, str]:
    """Name of the file -> a page for man(1), in the macros of man(7)."""
    return {
        f"{context.command_path.replace(' ', '-')}.1": _man(context, command) for context, command in every_command()
    }


def _man(context: click.Context, command: click.Command) -> str:
    name = context.command_path.replace(" ", "-")
    lines = [f'.TH {name.upper()} 1 "" "pyrepl {VERSION}" "pyrepl"', ".SH NAME"]
    lines.append(f"{_roff(name)} \\- {_roff(command.get_short_help_str(limit=200).rstrip('.'))}")
    lines += [".SH SYNOPSIS", f".B {_roff(usage(context, command))}", ".SH DESCRIPTION"]
    for text in paragraphs(command):
        if text.startswith("\b"):
            lines += [".PP", ".nf", *map(_roff, text.splitlines()[1:]), ".fi"]
        else:
            lines += [".PP", _roff(" ".join(text.split()))]
    lines.append(".SH OPTIONS")
    for option, told in options(context, command):
        lines += [".TP", f".B {_roff(option)}", _roff(told)]
    page = page_of(context.command_path)
    if page.examples:
        lines += [".SH EXAMPLES", ".nf", *map(_roff, page.examples), ".fi"]
    if page.exits:
        lines.append(".SH EXIT STATUS")
        for status, when in rows_of_exits(page):
            lines += [".TP", f".B {status}", _roff(when)]
    if isinstance(command, click.Group):
        below = [f"{name}-{each}" for each in command.commands]
        lines += [".SH SEE ALSO", ", ".join(f"{_roff(each)}(1)" for each in sorted(below))]
    return "\n".join(lines) + "\n"


def _roff(text: str) -> str:
    """Text in which nothing is a request or an escape."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return f"\\&{text}" if text.startswith(".") else text
