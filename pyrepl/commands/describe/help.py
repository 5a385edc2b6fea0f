"""HELP of commands with subcommands, framed as Redis 8.2 frames it, and the error that points to it."""

from __future__ import annotations

from pyrepl.errors import CommandError
from pyrepl.resp.reply import Simple


def help_reply(name: str, *lines: str) -> list[Simple]:
    """The reply of `name HELP`: a head line, one line per subcommand with its explanation indented below, HELP last."""
    head = f"{name} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"
    return [Simple(line.encode()) for line in (head, *lines, "HELP", "    Print this help.")]


def subcommand_syntax_error(name: str, subcommand: bytes) -> CommandError:
    """For a subcommand that got too many words of a kind that its arity does not catch; `subcommand` as it was sent."""
    shown = subcommand[:128].decode("utf-8", "replace")
    return CommandError(f"ERR unknown subcommand or wrong number of arguments for '{shown}'. Try {name} HELP.")
