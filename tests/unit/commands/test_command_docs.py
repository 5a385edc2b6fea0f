"""Rows as COMMAND INFO and DOCS print them; whole replies are tested in test_introspection.py."""

from __future__ import annotations

from types import ModuleType

import pytest

from pyrepl.commands.command_docs import Catalogue, arguments_of, as_set, info_of, key_flags, key_specs, word_set
from pyrepl.commands.table import (
    FIRST_ARG,
    NO_KEYS,
    READONLY,
    SECOND_ARG,
    WRITE,
    Command,
    Keys,
    command,
    container,
    numkeys_at,
)
from pyrepl.resp.encoder import encode_reply
from pyrepl.resp.reply import Simple

box = container("BOX", group="server")


@command("BOX|PUT", arity=-4, flags=WRITE, keys=SECOND_ARG, group="server")
def put(call: object, key: bytes, value: bytes, *options: bytes) -> None:
    """Put something in"""


@pytest.fixture
def catalogue() -> Catalogue:
    module = ModuleType("boxes")
    vars(module).update(box=box, put=put)
    return Catalogue([module])


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


def test_arguments_begin_behind_both_names() -> None:
    """The key of a subcommand stands at 2, where SECOND_ARG says."""
    assert arguments_of(put, 2) == [
        {b"name": b"key", b"type": b"key", b"display_text": b"key", b"key_spec_index": 0},
        {b"name": b"value", b"type": b"string", b"display_text": b"value"},
        {
            b"name": b"options",
            b"type": b"string",
            b"display_text": b"options",
            b"flags": [Simple(b"optional"), Simple(b"multiple")],
        },
    ]


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

    def test_places_that_depend_on_the_arguments(self) -> None:
        assert self.spec(numkeys_at(1))[b"find_keys"] == {b"type": b"unknown", b"spec": {}}

    def test_flags(self) -> None:
        assert key_flags(put) == ("RW", "access", "update")
        assert key_flags(Command("TRY", lambda call: None, 2, READONLY, FIRST_ARG, "string", "1")) == ("RO", "access")


def test_word_sets() -> None:
    assert word_set(["b", "a"], 2) == [Simple(b"b"), Simple(b"a")]
    assert encode_reply(word_set(["b", "a"], 3), 3) == b"~2\r\n+b\r\n+a\r\n"


def test_sets_of_maps() -> None:
    assert as_set([{b"a": 1}], 2) == [{b"a": 1}]
    assert encode_reply(as_set([{b"a": 1}], 3), 3) == b"~1\r\n%1\r\n$1\r\na\r\n:1\r\n"
