"""COMMAND and its subcommands: they describe the command table to clients. `command_docs` makes the reply of a row.

The rows come from `families` and from this module itself, which `families` cannot list without an import circle. This
module puts itself before the family of SLOWLOG.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Final

from pyrepl.commands.describe.categories import CATEGORIES, categories
from pyrepl.commands.describe.command_docs import Catalogue, docs_of, info_of, word_set
from pyrepl.commands.describe.help import help_reply
from pyrepl.commands.describe.key_specs import ends_before_a_key, keys_with_flags
from pyrepl.commands.engine.arguments import syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.renaming import renamed_table
from pyrepl.commands.engine.table import (
    LOADING,
    NO_MANDATORY_KEYS,
    STALE,
    Command,
    command,
)
from pyrepl.commands.families import LISTED
from pyrepl.commands.node import slowlog
from pyrepl.errors import CommandError
from pyrepl.glob import Glob
from pyrepl.resp.reply import Reply, Simple

_FLAGS: Final = LOADING | STALE
_PLACE: Final = LISTED.index(slowlog)
FAMILIES: Final[tuple[ModuleType, ...]] = (*LISTED[:_PLACE], sys.modules[__name__], *LISTED[_PLACE:])
"""All families, in the order in which COMMAND lists their rows."""


@command("COMMAND", arity=-1, flags=_FLAGS, group="server", since="2.8.13")
def command_(call: Call, *ignored: bytes) -> list[Reply]:
    """Describe all commands"""
    catalogue = _catalogue(call)
    return [info_of(row, catalogue, call.client.proto) for row in catalogue.top()]


@command("COMMAND|COUNT", arity=2, flags=_FLAGS, group="server", since="2.8.13")
def command_count(call: Call) -> int:
    """Count the commands, subcommands not among them"""
    return len(_catalogue(call).top())


@command("COMMAND|INFO", arity=-2, flags=_FLAGS, group="server", since="2.8.13")
def command_info(call: Call, *names: bytes) -> list[Reply]:
    """Describe the named commands, or all; null for a name that is none"""
    proto, catalogue = call.client.proto, _catalogue(call)
    rows = [catalogue.named(name) for name in names] if names else catalogue.top()
    return [None if row is None else info_of(row, catalogue, proto) for row in rows]


@command("COMMAND|DOCS", arity=-2, flags=_FLAGS, group="server", since="7.0.0")
def command_docs(call: Call, *names: bytes) -> dict[Reply, Reply]:
    """Document the named commands, or all: summary, group, arguments"""
    catalogue = _catalogue(call)
    rows = [catalogue.named(name) for name in names] if names else catalogue.top()
    return {row.wire_name.encode(): docs_of(row, catalogue, call.client.proto) for row in rows if row is not None}


@command("COMMAND|LIST", arity=-2, flags=_FLAGS, group="server", since="7.0.0")
def command_list(call: Call, *options: bytes) -> list[bytes]:
    """List the names of all commands, or of those that a filter leaves"""
    catalogue = _catalogue(call)
    keep = _filter(options, catalogue)
    return [row.wire_name.encode() for row in catalogue if keep(row)]


def _filter(options: tuple[bytes, ...], catalogue: Catalogue) -> Callable[[Command], bool]:
    """The test for rows that `FILTERBY kind value` means; without options every row passes. Raises CommandError.

    MODULE leaves the commands on vector sets for `vectorset`, the module that has them in Redis 8, and else none.
    """
    if not options:
        return lambda row: True
    if len(options) != 3 or options[0].upper() != b"FILTERBY":
        raise syntax_error()
    kind, value = options[1].upper(), options[2]
    if kind == b"MODULE":
        return lambda row: row.group == "module" and value == b"vectorset"
    if kind == b"ACLCAT":
        category = value.decode("utf-8", "replace").lower()
        return lambda row: (
            category in CATEGORIES and category in categories(row, has_children=bool(catalogue.children(row)))
        )
    if kind == b"PATTERN":
        glob = Glob(value, nocase=True)
        return lambda row: glob.matches(row.wire_name.encode())
    raise syntax_error()


@command("COMMAND|GETKEYS", arity=-3, flags=_FLAGS, group="server", since="2.8.13")
def command_getkeys(call: Call, *argv: bytes) -> list[bytes]:
    """Extract the keys of a whole command"""
    return [argv[position] for position in _key_positions(call, argv)[1]]


@command("COMMAND|GETKEYSANDFLAGS", arity=-3, flags=_FLAGS, group="server", since="7.0.0")
def command_getkeysandflags(call: Call, *argv: bytes) -> list[Reply]:
    """Extract the keys of a whole command, each with what the command may do with it"""
    row, positions = _key_positions(call, argv)
    proto = call.client.proto
    return [[argv[at], word_set(flags, proto)] for at, flags in keys_with_flags(row, list(argv), positions)]


def _key_positions(call: Call, argv: tuple[bytes, ...]) -> tuple[Command, list[int]]:
    """(the row of a whole command, the positions of its keys in `argv`). Raises CommandError when it has none."""
    catalogue = _catalogue(call)
    row = None if b"|" in argv[0] else catalogue.named(argv[0])
    if row is not None and catalogue.children(row) and len(argv) > 1:
        row = catalogue.named(argv[0] + b"|" + argv[1])
    if row is None:
        raise CommandError("ERR Invalid command specified")
    if row.keys.is_empty:
        raise CommandError("ERR The command has no key arguments")
    if row.why_not_arity(len(argv)) is not None:
        raise CommandError("ERR Invalid number of arguments specified for command")
    positions = row.keys.positions(list(argv))
    if (not positions and not row.flags & NO_MANDATORY_KEYS) or ends_before_a_key(row, len(argv)):
        raise CommandError("ERR Invalid arguments specified for command")
    return row, positions


@command("COMMAND|HELP", arity=2, flags=_FLAGS, group="server", since="5.0.0")
def command_help(call: Call) -> list[Simple]:
    """Show what COMMAND can do"""
    return help_reply(
        "COMMAND",
        "(no subcommand)",
        "    Return details about all Redis commands.",
        "COUNT",
        "    Return the total number of commands in this Redis server.",
        "LIST",
        "    Return a list of all commands in this Redis server.",
        "INFO [<command-name> ...]",
        "    Return details about multiple Redis commands.",
        "    If no command names are given, documentation details for all",
        "    commands are returned.",
        "DOCS [<command-name> ...]",
        "    Return documentation details about multiple Redis commands.",
        "    If no command names are given, documentation details for all",
        "    commands are returned.",
        "GETKEYS <full-command>",
        "    Return the keys from a full Redis command.",
        "GETKEYSANDFLAGS <full-command>",
        "    Return the keys and the access flags from a full Redis command.",
    )


def _catalogue(call: Call) -> Catalogue:
    return Catalogue(renamed_table(call.node.settings, FAMILIES))
