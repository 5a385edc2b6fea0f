"""dovecot-keywords on disk."""

from __future__ import annotations

from pyrepl.daemon.mailbox.box_keywords import BoxKeywords
from tests.unit.daemon.mailbox.model_disk import ModelDisk

PATH = b"/box/dovecot-keywords"


def _keywords(data: bytes | None = None) -> tuple[ModelDisk, BoxKeywords]:
    disk = ModelDisk()
    disk.make_folders(b"/box")
    if data is not None:
        disk.write_new(PATH, data)
    found = BoxKeywords(disk, b"/box")
    found.load()
    return disk, found


def test_new_ones_are_written_before_they_are_used() -> None:
    disk, found = _keywords()
    assert found.add(["\\Seen", "b", "a", "a"]) == []
    assert disk.read(PATH) == b"0 a\n1 b\n"
    calls = disk.calls
    assert found.add(["a", "B", "\\Flagged"]) == [] and disk.calls == calls


def test_dovecots_are_read_when_the_file_changed() -> None:
    disk, found = _keywords(b"0 x\n")
    disk.append(PATH, b"1 y\n")
    found.load()
    assert found.add(["z", "y"]) == []
    assert disk.read(PATH) == b"0 x\n1 y\n2 z\n"
    disk.unlink(PATH)
    found.load()
    assert found.known.names == {}


def test_those_that_cannot_be_kept_are_told() -> None:
    _, found = _keywords(b"".join(b"%d k%02d\n" % (index, index) for index in range(25)))
    assert found.add(["no keyword", "m", "n", "k03"]) == ["n", "no keyword"]


def test_a_letter_that_files_have_and_nobody_named_is_not_given() -> None:
    """As when the file was lost: all messages with that letter would have the new keyword."""
    disk, found = _keywords()
    assert found.add(["new"], lambda: {ord("a"), ord("c")}) == [] and found.add(["more"], lambda: {ord("c")}) == []
    assert disk.read(PATH) == b"0 more\n1 new\n"
    assert found.add(["last"], lambda: set(b"abcdefghijklmnopqrstuvwxyz")) == ["last"]
