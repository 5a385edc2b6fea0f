"""A row of the command table as COMMAND INFO and COMMAND DOCS print it.

The shapes of the replies are Redis 7.0's. `key_specs` says what a command does with its keys, `syntax` how a command is
called.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from typing import Final, final

from pyrepl.commands.describe.categories import categories
from pyrepl.commands.describe.deprecated import DEPRECATED, OF_THE_SYSTEM
from pyrepl.commands.describe.key_specs import KeySpec, named_specs, specs_of
from pyrepl.commands.describe.shown import SHOWN_FLAGS, TIPS
from pyrepl.commands.describe.syntax import SYNTAX
from pyrepl.commands.describe.syntax_tree import Argument, parse_syntax
from pyrepl.commands.engine.table import MOVABLE_KEYS, Command, Table
from pyrepl.resp.encoder import encode_reply
from pyrepl.resp.reply import Raw, Reply, Simple

_ARGUMENT_FLAGS: Final = ("optional", "multiple", "multiple_token")


@final
class Catalogue:
    """The rows of a table, by the names that clients use: `get`, or `client|list`.

    A command has no access to the dispatcher's Table, so each COMMAND makes a Table and a Catalogue of its own. That is
    slow, but such questions are rare.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def top(self) -> list[Command]:
        """The rows of the commands, without those of subcommands."""
        return list(self._table)

    def __iter__(self) -> Iterator[Command]:
        """All rows; those of subcommands follow the command that they belong to."""
        for row in self._table:
            yield row
            yield from row.subcommands.values()

    def named(self, name: bytes) -> Command | None:
        """The row of a command (`get`) or subcommand (`client|list`), in any case of letters; None for others."""
        top, bar, subcommand = name.partition(b"|")
        row = self._table.find(top)
        if row is None or not bar:
            return row
        return row.subcommands.get(subcommand.upper())

    def children(self, row: Command) -> list[Command]:
        """The rows of the subcommands of a command."""
        return list(row.subcommands.values())


def info_of(row: Command, catalogue: Catalogue, proto: int) -> list[Reply]:
    """The ten elements that COMMAND INFO answers for a row; the last one holds those of its subcommands."""
    children = catalogue.children(row)
    words = row.flag_names()
    if row.keys.of is not None and not row.keys.is_empty and not row.flags & MOVABLE_KEYS:
        words.append("movablekeys")
    words += SHOWN_FLAGS.get(row.name, ())
    return [
        row.wire_name.encode(),
        row.arity,
        word_set(words, proto),
        row.keys.first,
        row.keys.last,
        row.keys.step,
        word_set([f"@{name}" for name in categories(row, has_children=bool(children))], proto),
        as_set([tip.encode() for tip in TIPS.get(row.name, ())], proto),
        key_specs(row, proto),
        as_set([info_of(child, catalogue, proto) for child in children], proto),
    ]


def word_set(words: Sequence[str], proto: int) -> Reply:
    """A set of status lines; see `as_set`."""
    return as_set([Simple(word.encode()) for word in words], proto)


def as_set(items: list[Reply], proto: int) -> Reply:
    """A set in RESP3, an array in RESP2.

    The items keep their order, and may be maps. A Python set can do neither, so the set is encoded here.
    """
    if proto == 2:
        return items
    return Raw(b"~%d\r\n" % len(items) + b"".join(encode_reply(item, proto) for item in items))


def key_specs(row: Command, proto: int) -> Reply:
    """The key specs of a row: where its keys stand, and what the command does to them."""
    return as_set([_spec_reply(spec, proto) for spec in specs_of(row)], proto)


def _spec_reply(spec: KeySpec, proto: int) -> Reply:
    begin, find = spec.begin, spec.find
    return {
        b"flags": word_set(spec.flags, proto),
        b"begin_search": {b"type": begin.type.encode(), b"spec": {name.encode(): value for name, value in begin.spec}},
        b"find_keys": {b"type": find.type.encode(), b"spec": {name.encode(): value for name, value in find.spec}},
    }


def docs_of(row: Command, catalogue: Catalogue, proto: int) -> dict[Reply, Reply]:
    """The map that COMMAND DOCS answers for a row. A row with subcommands has their maps in place of arguments."""
    docs: dict[Reply, Reply] = {
        b"summary": row.summary.encode(),
        b"since": row.since.encode(),
        b"group": row.group.encode(),
    }
    if row.name in OF_THE_SYSTEM:
        docs[b"doc_flags"] = word_set(["syscmd"], proto)
    if row.name in DEPRECATED:
        since, in_place = DEPRECATED[row.name]
        docs[b"doc_flags"] = word_set(["deprecated"], proto)
        docs[b"deprecated_since"], docs[b"replaced_by"] = since.encode(), in_place.encode()
    children = catalogue.children(row)
    if children:
        docs[b"subcommands"] = {child.wire_name.encode(): docs_of(child, catalogue, proto) for child in children}
        return docs
    arguments = arguments_of(row, proto)
    if arguments:
        docs[b"arguments"] = arguments
    return docs


def arguments_of(row: Command, proto: int) -> list[Reply]:
    """The tree of arguments, made from the row's line in `syntax`; empty for a row without a line."""
    tree = parse_syntax(SYNTAX[row.name]) if row.name in SYNTAX else ()
    specs = named_specs(row)
    indexes = chain(specs, repeat(specs[-1] if specs else 0))
    return [_argument(argument, indexes, proto) for argument in tree]


def _argument(argument: Argument, spec_indexes: Iterator[int], proto: int) -> Reply:
    """One node of the tree as a map. `spec_indexes` gives the index of the key spec for each key, in order."""
    docs: dict[Reply, Reply] = {b"name": argument.name.encode(), b"type": argument.type.encode()}
    if argument.type not in ("block", "oneof"):
        docs[b"display_text"] = argument.name.encode()
    if argument.type == "key":
        docs[b"key_spec_index"] = next(spec_indexes)
    if argument.token or argument.type == "pure-token":
        docs[b"token"] = argument.token.encode()
    flags = [word for word, is_set in zip(_ARGUMENT_FLAGS, argument[4:]) if is_set]
    if flags:
        docs[b"flags"] = word_set(flags, proto)
    if argument.children:
        docs[b"arguments"] = [_argument(child, spec_indexes, proto) for child in argument.children]
    return docs
