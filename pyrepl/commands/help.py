"""HELP of commands with subcommands: the lines of its reply, framed as Redis 7.0 frames them."""

from __future__ import annotations

from pyrepl.resp.reply import Simple


def help_reply(name: str, *lines: str) -> list[Simple]:
    """The reply of `name HELP`: a head line, one line per subcommand with its explanation indented below, HELP last."""
    head = f"{name} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"
    return [Simple(line.encode()) for line in (head, *lines, "HELP", "    Prints this help.")]
