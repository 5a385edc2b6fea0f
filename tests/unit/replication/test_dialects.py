"""Capabilities and the vendors' ways to sync on two connections."""

from __future__ import annotations

from pyrepl.replication.dialects import CAPABILITY_WORDS, DIALECTS, Capability, decode_capability


def test_known_words_in_any_case() -> None:
    assert decode_capability(b"EOF") is Capability.EOF
    assert decode_capability(b"psync2") is Capability.PSYNC2


def test_unknown_words_mean_nothing() -> None:
    assert decode_capability(b"telepathy") is Capability.NONE


def test_each_dialect_is_announced_by_a_word_of_its_own() -> None:
    announced = [dialect.capability for dialect in DIALECTS]
    assert len(set(announced)) == len(DIALECTS)
    assert set(announced) <= set(CAPABILITY_WORDS.values())
    assert len({dialect.verdict for dialect in DIALECTS}) == len(DIALECTS)
