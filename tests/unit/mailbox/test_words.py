"""Words of the wire: what each kind takes, what it refuses, and that it says what was wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrepl.errors import PeerError
from pyrepl.mailbox.words import (
    APART,
    LAST_UID,
    Box,
    Dot,
    Stamp,
    Token,
    box_name,
    count,
    escape,
    is_among,
    is_keyword,
    number,
    parse_box,
    parse_dot,
    parse_flag,
    parse_flags,
    parse_guid,
    parse_origin,
    parse_register,
    parse_sum,
    parse_token,
    parse_uids,
    parse_user,
    parse_vector,
    ranges,
    render_flags,
    render_uids,
    unescape,
    walk,
)


@given(st.text(st.characters(codec="utf-8"), max_size=30))
def test_any_text_is_a_word(text: str) -> None:
    word = escape(text)
    assert unescape(word) == text
    assert word and not set(word) & set(" ,=#{\n\r\x00")


def test_the_empty_word() -> None:
    assert escape("") == '""' and unescape('""') == ""
    assert escape('""') == "%22%22" and unescape("%22%22") == '""'


@pytest.mark.parametrize("word", ["%", "a%2", "%zz", "%ff"])
def test_bad_escapes(word: str) -> None:
    with pytest.raises(PeerError, match="expected"):
        unescape(word)


@pytest.mark.parametrize("word", ["", "-1", "+1", "1.0", "١", "1" * 30, "11", "0"])
def test_numbers_are_digits_within_bounds(word: str) -> None:
    with pytest.raises(PeerError, match="a thing from 1 to 10"):
        number(word, 1, 10, "a thing")


def test_names_of_mailboxes_stay_in_their_folder() -> None:
    for name in ("..", "a/../b", "/etc", "a//b", "a/", "./a", "~root", "", "a\x00b"):
        with pytest.raises(PeerError):
            box_name(name)
    assert box_name("inbox") == "INBOX" and box_name("Inbox/x") == "INBOX/x"
    assert box_name("\u0131nbox") == "\u0131nbox", "the capital of this letter is an I, and no Dovecot takes it for one"
    assert box_name("re\u0301") == box_name("r\u00e9"), "compared after NFC"
    assert box_name("a.b/..c") == "a.b/..c"


def test_an_escaped_slash_is_a_slash() -> None:
    with pytest.raises(PeerError):
        parse_box("a%2F..%2Fb")


def test_a_mailbox_is_a_name_or_a_guid() -> None:
    guid = "0123456789abcdef" * 2
    assert parse_box(f"#{guid}") == Box(guid, True)
    assert parse_box(f"%23{guid}") == Box(f"#{guid}")
    with pytest.raises(PeerError, match="32 hexadecimal"):
        parse_box("#12")


@pytest.mark.parametrize("word", ["..", ".", '""', "a/b", "a%2Fb", "%00"])
def test_users_are_a_part_of_a_path(word: str) -> None:
    with pytest.raises(PeerError):
        parse_user(word)


@pytest.mark.parametrize("word", ["../x", ".hidden", "a/b", "x" * 129, '""', "%0a"])
def test_guids_may_be_names_of_files(word: str) -> None:
    with pytest.raises(PeerError):
        parse_guid(word)
    assert parse_guid("1795.M1P2.host%2CS=12") == "1795.M1P2.host,S=12"


def test_dots_and_vectors() -> None:
    assert parse_dot("a~2:901") == Dot("a~2", 901)
    assert parse_vector("b:2,a:1") == (Dot("a", 1), Dot("b", 2))
    assert parse_vector('""') == ()
    for word in ("a", "a:", ":1", "a:x", "a:1,a:2", "a b:1"):
        with pytest.raises(PeerError):
            parse_vector(word)
    with pytest.raises(PeerError):
        parse_origin("a/b")


def test_tokens_are_ordered_and_apart_is_below_every_term() -> None:
    assert parse_token("4.17") == Token(4, 17) < parse_token("5.0")
    assert parse_token("4.apart") == Token(4, APART) < Token(4, 0)
    for word in ("4", "4.", ".1", "4.x"):
        with pytest.raises(PeerError):
            parse_token(word)


def test_uids_are_ranges_that_nobody_walks_unbounded() -> None:
    assert parse_uids("1:3,7") == ((1, 3), (7, 7))
    assert render_uids(((1, 3), (7, 7))) == "1:3,7"
    assert parse_uids('""') == ()
    everything = parse_uids(f"1:{LAST_UID}")
    assert count(everything) == LAST_UID
    with pytest.raises(PeerError, match="at most 100"):
        walk(everything, 100)
    for word in ("0", "3:1", "3,2", "1:3,3", f"{LAST_UID + 1}", "1:", "*"):
        with pytest.raises(PeerError):
            parse_uids(word)


@given(st.sets(st.integers(1, 40)))
def test_ranges_and_walk_are_inverse(uids: set[int]) -> None:
    assert walk(ranges(sorted(uids)), 40) == sorted(uids)


def test_flags() -> None:
    assert parse_flags("\\seen,$Junk") == ("\\Seen", "$Junk")
    assert parse_flags("()") == () and render_flags(()) == "()"
    for word in ("\\Recent", "\\", '""', "a%20b", "%28%29"):
        with pytest.raises(PeerError):
            parse_flag(word)
    assert not is_keyword("()"), "as if there were none"


def test_registers() -> None:
    register = parse_register("-\\Seen@302.c")
    assert (register.flag, register.is_set, register.stamp) == ("\\Seen", False, Stamp(302, "c"))
    for word in ("\\Seen@1.a", "+\\Seen", "+\\Seen@1", "", "+@1.a"):
        with pytest.raises(PeerError):
            parse_register(word)


def test_sums() -> None:
    assert parse_sum("9a3c01ff") == 0x9A3C01FF
    for word in ("9A3C01FF", "1", "0x123456"):
        with pytest.raises(PeerError):
            parse_sum(word)


@pytest.mark.parametrize(("uid", "is_in"), [(0, False), (1, True), (2, False), (5, True), (9, True), (10, False)])
def test_a_uid_among_ranges(uid: int, is_in: bool) -> None:
    assert is_among(uid, ((1, 1), (4, 9))) == is_in and not is_among(uid, ())
