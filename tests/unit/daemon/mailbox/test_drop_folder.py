"""Texts that come from elsewhere: whole and on disk, or not at all."""

from __future__ import annotations

import errno
import random

import pytest

from pyrepl.daemon.mailbox.drop_folder import BY_ALIGNING, DropFolder, WrongText, shown_guid, text_name
from pyrepl.mailbox.maildir.text_sums import BLOCK_BYTES, sums_of
from pyrepl.mailbox.words import Dot
from tests.unit.daemon.mailbox.model_disk import ModelDisk, full_from

DOT = Dot("b~1", 9)
FOLDER = b"/mail/.pyrepl-drop"


@pytest.fixture
def disk() -> ModelDisk:
    made = ModelDisk()
    made.make_folders(b"/mail")
    return made


@pytest.fixture
def drop(disk: ModelDisk) -> DropFolder:
    made = DropFolder(disk, b"/mail")
    made.prepare()
    disk.sync(b"/mail")
    return made


def test_r2_a_text_comes_in_pieces(disk: ModelDisk, drop: DropFolder) -> None:
    text = bytes(range(256)) * 1000
    coming = drop.begin(DOT, "G1")
    for at in range(0, len(text), 10_000):
        coming.write(text[at : at + 10_000])
    sums = coming.finish(1_700_000_000, len(text), ())
    assert sums == sums_of(text) and len(sums) == 1 + len(text) // BLOCK_BYTES
    drop.sync([coming.name, "b~1.10.none"])
    disk.lose_power(random.Random(1))
    found = disk.stat(drop.path(coming.name))
    assert found is not None and found.mtime_ns == 1_700_000_000 * 10**9
    assert disk.read(drop.path("b~1.9.G1")) == text


def test_of_a_text_of_which_a_full_disk_took_a_part_nothing_is_left(
    disk: ModelDisk, drop: DropFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_new = disk.write_new

    def takes_a_part(path: bytes, data: bytes) -> None:
        write_new(path, data[:2])
        raise OSError(errno.ENOSPC, "No space left on device", path)

    monkeypatch.setattr(disk, "write_new", takes_a_part)
    coming = drop.begin(Dot("b", 7), "G1")
    with pytest.raises(OSError, match="No space left"):
        coming.write(b"hello")
    coming.abandon()
    assert disk.names(FOLDER) == []


def test_who_finds_another_ones_text_in_its_place_leaves_it(disk: ModelDisk, drop: DropFolder) -> None:
    coming = drop.begin(Dot("b", 7), "G1")
    disk.write_new(FOLDER + b"/" + coming.name.encode(), b"of another")
    with pytest.raises(FileExistsError):
        coming.write(b"hello")
    coming.abandon()
    assert disk.read(FOLDER + b"/" + coming.name.encode()) == b"of another"


def test_a_probe_leaves_nothing_and_says_which_folder_takes_nothing(disk: ModelDisk, drop: DropFolder) -> None:
    disk.write_new(FOLDER + b"/probe", b"of one that was killed")
    drop.probe()
    assert disk.names(FOLDER) == []
    works, disk.before_call = disk.before_call, full_from(0)
    with pytest.raises(OSError, match="No space left on device") as told:
        drop.probe()
    assert told.value.filename == FOLDER
    disk.before_call = works
    disk.remove_folder(FOLDER)
    drop.probe()
    assert disk.names(FOLDER) == []


def test_an_empty_text(disk: ModelDisk, drop: DropFolder) -> None:
    coming = drop.begin(DOT, "G1")
    assert coming.finish(1, 0, ()) == ()
    assert disk.read(drop.path(coming.name)) == b""


def test_a_wrong_text_is_refused(drop: DropFolder) -> None:
    text = b"x" * BLOCK_BYTES + b"one"
    for size, sums, why in (
        (4, (), "expected 4 bytes"),
        (len(text), (*sums_of(text)[:1], 7), f"from byte {BLOCK_BYTES}"),
    ):
        coming = drop.begin(DOT, "G1")
        coming.write(text)
        with pytest.raises(WrongText, match=why):
            coming.finish(1, size, sums)


def test_one_that_comes_again_leaves_the_one_before(disk: ModelDisk, drop: DropFolder) -> None:
    first = drop.begin(DOT, "G1")
    first.write(b"whole")
    first.finish(1, 5, sums_of(b"whole"))
    second = drop.begin(DOT, "G1")
    second.write(b"half")
    assert drop.ops() == {"G1": DOT}
    second.abandon()
    assert disk.read(drop.path(first.name)) == b"whole"
    drop.remove([first.name])
    drop.begin(DOT, "G1").abandon()
    other = drop.begin(Dot("c", 1), "G2")
    other.write(b"x")
    other.abandon()
    other.abandon()
    assert disk.tree(b"/mail") == {}


def test_what_a_crash_left_tells_which_ops_it_came_by_until_it_is_cleared(disk: ModelDisk, drop: DropFolder) -> None:
    drop.begin(DOT, "G1").write(b"left")
    disk.make_folder(drop.folder_path(b"box", b"1"))
    disk.write_new(drop.folder_path(b"box", b"1") + b"/a", b"left")
    drop.begin(Dot("a.5", 7), "/").write(b"left")
    drop.prepare()
    found = drop.ops()
    assert found["G1"] == DOT and found[shown_guid("/")] == Dot("a.5", 7)
    drop.clear({"b~1": 9})
    assert drop.ops().get(shown_guid("/")) == Dot("a.5", 7) and "G1" not in drop.ops(), "one op comes again"
    drop.clear({"b~1": 9, "a.5": 7})
    assert disk.names(b"/mail/.pyrepl-drop") == [] and drop.ops() == {}


def test_texts_of_our_own_go_whatever_their_numbers(disk: ModelDisk, drop: DropFolder) -> None:
    """The vector may never come so far, as connections are counted too."""
    for dot, guid in ((Dot("a~1", 70), "text"), (Dot("a~1", 71), "owed"), (DOT, "G1")):
        drop.begin(dot, guid).write(b"left")
    drop.clear({"a~1": 3}, {"a~1.71.owed"}, "a~1", frozenset())
    assert len(disk.names(b"/mail/.pyrepl-drop")) == 3, "not all users were compared"
    drop.clear({"a~1": 3}, {"a~1.71.owed"}, own="a~1")
    assert sorted(disk.names(b"/mail/.pyrepl-drop")) == [b"a~1.71.owed", b"b~1.9.G1"]


def test_what_another_thread_removes_meanwhile_is_no_failure(
    disk: ModelDisk, drop: DropFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seq in (1, 2):
        drop.begin(Dot("b~1", seq), "G1").write(b"settled")
    unlink = disk.unlink

    def too_late(path: bytes) -> None:
        unlink(path)
        unlink(path)

    monkeypatch.setattr(disk, "unlink", too_late)
    drop.clear({"b~1": 9})
    assert disk.names(b"/mail/.pyrepl-drop") == []
    monkeypatch.setattr(disk, "unlink", fail)
    drop.begin(DOT, "G1").write(b"stays")
    with pytest.raises(PermissionError):
        drop.clear({"b~1": 9})


def fail(path: bytes) -> None:
    raise PermissionError(1, "not permitted", path)


def test_new_mailboxes_and_copies_are_known_until_their_rows_are_committed(disk: ModelDisk, drop: DropFolder) -> None:
    disk.write_new(b"/mail/text", b"copied")
    drop.begin_box(b"1")
    drop.begin_box(b"1")
    for _ in range(2):
        drop.keep([(DOT, "G1", b"/mail/text")])
    disk.lose_power(random.Random(1))
    assert drop.is_new_box(b"1") and not drop.is_new_box(b"2") and drop.ops() == {"G1": DOT}
    drop.remove_new_box(b"1")
    drop.remove_new_box(b"1")
    assert not drop.is_new_box(b"1")


@pytest.mark.parametrize("guid", ["a/b", "é" * 200, ".x", "a:b", "a\nb"])
def test_any_guid_has_a_name(guid: str) -> None:
    name = text_name(DOT, guid)
    assert name.startswith("b~1.9.") and len(name.encode()) < 255 and "/" not in name and "\n" not in name


def test_a_plain_guid_stands_in_the_name() -> None:
    assert text_name(DOT, "1795553030.M1P1.vm,S=15,W=18") == "b~1.9.1795553030.M1P1.vm,S=15,W=18"


def test_what_tells_of_a_crash_stays_while_its_user_could_not_be_compared(disk: ModelDisk, drop: DropFolder) -> None:
    for dot, guid in ((Dot("a~1", 3), "own"), (DOT, "G1")):
        drop.begin(dot, guid).write(b"left")
    drop.begin_box(b"new")
    for box in (b"alices", b"bobs"):
        drop.begin_flags(box, [("G1", None)])
        drop.begin_flags(box, [("G1", None)], BY_ALIGNING)
    drop.clear({"a~1": 9, "b~1": 9}, frozenset(), "a~1", {"alices"})
    left = {b"a~1.3.own", b"align.alices", b"flags.alices", b"new.new"}
    assert set(disk.names(b"/mail/.pyrepl-drop")) == left
    drop.clear({"a~1": 9, "b~1": 9}, frozenset(), "a~1")
    assert disk.names(b"/mail/.pyrepl-drop") == []
