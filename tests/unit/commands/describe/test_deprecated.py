"""Deprecated commands: rows of the table, and what stands in their place. Redis 8.6 is asked in tests/house."""

from __future__ import annotations

import re

import pytest

from pyrepl.commands.describe.deprecated import DEPRECATED, OF_THE_SYSTEM
from tests.unit.commands.rig import Rig, full_table

NAMES = {row.name for parent in full_table() for row in (parent, *parent.subcommands.values())}


def test_each_is_a_row() -> None:
    assert DEPRECATED.keys() | OF_THE_SYSTEM <= NAMES


@pytest.mark.parametrize("name", DEPRECATED)
def test_what_takes_its_place_is_there(name: str) -> None:
    commands = [words.replace(" ", "|") for words in re.findall("`([A-Z ]+)`", DEPRECATED[name][1])]
    assert not commands or (commands[0] in NAMES and commands[0] not in DEPRECATED)


def test_what_docs_say() -> None:
    docs = Rig().say(
        "COMMAND DOCS setnx debug get",
    )
    assert isinstance(docs, dict)
    assert (docs[b"setnx"][b"deprecated_since"], docs[b"setnx"][b"replaced_by"]) == (b"2.6.12", b"`SET` with `NX`")
    assert "deprecated" in str(docs[b"setnx"][b"doc_flags"]) and "syscmd" in str(docs[b"debug"][b"doc_flags"])
    assert b"doc_flags" not in docs[b"get"]
