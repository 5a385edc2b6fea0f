"""Expressions and attributes. Most corners are compared with Redis in tests/interop/test_vectors.py."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrepl.errors import CommandError
from pyrepl.keyspace.vector_filter import compile_filter

FILM = b'{"year":1984,"name":"The Matrix","ok":true,"tags":["a",2],"nul":null,"deep":{"x":1},"year":7}'


def keeps(expression: str, attributes: bytes | None = FILM) -> bool:
    return compile_filter(expression.encode()).keeps(attributes)


@pytest.mark.parametrize(
    "expression",
    [
        ".year >= 1980 and .year < 1990",
        ".name == 'The Matrix'",
        '"a" in .tags && 2 in .tags',
        ".ok",
        "!(.year == 7)",
        ".nul == null",
        "2 ** 3 ** 2 == 512",
        "1 - -1 == 2",
        "7 / 0 > 1 or 0",
        "(0 - 8) ** 0.5 or 0",
        "10 ** 400 > 1",
        "7 % 4 == 3",
        '"0x10" == 16',
        '"10" == 10',
    ],
)
def test_what_holds(expression: str) -> None:
    assert keeps(expression)


@pytest.mark.parametrize(
    "expression", ["not .ok", ".nul", ".missing or 1", ".deep", "0/0 == 0/0", '"5 " == 5', "3 in 3", ".year == 7", "''"]
)
def test_what_does_not_hold(expression: str) -> None:
    assert not keeps(expression)


def test_attributes_that_are_no_object_have_no_fields() -> None:
    for attributes in (
        b"",
        b"no json",
        b"[1,2]",
        b"1",
        b'{"year":1984',
        b"[" * 100_000,
        b"\xff",
        b'{"a":' + b"9" * 5000,
    ):
        assert not keeps(".year > 0", attributes)
        assert keeps("1 == 1", attributes)
    assert not keeps("1 == 1", None)


def test_numbers_too_great_for_a_double() -> None:
    assert keeps(".a > 5", b'{"a":1e400}')
    assert keeps(".a > 5 and .b < 5", b'{"a":1' + b"0" * 400 + b',"b":-1' + b"0" * 400 + b"}")


@pytest.mark.parametrize(
    ("expression", "near"),
    [
        ("1 +", "1 +"),
        ("(1", "(1"),
        ("1)", "1)"),
        ("1 1", "1 1"),
        ("", ""),
        ('"open', '"open'),
        (".year = 1984", " 1984"),
        ("0x10 == 16", "10 == 16"),
        ("[1 2]", "2]"),
        ("[1,[2]]", "[2]]"),
        ("é", "é"),
        ("1.5.5", "1.5.5"),
    ],
)
def test_errors_show_where(expression: str, near: str) -> None:
    with pytest.raises(CommandError) as raised:
        compile_filter(expression.encode())
    assert str(raised.value) == f"ERR syntax error in FILTER expression near: {near}"


def test_a_long_expression_is_refused() -> None:
    assert keeps(" and ".join(["1"] * 500))
    with pytest.raises(CommandError, match="too long"):
        compile_filter(b" and ".join([b"1"] * 501))


@given(
    st.lists(st.sampled_from([*"()!+-*/%<>=.&|[]',\" \t", "1", "0", "null", "in", ".a", "and", "or", "not", "e9"])),
    st.sampled_from([b'{"a":0}', b'{"a":"x"}', b'{"a":[1]}', b"{"]),
)
def test_any_text_is_an_expression_or_an_error(words: list[str], attributes: bytes) -> None:
    try:
        program = compile_filter("".join(words).encode())
    except CommandError as error:
        assert str(error).startswith("ERR syntax error in FILTER expression near: ")
    else:
        assert program.keeps(attributes) in (True, False)
