"""A stored text is compared with its checksums part by part."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from pyrepl.daemon.mailbox.files import DiskFiles
from pyrepl.daemon.mailbox.text_reading import read_text
from pyrepl.mailbox.maildir.text_sums import BLOCK_BYTES, sums_of
from pyrepl.mailbox.scrubbing import NOT_THERE, SAME, Piece, TextRead, Verdict
from tests.unit.daemon.mailbox.model_disk import ModelDisk

TEXT = bytes(range(256)) * (3 * BLOCK_BYTES // 256) + b"end"


def piece(first: int = 0, blocks: int = 4, text: bytes = TEXT) -> Piece:
    return Piece("G", len(text), first, sums_of(text)[first : first + blocks])


def read(data: bytes, wanted: Piece) -> TextRead:
    disk = ModelDisk()
    disk.write_new(b"/text", data)
    return read_text(disk, b"/text", wanted)


@pytest.mark.parametrize("first", range(4))
@pytest.mark.parametrize("blocks", [1, 2, 4])
def test_a_part_that_is_as_it_was(first: int, blocks: int) -> None:
    assert read(TEXT, piece(first, blocks)) == SAME


def test_an_empty_text() -> None:
    assert read(b"", piece(text=b"")) == SAME
    assert read(b"x", piece(text=b"")) == TextRead(Verdict.DAMAGED, "it has 1 bytes and had 0")


@pytest.mark.parametrize("at", [0, BLOCK_BYTES - 1, BLOCK_BYTES, len(TEXT) - 1])
def test_one_bit_that_differs_is_told_by_its_block(at: int) -> None:
    damaged = bytearray(TEXT)
    damaged[at] ^= 1
    found = read(bytes(damaged), piece())
    assert found == TextRead(Verdict.DAMAGED, f"it is another one from byte {at // BLOCK_BYTES * BLOCK_BYTES} on")
    first = 1 if at < BLOCK_BYTES else 0
    assert read(bytes(damaged), piece(first, 1)) == SAME, "another part of it is what it was"


@pytest.mark.parametrize("text", [TEXT[:-1], TEXT + b"x", b""])
def test_another_size(text: bytes) -> None:
    assert read(text, piece(1, 1)) == TextRead(Verdict.DAMAGED, f"it has {len(text)} bytes and had {len(TEXT)}")


def test_what_is_not_there_or_may_not_be_read_is_not_damaged(tmp_path: Path) -> None:
    assert read_text(ModelDisk(), None, piece()) == read_text(ModelDisk(), b"/none", piece()) == NOT_THERE
    assert read_text(DiskFiles(), str(tmp_path).encode(), piece()) == NOT_THERE, "a folder"


def test_a_disk_that_cannot_read_it_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    disk = ModelDisk()
    disk.write_new(b"/text", TEXT)

    def fails(path: bytes, start: int, most: int) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(disk, "read_part", fails)
    wanted = TextRead(Verdict.DAMAGED, f"the disk cannot read it from byte {BLOCK_BYTES} on")
    assert read_text(disk, b"/text", piece(1)) == wanted
