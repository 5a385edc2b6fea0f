"""The GUID of a copy within a mailbox."""

from __future__ import annotations

from pyrepl.mailbox.copies import guid_of_copy
from pyrepl.mailbox.maildir.uidlist import why_not_guid

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
