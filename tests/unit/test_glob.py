"""Glob: each rule of Redis's patterns, as Redis 7.0 answered KEYS, and no backtracking."""

from __future__ import annotations

import re

import pytest

from pyrepl.glob import Glob

MATCHES = [
    (b"*", b"anything"),
    (b"*", b""),
    (b"", b""),
    (b"**", b"a"),
    (b"h?llo", b"hello"),
    (b"h*llo", b"hllo"),
    (b"h*llo", b"heeeello"),
    (b"h[ae]llo", b"hallo"),
    (b"h[^e]llo", b"hbllo"),
    (b"h[a-b]llo", b"hbllo"),
    (b"[z-a]", b"m"),
    (b"user:*", b"user:"),
    (b"user:*", b"user:1\n2"),
    (b"*:name", b"user:name"),
    (b"*mid*", b"a mid b"),
    (b"\\*", b"*"),
    (b"\\a", b"a"),
    (b"a\\", b"a\\"),
    (b"[\\a]", b"a"),
    (b"[\\]]", b"]"),
    (b"[\\a", b"a"),
    (b"[a", b"a"),
    (b"[a-", b"a"),
    (b"[a-", b"-"),
    (b"[^", b"a"),
    (b"[^]", b"a"),
    (b"a*b*c", b"a-b-b-c"),
    (b"a*b*c*", b"abc"),
    (b"*a", b"ba"),
    (b"?*?", b"xy"),
    (b"\x00*\xff", b"\x00\x01\xff"),
    (b"a.c", b"a.c"),
    (b"$^|()", b"$^|()"),
]

MISSES = [
    (b"", b"a"),
    (b"a", b""),
    (b"**", b""),
    (b"?", b""),
    (b"[^a]", b""),
    (b"h?llo", b"hllo"),
    (b"h[^e]llo", b"hello"),
    (b"h[a-b]llo", b"hcllo"),
    (b"a*b", b"ab\n"),
    (b"a", b"a\n"),
    (b"[", b"["),
    (b"[]", b"]"),
    (b"[]a]", b"]a]"),
    (b"a\\", b"a"),
    (b"?*?", b"x"),
    (b"a.c", b"abc"),
    (b"ABC", b"abc"),
    (b"*mid*", b"mod"),
]


@pytest.mark.parametrize(("pattern", "text"), MATCHES)
def test_matches(pattern: bytes, text: bytes) -> None:
    assert Glob(pattern).matches(text)


@pytest.mark.parametrize(("pattern", "text"), MISSES)
def test_does_not_match(pattern: bytes, text: bytes) -> None:
    assert not Glob(pattern).matches(text)


def test_nocase_folds_letters_and_ranges_but_not_escaped_members() -> None:
    assert Glob(b"MaxClients", nocase=True).matches(b"maxclients")
    assert Glob(b"MAX*", nocase=True).matches(b"maxclients")
    assert Glob(b"[A-C]x", nocase=True).matches(b"bX")
    assert Glob(b"[b]", nocase=True).matches(b"B")
    assert not Glob(b"[\\b]", nocase=True).matches(b"B")
    assert Glob(b"\\b", nocase=True).matches(b"B")
    assert not Glob(b"\xe9", nocase=True).matches(b"\xc9")


def test_tells_what_a_dict_lookup_can_use() -> None:
    assert Glob(b"user:1").literal == b"user:1"
    assert Glob(b"user:?").literal is None
    assert Glob(b"user", nocase=True).literal is None
    assert Glob(b"*").matches_all
    assert not Glob(b"a*").matches_all
    assert Glob(b"a*").pattern == b"a*"


def test_pieces_between_stars_are_not_tried_again() -> None:
    """With backtracking this would not end: each of 30 stars may stop at any of 20,000 places."""
    text = b"a" * 20_000
    assert not Glob(b"*a" * 30 + b"*b").matches(text)
    assert Glob(b"*a" * 30 + b"*").matches(text)
    assert not Glob(b"*" + b"?" * 19_999 + b"b").matches(text)


@pytest.mark.parametrize("element", [b"*?", b"*a", b"?", b"[ab]", b"[a-c]*", b"\\a", b"[\\]]*"])
def test_a_pattern_longer_than_the_text_is_read_once_and_never_compiled(
    element: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    pattern = Glob(element * 50_000)

    def refuse(*arguments: object) -> None:
        raise AssertionError("compiled")

    monkeypatch.setattr(re, "compile", refuse)
    assert not pattern.matches(b"a" * 49_999)


@pytest.mark.parametrize(
    ("pattern", "is_match"),
    [
        (b"*a" * 1000, True),
        (b"*a" * 1000 + b"*", True),
        (b"**a" * 1000 + b"**", True),
        (b"a*" * 1001, True),
        (b"*a" * 1001, False),
        (b"*?" * 1001, False),
        (b"a*" * 1001 + b"a", False),
    ],
)
def test_more_than_1000_stars_match_nothing_as_in_redis(pattern: bytes, is_match: bool) -> None:
    assert Glob(pattern).matches(b"a" * 3000) is is_match
