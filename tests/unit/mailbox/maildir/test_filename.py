"""Names of messages' files, as Dovecot writes them and as others do."""

from __future__ import annotations

import pytest

from pyrepl.mailbox.maildir import filename
from pyrepl.mailbox.maildir.filename import MOST_BASE_BYTES, Name

DOVECOTS = b"1795553030.M180276P13974.vm,S=15,W=18"
SIZE = 15


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (DOVECOTS + b":2,Sa", Name(DOVECOTS, b"Sa")),
        (DOVECOTS + b":2,", Name(DOVECOTS)),
        (b"x:2,SSRF", Name(b"x", b"FRS")),
        (b"x:2,S,1234", Name(b"x", b"S", b",1234")),
        (b"x:2,S!", Name(b"x", b"S", b"!")),
        (b"x:1,exp", Name(b"x")),
        (b"x:", Name(b"x")),
        (b"x:2,S:2,T", Name(b"x", b"S", b":2,T")),
    ],
)
def test_a_name_is_its_base_its_letters_and_the_rest(data: bytes, name: Name) -> None:
    assert filename.parse(data) == name
    assert filename.parse(filename.render(name)) == name
    assert filename.base_of(data) == name.base


def test_a_name_in_new_has_no_letters() -> None:
    assert filename.parse(DOVECOTS) == Name(DOVECOTS)
    assert filename.render(Name(DOVECOTS)) == DOVECOTS + b":2,"


def test_other_letters_leave_the_rest_alone() -> None:
    assert filename.render(Name(b"x", b"S", b",1").with_letters(b"TFF")) == b"x:2,FT,1"


@pytest.mark.parametrize(
    ("base", "size"),
    [(DOVECOTS, 15), (b"x,S=7", 7), (b"x,W=8", None), (b"x,S=", None), (b"x,S=7x", None), (b"x,S=" + b"9" * 30, None)],
)
def test_the_size_that_a_base_states(base: bytes, size: int | None) -> None:
    assert filename.size_of(base) == size


@pytest.mark.parametrize("guid", [DOVECOTS, b"plain", b"with blank", b"x,S=15"])
def test_a_guid_that_may_be_a_base_is_one(guid: bytes) -> None:
    assert filename.base_of_guid(guid, SIZE) == guid


@pytest.mark.parametrize(
    "guid",
    [
        b"",
        b".hidden",
        b"../up",
        b"a/b",
        b"a:2,S",
        b"a\nb",
        b"a\0b",
        b"pyrepl.x",
        b"x,S=16",
        b"x,S=15,W=14",
        b"x,S=15,W=31",
        b"x" * 201,
    ],
)
def test_a_guid_that_may_not_is_none(guid: bytes) -> None:
    assert filename.base_of_guid(guid, SIZE) is None


def test_a_made_base_is_one_and_the_same_each_time() -> None:
    made = filename.made_base(b"../any \xff guid", 7, SIZE)
    assert made == filename.made_base(b"../any \xff guid", 7, SIZE)
    assert made != filename.made_base(b"../any \xff guid", 8, SIZE) != filename.made_base(b"other", 8, SIZE)
    assert filename.is_base(made) and filename.size_of(made) == 15
    assert len(filename.made_base(b"x", 2**32 - 2, 2**63)) <= MOST_BASE_BYTES
