"""Texts that come are on disk when they are told, or it is told why not."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from pyrepl.daemon.mailbox.drop_folder import DropFolder
from pyrepl.daemon.mailbox.files import DiskFiles
from pyrepl.daemon.mailbox.text_writer import MOST_AT_ONCE, Kept, TextWriter, Told
from pyrepl.mailbox.maildir.text_sums import sums_of
from pyrepl.mailbox.words import Dot
from tests.unit.daemon.rig import in_loop, until


def writer(folder: Path) -> TextWriter:
    drop = DropFolder(DiskFiles(), str(folder).encode())
    drop.prepare()
    return TextWriter(drop)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / ".pyrepl-drop").iterdir())


@in_loop
async def test_a_text_in_pieces(tmp_path: Path) -> None:
    texts, told = writer(tmp_path), list[Kept]()
    coming = texts.begin(Dot("b", 7), "G1", 1, 6, (), told.append)
    coming.add(b"abc", False)
    coming.add(b"def", True)
    assert coming.waiting_bytes == 6
    await until(lambda: told)
    assert told == [Kept("b.7.G1", sums_of(b"abcdef"))] and coming.waiting_bytes == 0
    assert (tmp_path / ".pyrepl-drop" / "b.7.G1").read_bytes() == b"abcdef"
    texts.remove(["b.7.G1", "other"])
    await until(lambda: not files(tmp_path))
    texts.stop()


@in_loop
async def test_texts_that_came_together_are_told_together(tmp_path: Path) -> None:
    texts, told, turns = writer(tmp_path), list[str](), list[int]()
    may_go = threading.Event()

    def note() -> None:
        asyncio.get_running_loop().call_soon(lambda: turns.append(len(told)))

    def wait() -> Told:
        assert may_go.wait(10)
        return note

    texts.write(wait)
    for number in range(MOST_AT_ONCE):
        texts.begin(Dot("b", number), "G", 1, 1, (), lambda kept: told.append(kept.name)).add(b"x", True)
    may_go.set()
    await until(lambda: len(told) == MOST_AT_ONCE)
    assert turns == [MOST_AT_ONCE - 1] and told == [f"b.{number}.G" for number in range(MOST_AT_ONCE)]
    texts.stop()


@pytest.mark.parametrize(("size", "sums", "why"), [(7, (), "expected 7 bytes"), (6, (1,), "not the one that was sent")])
@in_loop
async def test_a_text_that_is_another(tmp_path: Path, size: int, sums: tuple[int, ...], why: str) -> None:
    texts, told = writer(tmp_path), list[Kept]()
    texts.begin(Dot("b", 7), "G1", 1, size, sums, told.append).add(b"abcdef", True)
    await until(lambda: told)
    assert not told[0].name and why in told[0].why and told[0].is_wrong
    assert files(tmp_path) == []
    texts.stop()


@in_loop
async def test_a_disk_that_refuses_and_a_text_that_ends_half(tmp_path: Path) -> None:
    texts, told = writer(tmp_path), list[Kept]()
    half = texts.begin(Dot("b", 8), "G2", 1, 6, (), told.append)
    half.add(b"abc", False)
    half.abandon()
    await until(lambda: not half.waiting_bytes and not files(tmp_path))
    (tmp_path / ".pyrepl-drop").rmdir()
    coming = texts.begin(Dot("b", 7), "G1", 1, 6, (), told.append)
    coming.add(b"abc", False)
    coming.add(b"def", True)
    await until(lambda: told)
    assert told == [Kept(why="No such file or directory: is the disk of the Maildirs full, or not mounted?")]
    texts.stop()


@in_loop
async def test_when_it_ends_what_is_half_goes_and_what_is_whole_stays(tmp_path: Path) -> None:
    texts, told = writer(tmp_path), list[Kept]()
    texts.begin(Dot("b", 7), "G1", 1, 3, (), told.append).add(b"abc", True)
    half = texts.begin(Dot("b", 8), "G2", 1, 6, (), told.append)
    half.add(b"abc", False)
    await until(lambda: not half.waiting_bytes)
    assert files(tmp_path) == ["b.7.G1", "b.8.G2"]
    texts.stop()
    await asyncio.to_thread(texts.wait)
    assert files(tmp_path) == ["b.7.G1"]


@in_loop
async def test_when_it_ends_nothing_else_is_begun(tmp_path: Path) -> None:
    texts, may_go, is_begun = writer(tmp_path), threading.Event(), threading.Event()

    def wait() -> Told:
        is_begun.set()
        assert may_go.wait(10)
        return lambda: None

    texts.write(wait)
    texts.begin(Dot("b", 7), "G1", 1, 1, (), lambda kept: None).add(b"x", True)
    assert is_begun.wait(10)
    texts.stop()
    may_go.set()
    await asyncio.sleep(0.05)
    assert files(tmp_path) == []
