"""The lines of users."""

from __future__ import annotations

import pytest

from pyrepl.config.user_kinds import UserLines
from pyrepl.errors import ConfigError

BOB, CAROL = (b"bob", b"on", b">p"), (b"carol",)


def test_lines_add_up() -> None:
    kind = UserLines()
    value = kind.again(list(CAROL), kind.parse(list(BOB), ()))
    assert value == (BOB, CAROL)
    assert kind.lines(value) == [list(BOB), list(CAROL)]
    assert kind.text(value) == b"bob on >p; carol"


def test_none() -> None:
    assert UserLines().parse([b""], (BOB,)) == ()
    assert UserLines().again([b""], (BOB,)) == (BOB,)


@pytest.mark.parametrize("words", [[], [b"", b"on"]])
def test_a_user_has_a_name(words: list[bytes]) -> None:
    with pytest.raises(ConfigError, match="wrong number of arguments"):
        UserLines().parse(words, ())


def test_a_user_comes_once() -> None:
    with pytest.raises(ConfigError, match="Duplicate user found"):
        UserLines().again([b"bob", b"off"], (BOB,))
