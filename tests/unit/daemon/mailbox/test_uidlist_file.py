"""dovecot-uidlist on disk: only what is new is read, and only where it must be the list is written anew."""

from __future__ import annotations

import pytest

from pyrepl.daemon.mailbox.uidlist_file import UidlistFile, create, guid_in
from pyrepl.errors import CorruptData
from pyrepl.mailbox.maildir.uidlist import Entry
from tests.unit.daemon.mailbox.model_disk import ModelDisk

GUID = b"0" * 32
PATH = b"/box/dovecot-uidlist"
FIRST = b"3 V7 N1 G" + GUID + b"\n"


@pytest.fixture
def disk() -> ModelDisk:
    made = ModelDisk()
    made.make_folders(b"/box")
    create(made, b"/box", 7, GUID, 1)
    return made


@pytest.fixture
def file(disk: ModelDisk) -> UidlistFile:
    made = UidlistFile(disk, b"/box")
    made.load()
    return made


def test_a_new_list(disk: ModelDisk, file: UidlistFile) -> None:
    assert disk.read(PATH) == FIRST
    assert (file.header.uidvalidity, file.header.guid, file.next_uid, file.entries) == (7, GUID, 1, {})
    assert guid_in(disk, b"/box") == GUID


def test_lines_are_appended_and_known(disk: ModelDisk, file: UidlistFile) -> None:
    file.append([Entry(3, b"a"), Entry(5, b"b", b"a")], 6)
    assert disk.read(PATH) == FIRST + b"3 :a\n5 Ga :b\n"
    assert [entry.uid for entry in file.of_guid(b"a")] == [3, 5]
    assert file.has_base(b"b") and not file.has_base(b"c") and file.next_uid == 6
    assert file.of_base(b"b") == Entry(5, b"b", b"a") and file.of_base(b"c") is None
    assert file.without_line({b"b", b"c"}) == {b"c"}
    file.append([], 6)
    file.load()
    assert list(file.entries) == [3, 5]


def test_what_dovecot_appends_is_read(disk: ModelDisk, file: UidlistFile) -> None:
    file.append([Entry(3, b"a")], 4)
    disk.append(PATH, b"9 :b\n")
    file.load()
    assert list(file.entries) == [3, 9] and file.next_uid == 10


def test_of_two_lines_of_one_file_the_later_counts(disk: ModelDisk, file: UidlistFile) -> None:
    """Dovecot writes such where a file was away and came back. Were it two messages, the older one's removal would take
    the file away."""
    file.append([Entry(3, b"a"), Entry(4, b"b", b"a"), Entry(5, b"c", b"x" * 200)], 6)
    assert file.shared_guids == {b"a"}
    disk.append(PATH, b"9 :b\n10 :a\n11 :c\n")
    file.load()
    assert list(file.entries) == [9, 10, 11] and file.of_base(b"b") == Entry(9, b"b")
    assert [entry.uid for entry in file.of_guid(b"a")] == [10] and not file.shared_guids and not file.untold
    again = UidlistFile(disk, b"/box")
    again.load()
    assert again.entries == file.entries and not again.shared_guids and not again.untold


def test_a_list_that_was_written_anew_is_read_whole_even_in_one_inode(disk: ModelDisk, file: UidlistFile) -> None:
    file.append([Entry(3, b"a")], 4)
    inode, before = disk.stat(PATH), file.whole_loads
    assert inode is not None
    disk._data[inode.inode][:] = FIRST + b"3 :x\n7 :yyyy\n"
    file.load()
    assert [entry.base for entry in file.entries.values()] == [b"x", b"yyyy"] and file.whole_loads == before + 1


def test_a_higher_next_uid_is_written_into_the_header(disk: ModelDisk, file: UidlistFile) -> None:
    file.append([Entry(3, b"a")], 50)
    assert disk.read(PATH) == FIRST.replace(b"N1", b"N50") + b"3 :a\n"
    assert file.next_uid == 50


def test_half_a_line_is_written_over(disk: ModelDisk, file: UidlistFile) -> None:
    for torn in (b"3 :", b"9"):
        disk.append(PATH, torn)
        file.load()
        file.append([Entry(file.next_uid, b"a%d" % file.next_uid)], file.next_uid + 1)
        assert disk.read(PATH).endswith(b" :a%d\n" % (file.next_uid - 1)) and b"3 :9" not in disk.read(PATH)


def test_a_full_disk_leaves_a_list_that_is_mended(disk: ModelDisk, file: UidlistFile) -> None:
    def full(call: int, what: str, path: bytes) -> None:
        if what == "append":
            raise OSError(28, "No space left on device")

    disk.before_call = full
    with pytest.raises(OSError):
        file.append([Entry(3, b"a-long-name")], 4)
    disk.before_call = lambda call, what, path: None
    file.load()
    assert file.entries == {}
    file.append([Entry(3, b"a-long-name")], 4)
    assert disk.read(PATH) == FIRST.replace(b"N1", b"N4") + b"3 :a-long-name\n"


def test_another_identity(disk: ModelDisk, file: UidlistFile) -> None:
    file.append([Entry(3, b"a")], 4)
    file.set_identity(8, b"1" * 32)
    assert disk.read(PATH) == b"3 V8 N4 G" + b"1" * 32 + b"\n3 :a\n"


def test_what_is_no_list(disk: ModelDisk, file: UidlistFile) -> None:
    disk.unlink(PATH)
    with pytest.raises(FileNotFoundError):
        file.load()
    assert guid_in(disk, b"/box") is None
    disk.write_new(PATH, b"what is this?\n")
    with pytest.raises(CorruptData):
        file.load()
    with pytest.raises(
        CorruptData,
        match=r"dovecot-uidlist is damaged \(write its first line anew.*3 are known \(at byte 0\)$",
    ):
        guid_in(disk, b"/box")


def test_a_list_that_was_written_anew_twice_is_read_whole(disk: ModelDisk, file: UidlistFile) -> None:
    file.append([Entry(3, b"a")], 4)
    # Another file, of the same inode, that ends in the same line.
    for number, byte in enumerate(b"N9"):
        disk._data[disk._find(PATH)][FIRST.index(b"N1") + number] = byte
    file.load()
    assert file.next_uid == 9 and list(file.entries) == [3]


def test_guids_that_nodes_cannot_tell_each_other_are_known(disk: ModelDisk, file: UidlistFile) -> None:
    disk.append(PATH, b"3 :a\n4 :h\xf6st\n5 Gx/y :b\n")
    file.load()
    assert file.untold == {4, 5}
    file.set_guids({4: b"0" * 32, 5: b"1" * 32})
    assert file.untold == set() and disk.read(PATH).endswith(
        b"4 G" + b"0" * 32 + b" :h\xf6st\n5 G" + b"1" * 32 + b" :b\n"
    )
