"""The GUID of a copy within a mailbox."""

from __future__ import annotations

import pytest

from pyrepl.mailbox.copies import guid_of_copy, is_told_guid
from pyrepl.mailbox.maildir.uidlist import why_not_guid
from pyrepl.mailbox.words import escape, parse_guid
from pyrepl.words import to_text

BOX = b"0" * 32


def test_each_copy_has_one_of_its_own_and_the_same_again() -> None:
    copies = [
        (BOX, 7, 2, b"a"),
        (BOX, 7, 3, b"a"),
        (BOX, 8, 2, b"a"),
        (b"1" * 32, 7, 2, b"a"),
        (BOX, 7, 2, "ü b".encode()),
    ]
    guids = [guid_of_copy(*copy) for copy in copies]
    assert guids == [guid_of_copy(*copy) for copy in copies] and len(set(guids)) == len(copies)
    assert all(len(guid) == 32 and why_not_guid(guid) is None for guid in guids)


@pytest.mark.parametrize("guid", [b"1700000000.M1P1.host,S=2,W=3", "höst".encode(), b"a b", b"x" * 128, b"-", b"a:b"])
def test_what_nodes_can_tell_each_other(guid: bytes) -> None:
    assert is_told_guid(guid) and parse_guid(escape(to_text(guid))) == to_text(guid)


@pytest.mark.parametrize(
    "guid", [b"", b"h\xf6st", b"x" * 129, b".a", b"a/b", b"a\tb", b"\x7f", "\x85".encode(), "ö".encode() * 65]
)
def test_what_they_cannot(guid: bytes) -> None:
    assert not is_told_guid(guid)
