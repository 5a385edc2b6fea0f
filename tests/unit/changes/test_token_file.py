"""A place in a file: whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pyrepl.changes.token_file import MOST_BYTES, TokenFile


def test_save_and_load(tmp_path: Path) -> None:
    file = TokenFile(tmp_path / "token")
    assert file.load() is None
    file.save("5174")
    file.save("5175@abc")
    assert file.load() == "5175@abc"
    assert os.listdir(tmp_path) == ["token"]
    assert (tmp_path / "token").read_text() == "5175@abc\n"


def test_a_failed_save_keeps_the_old_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = TokenFile(tmp_path / "token")
    file.save("1")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        file.save("2")
    assert file.load() == "1"
    assert os.listdir(tmp_path) == ["token"]


def test_what_is_no_saved_token(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"token: not a saved token"):
        TokenFile(path).load()
    path.write_bytes(b"1" * (MOST_BYTES + 1))
    with pytest.raises(ValueError, match=r"token: longer than a saved token can be"):
        TokenFile(path).load()
    path.write_bytes(b"\n")
    assert TokenFile(path).load() is None


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        TokenFile(tmp_path / "none" / "token").save("1")
