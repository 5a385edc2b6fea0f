"""Dates, sizes and checksums of messages, and texts that cannot be read."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from pyrepl.daemon.mailbox.files import DiskFiles
from pyrepl.daemon.mailbox.listing import Message
from pyrepl.daemon.mailbox.look import Look
from pyrepl.daemon.mailbox.message_text import TextReader, is_no_mail, received_of, shown_path
from pyrepl.mailbox.kinds import KINDS, MOST_COUNT
from pyrepl.mailbox.maildir.text_sums import sums_of


@pytest.mark.parametrize("mtime_ns", [-1, -1_800_000_000_000, 0, 1_795_000_000_123_456_789, 2**63 * 10**9])
def test_a_date_is_one_that_can_be_told(mtime_ns: int) -> None:
    received = received_of(mtime_ns)
    assert KINDS["Seconds"].parse(str(received)) == received == min(max(mtime_ns // 10**9, 0), MOST_COUNT)


def test_what_can_be_read_is_told_whatever_cannot(tmp_path: Path) -> None:
    (tmp_path / "mail").write_bytes(b"text")
    os.utime(tmp_path / "mail", (-5, -5))
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("mail")
    kept: list[str] = []
    reader = TextReader(DiskFiles(), Look(2, keep=lambda guid, data: kept.append(guid)), {"again"})
    names = ["old", "folder", "link", "mail", "again"]
    paths = {name: os.fsencode(tmp_path / name) for name in names} | {"again": os.fsencode(tmp_path / "folder")}
    found = reader.found(Message(uid, name.encode(), frozenset(), paths[name]) for uid, name in enumerate(names, 1))
    assert [(each.guid, each.text and (each.text.size, each.text.received, each.text.sums)) for each in found] == [
        ("old", None),
        ("mail", (4, 0, sums_of(b"text"))),
    ]
    assert kept == ["mail"] and sorted(reader.unread) == ["again", "folder", "link"]
    assert reader.unread["folder"] == f'"{tmp_path}/folder": Is a directory'


def test_what_may_be_so_of_all_is_raised(tmp_path: Path) -> None:
    reader = TextReader(DiskFiles(), Look(0), frozenset())
    with pytest.raises(FileNotFoundError):
        reader.found([Message(1, b"a", frozenset(), os.fsencode(tmp_path / "none"))])
    assert is_no_mail(OSError(errno.EACCES, "")) and not is_no_mail(OSError(errno.EIO, ""))


def test_paths_are_shown_whatever_bytes_they_have() -> None:
    assert shown_path(b"/new/foo\nb\xf6r") == '"/new/foo\\nb\\xf6r"'
