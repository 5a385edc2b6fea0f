"""Texts that were just read: the newest are kept, within bounds."""

from __future__ import annotations

from pyrepl.daemon.mailbox.fresh_texts import MOST_BYTES, FreshTexts
from pyrepl.mailbox.outgoing import PIECE_BYTES


def test_a_text_is_there_until_newer_ones_need_the_room() -> None:
    texts = FreshTexts()
    texts.put("alice", "G", b"one")
    texts.put("alice", "G", b"two")
    assert (texts.get(("alice", "G")), texts.get(("bob", "G"))) == (b"two", None)
    for number in range(MOST_BYTES // PIECE_BYTES):
        texts.put("bob", str(number), bytes(PIECE_BYTES))
    assert texts.get(("alice", "G")) is None and texts.get(("bob", "0")) is not None
    texts.put("bob", "more", b"x")
    assert texts.get(("bob", "0")) is None and texts.get(("bob", "1")) is not None


def test_a_large_text_is_not_kept() -> None:
    texts = FreshTexts()
    texts.put("alice", "G", bytes(PIECE_BYTES + 1))
    assert texts.get(("alice", "G")) is None
