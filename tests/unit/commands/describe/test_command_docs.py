"""Rows as COMMAND INFO and DOCS print them; whole replies are tested in test_introspection.py."""

from __future__ import annotations

from types import ModuleType

import pytest

from pyrepl.commands.describe.command_docs import Catalogue, arguments_of, as_set, info_of, key_specs, word_set
from pyrepl.commands.engine.table import (
    NO_KEYS,
    READONLY,
    SECOND_ARG,
    WRITE,
    Command,
    Keys,
    Table,
    command,
    container,
)
from pyrepl.resp.encoder import encode_reply
from pyrepl.resp.reply import Simple
from tests.unit.commands.rig import full_table

box = container("BOX", group="server")


@command("BOX|PUT", arity=-4, flags=WRITE, keys=SECOND_ARG, group="server")
def put(call: object, key: bytes, value: bytes, *options: bytes) -> None:
    """Put something in"""


@pytest.fixture
def catalogue() -> Catalogue:
    module = ModuleType(__name__)
    vars(module).update(box=box, put=put)
    return Catalogue(Table([module]))


class TestCatalogue:
    def test_top_and_children(self, catalogue: Catalogue) -> None:
        assert catalogue.top() == [box]
        assert catalogue.children(box) == [put]
        assert catalogue.children(put) == []

    @pytest.mark.parametrize("name", [b"box|put", b"BOX|PUT"])
    def test_named(self, catalogue: Catalogue, name: bytes) -> None:
        assert catalogue.named(name) is put
        assert catalogue.named(b"nosuch") is None

    def test_info_nests(self, catalogue: Catalogue) -> None:
        children = info_of(box, catalogue, 2)[9]
        assert isinstance(children, list) and isinstance(children[0], list)
        assert children[0][0] == b"box|put"


def row_of(name: str) -> Command:
    return next(row for parent in full_table() for row in (parent, *parent.subcommands.values()) if row.name == name)


def test_arguments_are_a_tree() -> None:
    assert arguments_of(row_of("LMPOP"), 2) == [
        {b"name": b"numkeys", b"type": b"integer", b"display_text": b"numkeys"},
        {
            b"name": b"key",
            b"type": b"key",
            b"display_text": b"key",
            b"key_spec_index": 0,
            b"flags": [Simple(b"multiple")],
        },
        {
            b"name": b"left-right",
            b"type": b"oneof",
            b"arguments": [
                {b"name": b"left", b"type": b"pure-token", b"display_text": b"left", b"token": b"LEFT"},
                {b"name": b"right", b"type": b"pure-token", b"display_text": b"right", b"token": b"RIGHT"},
            ],
        },
        {
            b"name": b"count",
            b"type": b"integer",
            b"display_text": b"count",
            b"token": b"COUNT",
            b"flags": [Simple(b"optional")],
        },
    ]
    assert arguments_of(row_of("DBSIZE"), 2) == []


def test_each_key_names_its_spec() -> None:
    arguments = arguments_of(row_of("BITOP"), 2)
    assert [one.get(b"key_spec_index") for one in arguments if isinstance(one, dict)] == [None, 0, 1]


class TestKeySpecs:
    def spec(self, keys: Keys) -> dict[object, object]:
        specs = key_specs(Command("TRY", lambda call: None, -2, READONLY, keys, "string", "1.0.0"), 2)
        assert isinstance(specs, list) and isinstance(specs[0], dict)
        return dict(specs[0])

    def test_no_keys(self) -> None:
        assert key_specs(Command("TRY", lambda call: None, 1, 0, NO_KEYS, "string", "1.0.0"), 2) == []

    def test_a_range_counts_its_end_from_its_start(self) -> None:
        spec = self.spec(Keys(2, 3, 1))
        assert spec[b"begin_search"] == {b"type": b"index", b"spec": {b"index": 2}}
        assert spec[b"find_keys"] == {b"type": b"range", b"spec": {b"lastkey": 1, b"keystep": 1, b"limit": 0}}

    def test_to_the_end(self) -> None:
        find_keys = self.spec(Keys(1, -1, 2))[b"find_keys"]
        assert find_keys == {b"type": b"range", b"spec": {b"lastkey": -1, b"keystep": 2, b"limit": 0}}

    def test_what_is_done_with_the_keys(self) -> None:
        specs = key_specs(row_of("SMOVE"), 2)
        assert isinstance(specs, list) and all(isinstance(spec, dict) for spec in specs)
        assert [spec[b"flags"] for spec in specs if isinstance(spec, dict)] == [
            [Simple(b"RW"), Simple(b"access"), Simple(b"delete")],
            [Simple(b"RW"), Simple(b"insert")],
        ]


def test_word_sets() -> None:
    assert word_set(["b", "a"], 2) == [Simple(b"b"), Simple(b"a")]
    assert encode_reply(word_set(["b", "a"], 3), 3) == b"~2\r\n+b\r\n+a\r\n"


def test_sets_of_maps() -> None:
    assert as_set([{b"a": 1}], 2) == [{b"a": 1}]
    assert encode_reply(as_set([{b"a": 1}], 3), 3) == b"~1\r\n%1\r\n$1\r\na\r\n:1\r\n"
