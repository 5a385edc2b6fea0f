"""dovecot-uidlist: what Dovecot wrote is read, half a line is seen, what is no list is refused."""

from __future__ import annotations

import pytest

from pyrepl.errors import CorruptData
from pyrepl.mailbox.maildir import uidlist
from pyrepl.mailbox.maildir.uidlist import LAST_UID, MOST_LINE_BYTES, Entry, Header, Uidlist

GUID = b"b75da40a06f7056b9636000083ecc375"
FIRST = b"3 V1795553030 N1 G" + GUID + b"\n"
DOVECOTS = (
    FIRST
    + b"1 :1795553030.M180276P13974.vm,S=15,W=18\n"
    + b"2 W900 S880 :1795553030.M189831P13974.vm\n"
    + b"3 G1795553030.M180276P13974.vm,S=15,W=18 :1795553030.M191391P13974.vm,S=15,W=18\n"
)


def test_a_list_of_dovecot() -> None:
    found = uidlist.parse(DOVECOTS)
    assert found.header == Header(1795553030, 1, GUID)
    assert [entry.uid for entry in found.entries] == [1, 2, 3]
    assert found.entries[0].guid == found.entries[0].base == b"1795553030.M180276P13974.vm,S=15,W=18"
    assert found.entries[1].extras == (b"W900", b"S880")
    assert found.entries[2].guid == found.entries[0].guid != found.entries[2].base
    assert (found.last_uid, found.next_uid, found.takes_appends) == (3, 4, True)
    assert uidlist.render(found) == DOVECOTS.replace(b" N1 ", b" N4 ")


def test_an_empty_list() -> None:
    found = uidlist.parse(b"3 V7 N12 G" + GUID + b"\n")
    assert (found.last_uid, found.next_uid, found.entries) == (0, 12, ())


def test_version_1_is_read_and_written_anew() -> None:
    found = uidlist.parse(b"1 1234 9\n3 a,S=1\n5 b:2,S\n")
    assert found.header == Header(1234, 9, version=1)
    assert found.entries == (Entry(3, b"a,S=1"), Entry(5, b"b"))
    assert not found.takes_appends
    named = Uidlist(Header(1234, 9, GUID), found.entries)
    assert uidlist.render(named) == b"3 V1234 N9 G" + GUID + b"\n3 :a,S=1\n5 :b\n"


def test_a_list_without_a_guid_is_written_anew() -> None:
    assert not uidlist.parse(b"3 V1 N1\n").takes_appends


def test_half_a_line_is_no_entry_and_nothing_is_appended_to_it() -> None:
    found = uidlist.parse(DOVECOTS + b"4 :179")
    assert (found.last_uid, found.torn_bytes, found.takes_appends) == (3, 6, False)
    assert uidlist.parse(uidlist.render(found)).torn_bytes == 0


def test_what_was_appended_is_read_alone() -> None:
    entries, used = uidlist.parse_entries(b"4 :d\n9 :e\n10 :f", 3)
    assert (entries, used) == ((Entry(4, b"d"), Entry(9, b"e")), 10)
    assert uidlist.parse_entries(b"", 3) == ((), 0)
    with pytest.raises(CorruptData, match=r"UID 3 behind UID 3 \(at byte 200\)"):
        uidlist.parse_entries(b"3 :d\n", 3, at=200)


def test_fields_that_nobody_knows_are_kept() -> None:
    line = b"3 V1 N5 G%b Xfuture\n4 Gg1 Pold-uidl W3 :name with blanks\n" % GUID
    assert uidlist.render(uidlist.parse(line)) == line


def test_a_base_may_have_a_colon_before_its_letters_alone() -> None:
    assert uidlist.parse(FIRST + b"4 :d:2,S\n").entries == (Entry(4, b"d"),)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"3 V1 N1 G" + GUID,
        b"2 V1 N1\n",
        b"3 N1\n",
        b"3 V0 N1\n",
        b"3 V1 N0\n",
        b"3 V4294967296 N1\n",
        b"3 V1 N4294967296\n",
        b"3 V1 N-1\n",
        b"3 V1 N1 Gxyz\n",
        b"1 5\n",
        b"\n",
        FIRST + b"0 :a\n",
        FIRST + b"4294967295 :a\n",
        FIRST + b"99999999999 :a\n",
        FIRST + b"1 a\n",
        FIRST + b"1 :\n",
        FIRST + b"1 :../a\n",
        FIRST + b"1 :a\0b\n",
        FIRST + b"\n",
        FIRST + b"5 :a\n5 :b\n",
        FIRST + b"1 :" + b"x" * MOST_LINE_BYTES + b"\n",
        FIRST + b"1 :" + b"x" * MOST_LINE_BYTES,
    ],
)
def test_what_is_no_list_is_refused(data: bytes) -> None:
    with pytest.raises(CorruptData, match="at byte"):
        uidlist.parse(data)


def test_the_last_uid_of_all() -> None:
    found = uidlist.parse(FIRST + b"%d :a\n" % LAST_UID)
    assert found.next_uid == LAST_UID + 1
    assert uidlist.parse(uidlist.render(found)) == Uidlist(Header(1795553030, LAST_UID + 1, GUID), found.entries)


@pytest.mark.parametrize("guid", [b"a", b"1795553030.M1P1.vm,S=1", b"with:colon/and\xffall"])
def test_guids_that_the_field_takes(guid: bytes) -> None:
    assert uidlist.why_not_guid(guid) is None
    line = uidlist.render_entries([Entry(1, b"base", guid)])
    assert uidlist.parse_entries(line, 0)[0][0].guid == guid


@pytest.mark.parametrize("guid", [b"", b"a b", b"a\nb", b"\0", b"x" * 1025])
def test_guids_that_it_does_not_take(guid: bytes) -> None:
    assert uidlist.why_not_guid(guid) is not None
