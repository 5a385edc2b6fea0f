"""ACL categories of a command, derived from its row: what COMMAND INFO and COMMAND LIST FILTERBY ACLCAT show.

Redis derives most categories from a command's flags (`setImplicitACLCategories`, 7.0), and lists the others for each
command. Here the others follow from the command's group, and only the commands that deviate from that are listed.
"""

from __future__ import annotations

from typing import Final

from pyrepl.commands.engine.table import ADMIN, BLOCKING, FAST, PUBSUB, READONLY, WRITE, Command

CATEGORIES: Final = (
    "keyspace",
    "read",
    "write",
    "set",
    "sortedset",
    "list",
    "hash",
    "string",
    "bitmap",
    "hyperloglog",
    "geo",
    "stream",
    "pubsub",
    "admin",
    "fast",
    "slow",
    "blocking",
    "dangerous",
    "connection",
    "transaction",
    "scripting",
)
"""All of Redis's categories, in the order in which it prints them."""

_OF_GROUP: Final = {
    "generic": "keyspace",
    "string": "string",
    "bitmap": "bitmap",
    "hyperloglog": "hyperloglog",
    "geo": "geo",
    "list": "list",
    "set": "set",
    "sorted-set": "sortedset",
    "hash": "hash",
    "stream": "stream",
    "connection": "connection",
    "transactions": "transaction",
    "scripting": "scripting",
    "cluster": "",
}
# The commands whose categories do not follow from flags and group alone.
_DANGEROUS: Final = frozenset(
    {
        "FLUSHALL",
        "FLUSHDB",
        "INFO",
        "KEYS",
        "LASTSAVE",
        "MIGRATE",
        "RESTORE",
        "RESTORE-ASKING",
        "ROLE",
        "SORT",
        "SORT_RO",
        "SWAPDB",
    }
    | {"TRIMSLOTS"}
)
_ADMIN: Final = frozenset({"LASTSAVE", "ROLE"})
_KEYSPACE: Final = frozenset(
    {"DBSIZE", "FLUSHALL", "FLUSHDB", "SWAPDB", "RESTORE-ASKING", "TRIMSLOTS", "CLUSTERSCAN", "CLUSTER|FLUSHSLOT"}
)
_NOT_KEYSPACE: Final = frozenset({"WAIT", "WAITAOF", "SORT", "SORT_RO"})
_CONNECTION: Final = frozenset({"COMMAND", "WAIT", "WAITAOF", "ASKING", "READONLY", "READWRITE"})
_OF_SORT: Final = frozenset({"set", "sortedset", "list"})


def categories(row: Command, *, has_children: bool = False) -> list[str]:
    """The categories of a command or subcommand, without the `@`, in Redis's order.

    A container of subcommands (`has_children`, and an arity that demands a subcommand) has only those of its flags.
    Vector sets have none: Redis gives none to the commands of their module.
    """
    if row.group == "module":
        return []
    found = {"fast" if row.flags & FAST else "slow"}
    for flag, names in (
        (WRITE, ("write",)),
        (0 if row.group == "scripting" else READONLY, ("read",)),
        (ADMIN, ("admin", "dangerous")),
        (PUBSUB, ("pubsub",)),
        (BLOCKING, ("blocking",)),
    ):
        if row.flags & flag:
            found.update(names)
    if not has_children or row.arity == -1:
        found |= _by_name(row)
    return [category for category in CATEGORIES if category in found]


def _by_name(row: Command) -> set[str]:
    """The categories that follow from a command's group and name; a subcommand has those of its command."""
    name = row.name.partition("|")[0]
    found = {_OF_GROUP.get(row.group, "")}
    if name in _DANGEROUS:
        found.add("dangerous")
    if name in _ADMIN:
        found.add("admin")
    if name in _KEYSPACE or row.name in _KEYSPACE:
        found.add("keyspace")
    if name in _CONNECTION:
        found.add("connection")
    if name in _NOT_KEYSPACE:
        found.discard("keyspace")
    if name in ("SORT", "SORT_RO"):
        found |= _OF_SORT
    return found
