"""The HELP subcommand of commands with subcommands, in the form of Redis 8.2, and the error that points to it."""

from __future__ import annotations

from pyrepl.errors import CommandError
from pyrepl.resp.reply import Simple


def help_reply(name: str, *lines: str) -> list[Simple]:
    """The reply of `name HELP`: a head line, then `lines`, then HELP's own.

    `lines` are the subcommands in turn, each followed by the indented lines that explain it.
    """
    head = f"{name} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"
    return [Simple(line.encode()) for line in (head, *lines, "HELP", "    Print this help.")]


def subcommand_syntax_error(name: str, subcommand: bytes) -> CommandError:
    """The error for an unknown subcommand, and for wrong words that the subcommand's arity does not catch.

    `subcommand` is the word as the client sent it; the text shows at most 128 bytes of it.
    """
    shown = subcommand[:128].decode("utf-8", "replace")
    return CommandError(f"ERR unknown subcommand or wrong number of arguments for '{shown}'. Try {name} HELP.")
