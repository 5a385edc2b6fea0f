"""dovecot-keywords: letters keep their names, and 26 have one."""

from __future__ import annotations

import pytest

from pyrepl.mailbox.maildir import keywords
from pyrepl.mailbox.maildir.keywords import MOST, Keywords


def test_a_file_of_dovecot() -> None:
    found = keywords.parse(b"0 $Forwarded\n1 kw1\n")
    assert found.names == {0: "$Forwarded", 1: "kw1"}
    assert (found.letter("kw1"), found.letter("KW1"), found.letter("none")) == (ord("b"), ord("b"), None)
    assert (found.name(ord("a")), found.name(ord("c")), found.name(ord("S"))) == ("$Forwarded", None, None)
    assert keywords.render(found) == b"0 $Forwarded\n1 kw1\n"


def test_a_new_keyword_gets_the_least_free_letter() -> None:
    begun = keywords.parse(b"0 a\n2 c\n")
    more = begun.with_name("b")
    assert more is not None and more.letter("b") == ord("b")
    assert begun.letter("b") is None, "the ones before stay as they are"
    assert keywords.render(more) == b"0 a\n1 b\n2 c\n"


def test_the_27th_has_no_letter() -> None:
    found: Keywords | None = Keywords()
    for number in range(MOST):
        assert found is not None
        found = found.with_name(f"k{number}")
    assert found is not None and found.letter("k25") == ord("z")
    assert found.with_name("k26") is None


def test_lines_that_say_nothing_are_passed_over() -> None:
    data = b"0 a\n\nx y\n26 late\n0 again\n1 A\n3\n4 \n-1 b\n5 two words\n99999 x\n7 c"
    assert keywords.parse(data).names == {0: "again", 1: "A", 7: "c"}


@pytest.mark.parametrize("name", ["kw1", "$Label1", "été", "x" * 255])
def test_what_may_be_a_keyword(name: str) -> None:
    assert keywords.why_not(name) is None


@pytest.mark.parametrize("name", ["", "a b", "a\n1 b", "\\Seen", "(a", "x" * 256, 'a"'])
def test_what_may_not(name: str) -> None:
    assert keywords.why_not(name) is not None


def test_the_same_keywords_are_equal() -> None:
    assert Keywords({0: "a"}) == keywords.parse(b"0 a\n") != Keywords({1: "a"})
    assert len({Keywords({0: "a"}), keywords.parse(b"0 a\n")}) == 1
    assert repr(Keywords({0: "a"})) == "Keywords({0: 'a'})"


def test_a_line_that_nodes_cannot_tell_each_other_keeps_its_letter() -> None:
    long = b"k" * 300
    data = (
        b"00 my label\n00000000001 old]kw\n2 ge\xf6scht\n3 " + long + b"\n4 a\tb\n5 kw\n6 KW\n7 \\Seen\n8 x\xc2\x85\n"
    )
    found = keywords.parse(data)
    assert found.names == {5: "kw"} and found.has_own and found.told == {"kw"}
    assert [found.name(ord(letter)) for letter in "abcdefghi"] == [*[None] * 5, "kw", None, None, None]
    more = found.with_name("Junk")
    assert more is not None and more.letter("Junk") == ord("j")
    rendered = (
        b"0 my label\n1 old]kw\n2 ge\xf6scht\n3 " + long + b"\n4 a\tb\n5 kw\n6 KW\n7 \\Seen\n8 x\xc2\x85\n9 Junk\n"
    )
    assert keywords.render(more) == rendered and keywords.parse(rendered) == more != keywords.parse(b"5 kw\n9 Junk\n")


def test_letters_of_what_is_not_told_are_used_up() -> None:
    found = keywords.parse(b"".join(b"%d k %d\n" % (index, index) for index in range(MOST)))
    assert found.names == {} and found.with_name("Junk") is None
