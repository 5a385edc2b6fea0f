"""A row of the command table as COMMAND INFO and COMMAND DOCS print it.

Shapes are those of Redis 7.0. Key specs are derived from the row's key positions; since the table does not say per key
what a command does with it, the access flags are the widest that the command's own flags allow. The arguments in DOCS
come from the function's signature: enough for redis-cli's hints.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Final, final

from pyrepl.commands.categories import categories
from pyrepl.commands.table import MOVABLE_KEYS, READONLY, WRITE, Command
from pyrepl.resp.encoder import encode_reply
from pyrepl.resp.reply import Raw, Reply, Simple

_READS: Final = ("RO", "access")
_WRITES: Final = ("RW", "access", "update")


@final
class Catalogue:
    """The rows of some modules by lower-case name, subcommands under `client|list`; in the order of the modules.

    Not the dispatcher's Table, which a command does not get to see; made anew for each question, since those are rare.
    """

    def __init__(self, modules: Iterable[ModuleType]) -> None:
        self.rows: dict[str, Command] = {
            row.wire_name: row for module in modules for row in vars(module).values() if isinstance(row, Command)
        }
        self._children: dict[str, list[Command]] = {}
        for name, row in self.rows.items():
            container, _, subcommand = name.partition("|")
            if subcommand:
                self._children.setdefault(container, []).append(row)

    def top(self) -> list[Command]:
        """The commands, subcommands not among them."""
        return [row for name, row in self.rows.items() if "|" not in name]

    def named(self, name: bytes) -> Command | None:
        """The row of `get` or `client|list`, in any case."""
        return self.rows.get(name.decode("utf-8", "replace").lower())

    def children(self, row: Command) -> list[Command]:
        """The subcommands of a row."""
        return self._children.get(row.wire_name, [])


def info_of(row: Command, catalogue: Catalogue, proto: int) -> list[Reply]:
    """The ten elements of COMMAND INFO, subcommands included."""
    children = catalogue.children(row)
    words = row.flag_names()
    if row.keys.of is not None and not row.flags & MOVABLE_KEYS:
        words.append("movablekeys")
    return [
        row.wire_name.encode(),
        row.arity,
        word_set(words, proto),
        row.keys.first,
        row.keys.last,
        row.keys.step,
        word_set([f"@{name}" for name in categories(row, has_children=bool(children))], proto),
        word_set([], proto),
        key_specs(row, proto),
        as_set([info_of(child, catalogue, proto) for child in children], proto),
    ]


def word_set(words: Sequence[str], proto: int) -> Reply:
    """Status lines, as `as_set`."""
    return as_set([Simple(word.encode()) for word in words], proto)


def as_set(items: list[Reply], proto: int) -> Reply:
    """A set in RESP3, an array in RESP2; in the order given, and of maps too, which no Python set could hold."""
    if proto == 2:
        return items
    return Raw(b"~%d\r\n" % len(items) + b"".join(encode_reply(item, proto) for item in items))


def key_specs(row: Command, proto: int) -> Reply:
    """The key specs of a row: none, or one, since each row has its keys in one range or counts them itself."""
    keys = row.keys
    if keys.first == 0 and keys.of is None:
        return as_set([], proto)
    spec: dict[Reply, Reply] = {b"flags": word_set(key_flags(row), proto)}
    if keys.first == 0:
        spec[b"begin_search"] = {b"type": b"unknown", b"spec": {}}
        spec[b"find_keys"] = {b"type": b"unknown", b"spec": {}}
        return as_set([spec], proto)
    spec[b"begin_search"] = {b"type": b"index", b"spec": {b"index": keys.first}}
    last = keys.last - keys.first if keys.last >= 0 else keys.last
    spec[b"find_keys"] = {b"type": b"range", b"spec": {b"lastkey": last, b"keystep": keys.step, b"limit": 0}}
    return as_set([spec], proto)


def key_flags(row: Command) -> tuple[str, ...]:
    """What the command may do with its keys, in the words of a key spec."""
    if row.flags & WRITE:
        return _WRITES
    return _READS if row.flags & READONLY else ("RO",)


def docs_of(row: Command, catalogue: Catalogue, proto: int) -> dict[Reply, Reply]:
    """The map of COMMAND DOCS for one row, subcommands included."""
    docs: dict[Reply, Reply] = {
        b"summary": row.summary.encode(),
        b"since": row.since.encode(),
        b"group": row.group.encode(),
    }
    children = catalogue.children(row)
    if children:
        docs[b"subcommands"] = {child.wire_name.encode(): docs_of(child, catalogue, proto) for child in children}
        return docs
    arguments = arguments_of(row, proto)
    if arguments:
        docs[b"arguments"] = arguments
    return docs


def arguments_of(row: Command, proto: int) -> list[Reply]:
    """The parameters of the row's function behind `call`; `*words` stand for any number."""
    described: list[Reply] = []
    skip = 2 if "|" in row.name else 1
    parameters = list(inspect.signature(row.fn).parameters.values())[1:]
    for position, parameter in enumerate(parameters, start=skip):
        name = parameter.name.strip("_").encode()
        is_key = row.keys.of is None and row.keys.first == position
        argument: dict[Reply, Reply] = {
            b"name": name,
            b"type": b"key" if is_key else b"string",
            b"display_text": name,
        }
        if is_key:
            argument[b"key_spec_index"] = 0
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            argument[b"flags"] = word_set(("optional", "multiple"), proto)
        elif parameter.default is not inspect.Parameter.empty:
            argument[b"flags"] = word_set(("optional",), proto)
        described.append(argument)
    return described
