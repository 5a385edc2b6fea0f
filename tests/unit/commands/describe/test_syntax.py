"""The lines of all commands can be read, and say no more than the arity allows."""

from __future__ import annotations

import pytest

from pyrepl.commands.describe.syntax import SYNTAX
from pyrepl.commands.describe.syntax_tree import Argument, parse_syntax
from tests.unit.commands.rig import full_table

ROWS = {row.name: row for parent in full_table() for row in (parent, *parent.subcommands.values())}


def least_words(arguments: tuple[Argument, ...]) -> int:
    """How many words a call has behind its name, when it has no more than it must."""
    return sum(_least(argument) for argument in arguments if not argument.optional)


def _least(argument: Argument) -> int:
    token = 1 if argument.token else 0
    if argument.type == "pure-token":
        return 1
    if argument.type == "block":
        return token + least_words(argument.children)
    if argument.type == "oneof":
        return token + min(map(_least, argument.children))
    return token + 1


@pytest.mark.parametrize("name", SYNTAX)
def test_a_line_needs_as_many_words_as_the_arity_asks_for(name: str) -> None:
    row = ROWS[name]
    words = 2 if "|" in name else 1
    least = words + least_words(parse_syntax(SYNTAX[name]))
    if row.arity > 0:
        assert least == row.arity
    else:
        assert least >= -row.arity
