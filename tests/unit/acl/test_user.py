"""A user, and the rules that make it."""

from __future__ import annotations

import pytest

from pyrepl.acl.denial import Denial, Refused
from pyrepl.acl.passwords import hashed
from pyrepl.acl.selector import READ, RuleError, Words
from pyrepl.acl.user import Grammar, Unmatched, User, whole_selectors
from tests.unit.acl.names import Names

GRAMMAR = Grammar(Names(), False)


def made(*rules: bytes) -> User:
    user = User(b"bob")
    user.apply_all(rules, GRAMMAR)
    return user


def get(key: bytes) -> Words:
    return Words("get", False, [b"GET", key], [(1, READ)], [])


def test_a_new_user_is_off_and_may_do_nothing() -> None:
    assert User(b"bob").text() == b"off sanitize-payload resetchannels -@all"
    assert User(b"bob", all_channels=True).text() == b"off sanitize-payload &* -@all"
    assert User(b"bob").why_not(get(b"a")) == Denial(Refused.COMMAND, 0)


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        ((b"on", b"nopass"), b"on nopass sanitize-payload resetchannels -@all"),
        ((b"ON", b"skip-sanitize-payload", b">p"), b"on skip-sanitize-payload #%b resetchannels -@all" % hashed(b"p")),
        ((b">p", b">q", b"<p"), b"off sanitize-payload #%b resetchannels -@all" % hashed(b"q")),
        ((b"#" + hashed(b"p"), b"!" + hashed(b"p")), b"off sanitize-payload resetchannels -@all"),
        ((b">p", b"nopass"), b"off nopass sanitize-payload resetchannels -@all"),
        ((b"nopass", b">p", b">p"), b"off sanitize-payload #%b resetchannels -@all" % hashed(b"p")),
        ((b"nopass", b"resetpass"), b"off sanitize-payload resetchannels -@all"),
        ((b"+get", b"(~a +set)", b"()"), b"off sanitize-payload resetchannels -@all +get (~a resetchannels -@all +set)"
         b" (resetchannels -@all)"),
        ((b"(~a)", b"clearselectors"), b"off sanitize-payload resetchannels -@all"),
        ((b"on", b">p", b"~a", b"(~b)", b"+get", b"reset", b""), b"off sanitize-payload resetchannels -@all"),
    ],
)  # fmt: skip
def test_rules(rules: tuple[bytes, ...], text: bytes) -> None:
    assert made(*rules).text() == text


@pytest.mark.parametrize("rule", [b"<p", b"!" + hashed(b"p"), b"#AB", b"!ab", b"(+nosuch)", b"(~a", b"x"])
def test_what_cannot_be_followed(rule: bytes) -> None:
    user = made(b"on", b"~a")
    with pytest.raises(RuleError):
        user.apply(rule, GRAMMAR)
    assert user.text() == b"on sanitize-payload ~a resetchannels -@all"


def test_passwords() -> None:
    assert made(b"on", b">p", b">q").is_password(b"q")
    assert not made(b"on", b">p").is_password(b"x")
    assert not made(b">p").is_password(b"p"), "the user is off"
    assert made(b"on", b"nopass").is_password(b"anything")
    assert not made(b"on").is_password(b"")


def test_one_selector_must_allow_all_of_a_command() -> None:
    user = made(b"+set", b"~a", b"(+get ~b)")
    assert user.why_not(get(b"b")) is None
    assert user.why_not(get(b"a")) == Denial(Refused.KEY, 1)
    assert made(b"+get", b"~a", b"(+get ~b)").why_not(
        Words("get", False, [b"MGET", b"b", b"c", b"a"], [(1, READ), (2, READ), (3, READ)], [])
    ) == Denial(Refused.KEY, 2)


def test_keys_matter_while_a_selector_limits_them() -> None:
    assert not made(b"~*", b"(allkeys)").limits_keys
    assert made(b"~*", b"(~a)").limits_keys and made().limits_keys


def test_reach() -> None:
    assert made(b"+get", b"~a", b"(+get %R~*)").may_reach_any_key(get(b"a"), READ)
    assert not made(b"+get", b"~a", b"(%R~*)").may_reach_any_key(get(b"a"), READ)


def test_who_holds_the_user_sees_what_it_takes_over() -> None:
    user, other = made(b"on"), made(b"+@all", b"~*", b"&*", b">p")
    user.take(other)
    assert user.is_unlimited and user.name == b"bob" and not user.is_on
    other.apply(b"-get", GRAMMAR)
    assert user.is_unlimited


@pytest.mark.parametrize(
    ("words", "rules"),
    [
        ([b"on", b"(~a", b"+get)", b"off"], [b"on", b"(~a +get)", b"off"]),
        ([b"(~a)", b"(", b")"], [b"(~a)", b"( )"]),
        ([b"on", b"(~a", b"+get"], Unmatched(1)),
        ([b"(a", b"(b)", b"(c"], Unmatched(2)),
        ([], []),
    ],
)
def test_selectors_over_several_words(words: list[bytes], rules: list[bytes] | Unmatched) -> None:
    assert whole_selectors(words) == rules
