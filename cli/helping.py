"""How `--help` looks: subcommands by task, and below the options of each its examples and exit statuses (pages.py)."""

from __future__ import annotations

import click

from .pages import PAGES, TASKS, WRONG_USE, Page


def page_of(command_path: str) -> Page:
    """The row of a command, by its path, whose first word is the program."""
    return PAGES[command_path.partition(" ")[2]]


def rows_of_exits(page: Page) -> list[tuple[str, str]]:
    """Each exit status and when it is seen; what click adds is told with the others."""
    rows = dict(page.exits)
    misused = "the command line is wrong"
    rows[WRONG_USE] = f"{rows[WRONG_USE]}; or {misused}" if WRONG_USE in rows else misused
    return [(str(status), rows[status]) for status in sorted(rows)]


def write_page(context: click.Context, formatter: click.HelpFormatter) -> None:
    """Append the examples and exit statuses of the command to its help."""
    page = page_of(context.command_path)
    if page.examples:
        with formatter.section("Examples"):
            # Not wrapped: a line that is copied must work.
            for line in page.examples:
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")
    if page.exits:
        with formatter.section("Exit status"):
            formatter.write_dl(rows_of_exits(page))


class PagedCommand(click.Command):
    """A command with a row in PAGES."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_page(ctx, formatter)


class TaskGroup(click.Group):
    """Commands, shown by the task that each is for, in the order of PAGES."""

    command_class = PagedCommand

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        before = f"{ctx.command_path} ".partition(" ")[2]
        names = {path: path.removeprefix(before) for path in PAGES if path.startswith(before)}
        for task in TASKS:
            rows = [
                (name, self.commands[name].get_short_help_str(limit=200))
                for path, name in names.items()
                if PAGES[path].task == task and name in self.commands
            ]
            if rows:
                with formatter.section(task):
                    formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_page(ctx, formatter)
