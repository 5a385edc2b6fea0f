"""Commands know no representation: whether a collection is packed, plain or absent is known in `keyspace` alone.

A command calls a verb of `keyspace` (`list_verbs` and its like), which takes a database and a key. What a verb returns
is a copy, a number, or a reader that changes nothing: no command can change a stored collection behind the verbs' back,
and a store that keeps collections elsewhere can return the same. Streams are left out: their commands still share the
`StreamValue` that is stored.
"""

from __future__ import annotations

import ast
import gc
from collections import deque
from collections.abc import Hashable, Iterator
from importlib import import_module
from random import Random
from typing import Final

import pytest

from pyrepl.keyspace.collection_scan import ElementScan
from pyrepl.keyspace.database import Keyspace
from pyrepl.keyspace.values import HashValue, ListValue, SetValue, Value, ZsetValue
from pyrepl.keyspace.zset_ranges import RankRange, Window
from pyrepl.keyspace.zset_verbs import Condition, ScoreReader
from tests.house.source import ROOT, python, shown

VALUES: Final = frozenset({"bytes", "ListValue", "SetValue", "HashValue", "ZsetValue"})
FORBIDDEN: Final = (
    "pyrepl.keyspace.packed.Packed",
    "pyrepl.keyspace.packed.unpacked",
    "pyrepl.rdb.compiled",
    "pyrepl.rdb.edits",
    "pyrepl.rdb.plain_edits",
    *(f"pyrepl.keyspace.values.{name}" for name in sorted(VALUES)),
)
"""A plain collection is a representation too."""
VALUE_NAMES: Final = frozenset({*VALUES, "Value", "Packed", "PackedList", "PackedHash", "PackedZset", "PackedSet"}) - {
    "bytes"
}
VERBS: Final = ("list_verbs", "hash_verbs", "set_verbs", "zset_verbs", "set_algebra", "zset_algebra", "elements")
"""The modules of `keyspace` whose public functions are verbs."""
LOOKUPS: Final = frozenset({"find", "read", "find_as", "read_as"})
"""Methods of a database that give a stored value, unpacked."""
STRING_ROOMS: Final = ("strings", "xstreams")
"""Their commands look up strings, which nobody can change, and streams."""


def test_commands_know_no_representation() -> None:
    guilty = [
        f"{shown(path)}:{line}"
        for path in python("pyrepl")
        if path.is_relative_to(ROOT / "pyrepl" / "commands")
        for line in leaks(path.read_text())
    ]
    assert guilty == []


def leaks(source: str) -> Iterator[int]:
    """Lines that import what packs collections, or ask for a collection's very class."""
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        if any(name.startswith(FORBIDDEN) for name in names) or _asks_class(node):
            yield getattr(node, "lineno", 0)


def _asks_class(node: ast.AST) -> bool:
    if not isinstance(node, ast.Compare) or not isinstance(node.left, ast.Call):
        return False
    words = {
        name.id for part in (node.left.func, *node.comparators) for name in ast.walk(part) if isinstance(name, ast.Name)
    }
    return "type" in words and not words.isdisjoint(VALUES)


def test_the_test_sees_a_leak() -> None:
    assert list(leaks("from pyrepl.rdb.compiled import edits")) == [1]
    assert list(leaks("from pyrepl.rdb import edits")) == [1]
    assert list(leaks("from pyrepl.keyspace.packed import PackedList")) == [1]
    assert list(leaks("\nif type(value) is not ListValue: pass")) == [2]
    assert list(leaks("x = value if type(value) is bytes else None")) == [1]
    assert list(leaks("if type(reply) is CommandError: pass")) == []
    assert list(leaks("from pyrepl.keyspace.values import ZsetValue")) == [1]


def test_commands_look_up_no_collection_themselves() -> None:
    commands = ROOT / "pyrepl" / "commands"
    guilty = [
        f"{shown(path)}:{line}"
        for path in python("pyrepl")
        if path.is_relative_to(commands) and path.relative_to(commands).parts[0] not in STRING_ROOMS
        for line in lookups(path.read_text())
    ]
    assert guilty == []


def lookups(source: str) -> Iterator[int]:
    """Lines that take an unpacked value from a database, which is called `db`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr in LOOKUPS:
            holder = node.value
            if (holder.attr if isinstance(holder, ast.Attribute) else getattr(holder, "id", "")) == "db":
                yield node.lineno


def test_the_test_sees_a_lookup() -> None:
    assert list(lookups("value = call.db.read_as(kind, key)\nvalue = db.find(key)")) == [1, 2]
    assert list(lookups("kept = db.find_kept(key)\nfile.read()")) == []


def test_verbs_take_and_return_no_stored_value() -> None:
    guilty = [
        f"{name}.{verb.name}"
        for name in VERBS
        for verb in _public(name)
        for annotation in (verb.returns, *(argument.annotation for argument in verb.args.args))
        if annotation is not None and _names(annotation) & VALUE_NAMES
    ]
    assert guilty == []


def _public(module: str) -> list[ast.FunctionDef]:
    """The functions of a module of `keyspace` that commands may call with a database."""
    tree = ast.parse((ROOT / "pyrepl" / "keyspace" / f"{module}.py").read_text())
    return [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and node.args.args[0].arg == "db"
    ]


def _names(annotation: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)}


ARGUMENTS: Final[dict[str, object]] = {
    "after": True, "at_ms": 2**40, "below": Random(1).randrange, "condition": b"", "content": b"c", "count": 100,
    "destination": b"k", "element": b"1", "elements": [b"1", b"2"], "field": b"1", "first": 0, "from_left": True,
    "highest": True, "index": 0, "keep_ttl": False, "key": b"k", "keys": (b"k", b"k"), "last": -1, "left": True,
    "limit": 0, "looks": 0, "member": b"1", "members": (b"1", b"2"), "must_exist": None, "names": (b"1", b"2"),
    "pairs": (b"1", b"c"), "pivot": b"1", "rank": 1, "reverse": False, "score": 1.0, "source": b"k",
    "span": RankRange(0, -1), "step": 1.0, "to_left": True, "wanted": 0, "window": Window(),
}  # fmt: skip
"""Whatever a parameter of this name may get."""
SPECIAL: Final[dict[str, dict[str, object]]] = {
    "set_verbs.pop_several": {"count": 3},
    "set_verbs.store": {"members": {b"1", b"2"}},
    "zset_verbs.add_several": {"scores": [3.0, 4.0], "condition": Condition()},
    "zset_verbs.increment": {"condition": Condition()},
    "zset_verbs.store": {"scores": {b"1": 1.0}, "changes": 1},
}
"""What other parameters of a name get."""
READERS: Final = (ElementScan, ScoreReader)
"""Classes that let a command read a stored collection. Their methods hand out elements alone."""


def _stored() -> dict[str, Value]:
    """For each module of verbs a collection that is too large to be packed."""
    names = [b"%d" % number for number in range(1000)]
    scores = {name: float(number) for number, name in enumerate(names)}
    return {
        "list_verbs": ListValue(deque(names)),
        "elements": ListValue(deque(names)),
        "hash_verbs": HashValue(dict.fromkeys(names, b"c"), {b"1": 2**41}),
        "set_verbs": SetValue(set(names)),
        "set_algebra": SetValue(set(names)),
        "zset_verbs": ZsetValue(scores),
    }


@pytest.mark.parametrize(
    ("module", "verb"),
    [(module, verb) for module in _stored() for verb in _public(module)],
    ids=lambda part: part if isinstance(part, str) else part.name,
)
def test_nothing_that_a_verb_returns_is_stored(module: str, verb: ast.FunctionDef) -> None:
    db = Keyspace(1).databases[0]
    db.keyspace.now_ms = 1
    db.put(b"k", _stored()[module])
    special = SPECIAL.get(f"{module}.{verb.name}", {})
    arguments = [special.get(name, ARGUMENTS.get(name)) for name in (part.arg for part in verb.args.args[1:])]
    returned = getattr(import_module(f"pyrepl.keyspace.{module}"), verb.name)(db, *arguments)
    stored = {id(part) for value in db.store.values.values() for part in (value, *_parts(value))}
    assert [part for part in _reachable(returned) if id(part) in stored] == []


def _parts(value: object) -> list[object]:
    """What a collection is made of, without its elements."""
    return [part for part in gc.get_referents(value) if not isinstance(part, Hashable)]


def _reachable(returned: object) -> Iterator[object]:
    """What a caller can get at."""
    if isinstance(returned, READERS):
        return
    yield returned
    if isinstance(returned, dict):
        returned = [*returned.keys(), *returned.values()]
    if isinstance(returned, list | tuple | set | frozenset | deque):
        for part in returned:
            yield from _reachable(part)


def test_what_is_stored_is_seen() -> None:
    members = {b"a"}
    assert any(part is members for part in _parts(SetValue(members)))
    assert any(part is members for part in _reachable(([members], 1)))
