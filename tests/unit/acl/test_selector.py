"""One set of rights: its rules, its text, and what it allows."""

from __future__ import annotations

import pytest

from pyrepl.acl.denial import Denial, Refused
from pyrepl.acl.selector import ALL, READ, SYNTAX, UNKNOWN, WRITE, RuleError, Selector, Words, selector_of
from tests.unit.acl.names import Names


def made(*rules: bytes, all_channels: bool = False) -> Selector:
    selector = Selector(all_channels=all_channels)
    for rule in rules:
        selector.apply(rule, Names())
    return selector


def words(*argv: bytes, name: str = "get", keys: int = READ, channels: bool | None = None) -> Words:
    places = list(range(1, len(argv)))
    listened = [] if channels is None else [(at, channels) for at in places]
    return Words(name, False, list(argv), [(at, keys) for at in places] if channels is None else [], listened)


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        ((), b"resetchannels -@all"),
        ((b"~*", b"&*", b"+@all"), b"~* &* +@all"),
        ((b"AllKeys", b"AllChannels", b"AllCommands"), b"~* &* +@all"),
        ((b"+GET", b"+@Read", b"-get"), b"resetchannels -@all +@read -get"),
        ((b"+config|get", b"+config"), b"resetchannels -@all +config"),
        ((b"+config", b"-config|set"), b"resetchannels -@all +config -config|set"),
        ((b"+@all", b"-@fast", b"+get"), b"resetchannels +@all -@fast +get"),
        ((b"+get", b"nocommands"), b"resetchannels -@all"),
        ((b"+SELECT|0", b"+select|1"), b"resetchannels -@all +select|0 +select|1"),
        ((b"~a", b"%R~b", b"%w~b", b"%R~c", b"~a"), b"~a ~b %R~c resetchannels -@all"),
        ((b"~a", b"resetkeys", b"&c", b"&c"), b"resetchannels &c -@all"),
        ((b"&c", b"allchannels"), b"&* -@all"),
    ],
)
def test_texts(rules: tuple[bytes, ...], text: bytes) -> None:
    assert made(*rules).text() == text


@pytest.mark.parametrize(
    ("before", "rule", "reason"),
    [
        ((), b"+nosuch", UNKNOWN),
        ((), b"-nosuch", UNKNOWN),
        ((), b"+@nosuch", UNKNOWN),
        ((), b"+config|nosuch", UNKNOWN),
        ((), b"-select|0", UNKNOWN),
        ((), b"+select|", SYNTAX),
        ((), b"+config|get|x", "Allowing first-arg of a subcommand is not supported"),
        ((), b"nonsense", SYNTAX),
        ((), b"%~a", SYNTAX),
        ((), b"%RR~a", SYNTAX),
        ((), b"%RWa", SYNTAX),
        ((), b"~a b", SYNTAX),
        ((), b"&a\0b", SYNTAX),
        ((b"~*",), b"~a", "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid"),
        ((b"&*",), b"&a", "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid"),
    ],
)
def test_what_cannot_be_followed_changes_nothing(before: tuple[bytes, ...], rule: bytes, reason: str) -> None:
    selector = made(*before)
    text = selector.text()
    with pytest.raises(RuleError) as caught:
        selector.apply(rule, Names())
    assert str(caught.value).startswith(reason)
    assert caught.value.is_unknown is (reason == UNKNOWN)
    assert selector.text() == text


@pytest.mark.parametrize(
    ("rules", "name", "argv", "allowed"),
    [
        ((b"+get",), "get", [b"GET"], True),
        ((b"+get",), "set", [b"SET"], False),
        ((b"+@all", b"-get"), "get", [b"GET"], False),
        ((b"+@all", b"-get", b"+get"), "get", [b"GET"], True),
        ((b"+@slow",), "config|set", [b"CONFIG", b"SET"], True),
        ((b"+config", b"-config|set"), "config|set", [b"CONFIG", b"SET"], False),
        ((b"+select|0",), "select", [b"SELECT", b"0"], True),
        ((b"+select|0",), "select", [b"SELECT", b"1"], False),
        ((b"+select|0",), "select", [b"SELECT"], False),
        ((b"+select|0", b"-select"), "select", [b"SELECT", b"0"], False),
    ],
)
def test_commands(rules: tuple[bytes, ...], name: str, argv: list[bytes], allowed: bool) -> None:
    denial = made(*rules, b"~*").why_not(Words(name, False, argv, [], []))
    assert denial == (None if allowed else Denial(Refused.COMMAND, 0))


def test_anybody_may_log_in() -> None:
    assert made().why_not(Words("auth", True, [b"AUTH", b"x"], [], [])) is None


@pytest.mark.parametrize(
    ("rules", "access", "allowed"),
    [
        ((b"~a*",), ALL, True),
        ((b"%R~a*",), READ, True),
        ((b"%R~a*",), WRITE, False),
        ((b"%W~a*",), READ, False),
        ((b"%R~a*", b"%W~a*"), ALL, True),
        ((b"%R~a*", b"%W~*"), ALL, False),
        ((b"%R~a*",), 0, True),
        ((b"~b*",), 0, False),
    ],
)
def test_keys(rules: tuple[bytes, ...], access: int, allowed: bool) -> None:
    denial = made(b"+@all", *rules).why_not(words(b"GET", b"abc", keys=access))
    assert denial == (None if allowed else Denial(Refused.KEY, 1))


def test_the_empty_key_needs_all_keys_or_the_empty_pattern() -> None:
    assert made(b"+@all", b"%R~*").why_not(words(b"GET", b"")) == Denial(Refused.KEY, 1)
    assert made(b"+@all", b"~").why_not(words(b"GET", b"")) is None
    assert made(b"+@all", b"~*").why_not(words(b"GET", b"")) is None


@pytest.mark.parametrize(
    ("channel", "is_pattern", "allowed"), [(b"c1", False, True), (b"d", False, False), (b"c*", True, True)]
)
def test_channels(channel: bytes, is_pattern: bool, allowed: bool) -> None:
    denial = made(b"+@all", b"&c*").why_not(words(b"SUBSCRIBE", channel, channels=is_pattern))
    assert denial == (None if allowed else Denial(Refused.CHANNEL, 1))
    assert made(b"+@all", b"&c*").allows_channel(b"c1", is_pattern=True) is False


def test_any_key() -> None:
    assert made(b"~*").allows_any_key(ALL)
    assert made(b"%R~*").allows_any_key(READ) and not made(b"%R~*").allows_any_key(WRITE)
    assert not made(b"~a*", b"~b*").allows_any_key(READ)


def test_a_copy_is_another() -> None:
    first = made(b"+select|0", b"~a", b"&c")
    second = first.copy()
    for rule in (b"+@all", b"allkeys", b"allchannels"):
        second.apply(rule, Names())
    assert second.is_unlimited and not first.is_unlimited
    assert first.text() == b"~a resetchannels &c -@all +select|0"


def test_a_selector_in_parentheses() -> None:
    assert selector_of(b"(~a +get)", Names(), all_channels=False).text() == b"~a resetchannels -@all +get"
    assert selector_of(b"()", Names(), all_channels=True).text() == b"&* -@all"
    with pytest.raises(RuleError):
        selector_of(b'("a)', Names(), all_channels=False)
