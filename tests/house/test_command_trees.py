"""COMMAND DOCS, COMMAND INFO and COMMAND GETKEYSANDFLAGS against real servers, for every command of ours: trees of
arguments, key specs, and what a call does with each of its keys. A row must agree with Redis 8.2 or 8.6, and what only
Valkey has, with Valkey 9.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from pyrepl.commands.describe.syntax import SYNTAX
from pyrepl.commands.describe.syntax_tree import Argument, parse_syntax
from pyrepl.commands.engine.table import Command
from pyrepl.resp.reply import Simple
from tests.peers.lab import Lab, Node
from tests.peers.wire import ErrorReply
from tests.unit.commands.rig import Rig, full_table

OURS = {f"streams.{word}" for word in ("reserve", "complete", "abort", "append", "position", "list")} | {
    f"mailbox{word}"
    for word in (
        *("", "|status", "|info", "|master", "|check", "|root", "|help"),
        *("|allow", "|deny", "|renew", "|join", "|leave", "|users", "|messages", "|scrub", "|resync"),
    )
}
"""Commands that no real server has."""

UNSAID = {"replconf", "debug", "quit", "sync"}
"""Rows with an open arity and no line: words between nodes, for testers, or that nobody looks at."""

DIFFERING = {"VADD": "Redis puts the one argument of REDUCE into a block"}

NO_NAMES = ("block", "oneof", "pure-token")
"""Kinds of arguments whose names no usage line shows."""


def rows() -> list[Command]:
    return [row for parent in full_table() for row in (parent, *parent.subcommands.values())]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Node, ...]]:
    with Lab(tmp_path_factory.mktemp("lab")) as lab:
        yield lab.start("redis8"), lab.start("redis86"), lab.start("valkey91")


def known_of(real: Sequence[dict[str, Any]], name: str) -> list[Any]:
    """What the real servers say of a command: those of Redis or, when none of them has it, Valkey, the last one."""
    return [docs[name] for docs in real[:-1] if name in docs] or [docs[name] for docs in real[-1:] if name in docs]


def pairs(flat: list[Any]) -> dict[bytes, Any]:
    return dict(zip(flat[::2], flat[1::2]))


def plain(node: Any) -> Any:
    """A reply with maps as dicts, and status lines as bytes; lists of pairs stay lists where they are no map."""
    if isinstance(node, Simple):
        return node.text
    if isinstance(node, str):
        return node.encode()
    if isinstance(node, dict):
        return {key: plain(value) for key, value in node.items()}
    if isinstance(node, list):
        items = [plain(item) for item in node]
        is_map = items and len(items) % 2 == 0 and all(isinstance(key, bytes) for key in items[::2])
        return pairs(items) if is_map and items[0] in MAP_STARTS else items
    return node


MAP_STARTS = {b"name", b"flags", b"notes", b"type", b"index", b"keyword", b"lastkey", b"keynumidx"}


def tree_of(node: dict[bytes, Any]) -> Argument:
    """A node of a server's COMMAND DOCS as ours are."""
    kind = node[b"type"].decode()
    flags = {flag.decode() for flag in node.get(b"flags", [])}
    return Argument(
        "" if kind in NO_NAMES else node[b"display_text"].decode(),
        kind,
        node.get(b"token", b"").decode(),
        tuple(tree_of(child) for child in node.get(b"arguments", [])),
        "optional" in flags,
        "multiple" in flags,
        "multiple_token" in flags,
    )


def docs_of(node: Node) -> dict[str, list[dict[bytes, Any]]]:
    """The arguments of every command of a server, by its name."""
    found: dict[str, list[dict[bytes, Any]]] = {}

    def note(flat: list[Any]) -> None:
        for name, doc in zip(flat[::2], flat[1::2]):
            fields = pairs(doc)
            found[name.decode()] = plain(fields.get(b"arguments", []))
            note(fields.get(b"subcommands", []))

    note(node.call("COMMAND", "DOCS"))
    return found


UNLIKE = {
    "summary": "in words of ours",
    "replaced_by": "in words of ours",
    "complexity": "the texts of Redis; the orders are those of other structures",
    "history": "the texts of Redis, about its own versions",
    "module": "vector sets are no module here",
    "arguments": "compared as trees",
    "subcommands": "compared one by one",
}
"""Fields of COMMAND DOCS that are not Redis's to the letter, and why."""


def fields_of(node: Node) -> dict[str, dict[str, Any]]:
    """The other fields of COMMAND DOCS, of every command by its name."""
    found: dict[str, dict[str, Any]] = {}

    def note(flat: list[Any]) -> None:
        for name, doc in zip(flat[::2], flat[1::2]):
            fields = pairs(doc)
            found[name.decode().lower()] = {
                word.decode(): sorted(map(str, said)) if isinstance(said, list) else said
                for word, said in fields.items()
                if word.decode() not in UNLIKE
            }
            note(fields.get(b"subcommands", []))

    note(node.call("COMMAND", "DOCS"))
    return found


def test_since_when_and_whether_to_use_it_is_what_redis_says(lab: Lab) -> None:
    ours, theirs = fields_of(lab.start("pyrepl")), fields_of(lab.start("redis86"))
    assert len(ours.keys() & theirs.keys()) > 350
    assert {
        name: (ours[name], theirs[name]) for name in ours.keys() & theirs.keys() if ours[name] != theirs[name]
    } == {}


def key_places(nodes: list[dict[bytes, Any]]) -> list[int]:
    """Which spec each argument that is a key says it belongs to."""
    found = []
    for node in nodes:
        if node[b"type"] == b"key":
            found.append(node[b"key_spec_index"])
        found += key_places(node.get(b"arguments", []))
    return found


def test_every_tree_is_that_of_a_real_server(servers: tuple[Node, ...]) -> None:
    real = [docs_of(server) for server in servers]
    ours = docs_of_rig()
    differing = set()
    for row in rows():
        known = known_of(real, row.wire_name)
        if row.wire_name in OURS:
            assert not known
            continue
        mine = ours[row.wire_name]
        trees = [[tree_of(node) for node in nodes] for nodes in known]
        if [tree_of(node) for node in mine] not in trees or key_places(mine) not in map(key_places, known):
            differing.add(row.wire_name)
    assert differing == DIFFERING.keys()


def docs_of_rig() -> dict[str, list[dict[bytes, Any]]]:
    found: dict[str, list[dict[bytes, Any]]] = {}

    def note(docs: Any) -> None:
        for name, fields in docs.items():
            found[name.decode()] = plain(fields.get(b"arguments", []))
            note(fields.get(b"subcommands", {}))

    note(Rig().say("COMMAND DOCS"))
    return found


def test_every_command_that_takes_something_says_what() -> None:
    names = {row.name for row in rows()}
    assert names >= SYNTAX.keys()
    for row in rows():
        words = 2 if "|" in row.name else 1
        if row.name not in SYNTAX:
            assert row.arity == words or row.subcommands or row.wire_name in UNSAID, row.name


def specs_of(commands: list[Any]) -> dict[str, Any]:
    """The key specs of every command in a reply to COMMAND, by its name, without the remarks that some have."""
    found: dict[str, Any] = {}
    waiting = list(commands)
    while waiting:
        row = waiting.pop()
        waiting += row[9]
        specs = plain(row[8])
        for spec in specs:
            spec.pop(b"notes", None)
            for part in (b"begin_search", b"find_keys"):
                spec[part][b"spec"] = spec[part][b"spec"] or {}
        found[row[0].decode()] = specs
    return found


def test_every_key_spec_is_that_of_a_real_server(servers: tuple[Node, ...]) -> None:
    real = [specs_of(server.call("COMMAND")) for server in servers]
    reply: Any = Rig().say("COMMAND")
    for name, mine in specs_of(reply).items():
        assert mine in (known_of(real, name) or [[]]), name


def sample(arguments: tuple[Argument, ...], *, whole: bool) -> list[str]:
    """Words of a call: what must be there and, with `whole`, what may be; two of what may come more than once."""
    words: list[str] = []
    for argument in arguments:
        if argument.optional and not whole:
            continue
        for _ in range(2 if argument.multiple else 1):
            words += _one(argument, whole=whole)
    return words


def _one(argument: Argument, *, whole: bool) -> list[str]:
    head = [argument.token] if argument.token else []
    if argument.type == "pure-token":
        return head
    if argument.type == "oneof":
        return head + sample(argument.children[:1], whole=whole)
    if argument.type == "block":
        return head + sample(argument.children, whole=whole)
    return [*head, "2" if argument.name in ("numkeys", "numfields") else f"a-{argument.name}"]


def asked(server: Node, words: list[str]) -> Any:
    try:
        return plain(server.call("COMMAND", "GETKEYSANDFLAGS", *words))
    except ErrorReply as error:
        return str(error)


@pytest.mark.parametrize("whole", [False, True])
def test_what_a_call_does_with_its_keys(servers: tuple[Node, ...], whole: bool) -> None:
    rig = Rig()
    compared = 0
    for row in rows():
        if row.name not in SYNTAX or row.wire_name in OURS:
            continue
        words = [*row.wire_name.split("|"), *sample(parse_syntax(SYNTAX[row.name]), whole=whole)]
        reply: Any = rig.run("COMMAND", "GETKEYSANDFLAGS", *words)
        mine = plain(reply) if isinstance(reply, list) else str(reply)
        compared += isinstance(reply, list)
        assert mine in [asked(server, words) for server in servers], words
    assert compared > 100
