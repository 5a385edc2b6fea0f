"""Texts as files for a while."""

from __future__ import annotations

import pytest

from pyrepl.daemon.mailbox import fetched_texts as room
from pyrepl.daemon.mailbox.fetched_texts import NAME, FetchedTexts
from tests.unit.daemon.mailbox.model_disk import ModelDisk, full_from


def test_the_ones_that_were_asked_for_last_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST", 2)
    disk = ModelDisk()
    disk.make_folders(b"/data")
    texts = FetchedTexts(disk, b"/data")
    texts.prepare()
    one = texts.put("alice", "G1", b"one", 1_700_000_000)
    assert disk.read(one) == b"one" and disk.stat(one).mtime_ns == 1_700_000_000 * 10**9  # type: ignore[union-attr]
    assert texts.put("alice", "G1", b"one", 1_700_000_000) == one == texts.find("alice", "G1")
    texts.put("alice", "G2", b"two", 1)
    texts.find("alice", "G1")
    texts.put("bob", "G1", b"of bob", 1)
    assert texts.find("alice", "G2") is None and texts.find("alice", "G1") == one
    assert len(disk.names(b"/data/" + NAME)) == 2
    FetchedTexts(disk, b"/data").prepare()
    assert disk.names(b"/data/" + NAME) == []


@pytest.mark.parametrize("refused", ["write_new", "set_mtime"])
def test_a_text_that_the_disk_refused_is_kept_when_it_comes_again(refused: str) -> None:
    disk = ModelDisk()
    disk.make_folders(b"/data")
    texts = FetchedTexts(disk, b"/data")
    texts.prepare()
    disk.before_call = lambda number, what, path: full_from(0)(number, "write_new" if what == refused else "", path)
    for _ in range(2):
        with pytest.raises(OSError, match="No space"):
            texts.put("alice", "G1", b"one", 1)
    assert texts.find("alice", "G1") is None
    disk.before_call = lambda number, what, path: None
    assert disk.read(texts.put("alice", "G1", b"one", 1)) == b"one"
