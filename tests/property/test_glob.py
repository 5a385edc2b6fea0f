"""Glob against a plain recursive model of the rules, over an alphabet that is mostly special bytes; and against KEYS of
real servers."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrepl.glob import Glob
from tests.peers.lab import Lab

SPECIAL = st.binary(max_size=0) | st.text(alphabet="ab*?[]^-\\AB", max_size=9).map(str.encode)
TEXTS = st.text(alphabet="ab]-^\\A*", max_size=8).map(str.encode)


def fold(byte: int, nocase: bool) -> int:
    return bytes([byte]).lower()[0] if nocase else byte


def model(pattern: bytes, text: bytes, nocase: bool) -> bool:
    """One rule at a time, exponential and obvious; `text` is not empty at the top."""
    if not text:
        return not pattern.strip(b"*")
    if not pattern:
        return False
    head, rest = pattern[0], pattern[1:]
    if head == 0x2A:
        return model(rest, text, nocase) or model(pattern, text[1:], nocase)
    if head == 0x3F:
        return model(rest, text[1:], nocase)
    if head == 0x5B:
        hit, rest = model_class(rest, text[0], nocase)
        return hit and model(rest, text[1:], nocase)
    if head == 0x5C and rest:
        head, rest = rest[0], rest[1:]
    return fold(head, nocase) == fold(text[0], nocase) and model(rest, text[1:], nocase)


def model_class(rest: bytes, byte: int, nocase: bool) -> tuple[bool, bytes]:
    negated = rest[:1] == b"^"
    rest = rest[1:] if negated else rest
    hit = False
    while rest:
        if rest[0] == 0x5C and len(rest) > 1:
            hit |= rest[1] == byte
            rest = rest[2:]
        elif rest[0] == 0x5D:
            rest = rest[1:]
            break
        elif len(rest) > 2 and rest[1] == 0x2D:
            low, high = sorted((rest[0], rest[2]))
            hit |= fold(low, nocase) <= fold(byte, nocase) <= fold(high, nocase)
            rest = rest[3:]
        else:
            hit |= fold(rest[0], nocase) == fold(byte, nocase)
            rest = rest[1:]
    return hit != negated, rest


@settings(max_examples=400, deadline=None)
@given(SPECIAL, TEXTS.filter(bool), st.booleans())
def test_agrees_with_the_model(pattern: bytes, text: bytes, nocase: bool) -> None:
    assert Glob(pattern, nocase).matches(text) is model(pattern, text, nocase)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=20), st.binary(max_size=20))
def test_any_bytes_compile_and_an_escaped_text_matches_itself(pattern: bytes, text: bytes) -> None:
    assert Glob(pattern).matches(text) in (True, False)
    escaped = b"".join(b"\\" + bytes([byte]) for byte in text)
    assert Glob(escaped).matches(text)


@pytest.mark.parametrize("kind", ["redis7", "redis8", "valkey8"])
def test_agrees_with_keys_of_a_real_server(kind: str, tmp_path: Path) -> None:
    rng = Random(8203)
    texts = {bytes(rng.choices(b"ab]-^\\A*[", k=rng.randrange(1, 7))) for _ in range(400)}
    patterns = [bytes(rng.choices(b"ab*?[]^-\\A", k=rng.randrange(10))) for _ in range(3000)]
    _compare(kind, texts, patterns, tmp_path)


@pytest.mark.parametrize("kind", ["redis8", "valkey8"])
def test_gives_up_where_a_real_server_does(kind: str, tmp_path: Path) -> None:
    """After 1,000 stars. Redis 7.0 as its makers publish it goes on, as Debian's does not."""
    patterns = [b"*a" * 1000, b"*a" * 1001, b"a*" * 1001, b"*?" * 50_000, b"[" * 5000, b"?" * 1500, b"*[^b]" * 900]
    _compare(kind, {b"a", b"a" * 1500}, patterns, tmp_path)


def _compare(kind: str, texts: set[bytes], patterns: list[bytes], folder: Path) -> None:
    with Lab(folder) as lab:
        wire = lab.start(kind).connect()
        wire.call("MSET", *[word for text in texts for word in (text, "1")])
        for pattern in patterns:
            glob = Glob(pattern)
            ours = {text for text in texts if glob.matches(text)}
            assert ours == set(wire.call("KEYS", pattern)), pattern
