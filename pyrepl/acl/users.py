"""All users of a node: who may log in, and the lines by which files keep users.

A change is tried on a copy first: a rule that cannot be followed changes nothing. Whoever holds connections `watch`es
the users, and is told after each change, so that it can look at its clients again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, final

from pyrepl.acl.identity import Identity, Proof
from pyrepl.acl.passwords import hashed
from pyrepl.acl.selector import CommandNames, RuleError, Selector, has_spaces
from pyrepl.acl.user import DEFAULT_USER, Grammar, Unmatched, User, whole_selectors
from pyrepl.errors import PyreplError
from pyrepl.words import to_text

_PASSWORD: Final = re.compile(rb"((?:^|[ (])[<>#!])[^ ]*")
"""A rule about a password, where none may be: in a selector."""


@final
class UsersError(PyreplError):
    """Users that cannot be had; the text is Redis's."""


class Change(NamedTuple):
    """What a change leaves to do for whoever holds the connections."""

    gone: list[User]
    """Users that are no more: their connections must end."""
    lessened: list[tuple[User, list[Selector]]]
    """Users with fewer channels, and what they have now: connections that listen to others must end."""


@final
class Users:
    """The users of a node.

    Invariant: the user `default` is always there, and always the same object.
    """

    def __init__(self) -> None:
        self.default = _default_user()
        self._by_name: dict[bytes, User] = {DEFAULT_USER: self.default}
        self._names: CommandNames | None = None
        self._watchers: list[Callable[[], None]] = []
        self.opens_channels = False
        """acl-pubsub-default: may a new user use all channels?"""

    def learn(self, names: CommandNames) -> None:
        """The commands that rules may name; needed before the first rule that names one."""
        self._names = names

    def watch(self, told: Callable[[], None]) -> None:
        """Call `told` after each change."""
        self._watchers.append(told)

    @property
    def names(self) -> CommandNames:
        """The commands that rules may name."""
        assert self._names is not None, "asked before `learn`"
        return self._names

    @property
    def is_open(self) -> bool:
        """Does nobody need a password to be the user `default`?"""
        return self.default.has_no_password

    def newcomer(self) -> Identity:
        """Who a connection is that has said nothing yet."""
        is_let_in = self.default.has_no_password and self.default.is_on
        return Identity(self.default, Proof.UNASKED if is_let_in else Proof.MISSING)

    def log_in(self, name: bytes, password: bytes) -> Identity | None:
        """Who says so; None if there is no such user, or it is off, or has another password."""
        user = self._by_name.get(name)
        return Identity(user, Proof.PASSWORD) if user is not None and user.is_password(password) else None

    def certified(self, names: Iterable[bytes]) -> Identity | None:
        """Who has a certificate that gives these names: the first one that is a user and on; None if there is none."""
        for name in names:
            user = self._by_name.get(name)
            if user is not None and user.is_on:
                return Identity(user, Proof.CERTIFICATE)
        return None

    def set_default_password(self, password: bytes) -> None:
        """requirepass: this becomes the only password of the user `default`; empty: it needs none."""
        self.default.passwords = {hashed(password): None} if password else {}
        self.default.has_no_password = not password
        self._tell()

    def get(self, name: bytes) -> User | None:
        return self._by_name.get(name)

    def all(self) -> list[User]:
        """All users, in the order of the bytes of their names."""
        return [self._by_name[name] for name in sorted(self._by_name)]

    def lines(self) -> list[bytes]:
        """A line for each user, as ACL LIST and the user file have it: `user <name> <rules>`."""
        return [b"user %b %b" % (user.name, user.text()) for user in self.all()]

    def are_plain(self, password: bytes) -> bool:
        """Is there just the user `default`, as requirepass alone makes it?"""
        plain = Users()
        plain.set_default_password(password)
        return self.lines() == plain.lines()

    def set(self, name: bytes, words: Sequence[bytes]) -> Change:
        """ACL SETUSER: change a user, or make one. Raises UsersError; then nothing has changed."""
        if has_spaces(name):
            raise UsersError("Usernames can't contain spaces or null characters")
        rules = whole_selectors(words)
        if isinstance(rules, Unmatched):
            word = to_text(words[rules.position])
            raise UsersError(f"Unmatched parenthesis in acl selector starting at '{word}'.")
        user = self._by_name.get(name)
        tried = User(name, all_channels=self.opens_channels) if user is None else user.copy()
        for rule in rules:
            try:
                tried.apply(rule, self._grammar())
            except RuleError as error:
                raise UsersError(f"Error in ACL SETUSER modifier '{_shown(rule)}': {error}") from None
        lessened: list[tuple[User, list[Selector]]] = []
        if user is None:
            self._by_name[name] = tried
        else:
            if _loses_channels(user, tried):
                lessened.append((user, tried.selectors))
            user.take(tried)
        self._tell()
        return Change([], lessened)

    def delete(self, names: Iterable[bytes]) -> Change:
        """ACL DELUSER: forget users; names that there are none of do not matter. Raises UsersError for `default`."""
        wanted = list(dict.fromkeys(names))
        if DEFAULT_USER in wanted:
            raise UsersError("The 'default' user cannot be removed")
        gone = [self._by_name.pop(name) for name in wanted if name in self._by_name]
        self._tell()
        return Change(gone, [])

    def replace(self, lines: Sequence[bytes], path: str) -> Change:
        """ACL LOAD: these are the lines of the user file at `path`; other users than theirs are gone, but for
        `default`. Raises UsersError, which tells of all lines that are wrong; then nothing has changed."""
        read, errors = self._read(lines, path)
        if errors:
            text = "".join(errors)
            raise UsersError(
                f"{text}WARNING: ACL errors detected, no change to the previously active ACL rules was performed"
            )
        read.setdefault(DEFAULT_USER, _default_user())
        lessened: list[tuple[User, list[Selector]]] = []
        kept: dict[bytes, User] = {}
        for name, new in read.items():
            old = self._by_name.pop(name, None)
            if old is None:
                kept[name] = new
                continue
            if _loses_channels(old, new):
                lessened.append((old, new.selectors))
            old.take(new)
            kept[name] = old
        gone = list(self._by_name.values())
        self._by_name = kept
        self._tell()
        return Change(gone, lessened)

    def define(self, lines: Iterable[Sequence[bytes]]) -> list[bytes]:
        """The `user` lines of a configuration, each a name and its rules. Returns the names of those that are off, as
        that may be a mistake. Raises UsersError."""
        off: list[bytes] = []
        for name, *words in lines:
            if has_spaces(name):
                raise UsersError("Spaces not allowed in ACL usernames")
            rules = whole_selectors(words)
            if isinstance(rules, Unmatched):
                raise UsersError(f"Unmatched parenthesis in the selectors of the user named '{to_text(name)}'")
            user = self._by_name.setdefault(name, User(name, all_channels=self.opens_channels))
            if user is self.default:
                user.take(User(name, all_channels=self.opens_channels))
            for rule in rules:
                self._follow(user, rule)
            if not user.is_on:
                off.append(name)
        self._tell()
        return off

    def _follow(self, user: User, rule: bytes) -> None:
        try:
            user.apply(rule, self._grammar())
        except RuleError as error:
            raise UsersError(
                f"Error loading ACL rule '{_shown(rule)}' for the user named '{to_text(user.name)}': {error}"
            ) from None

    def _read(self, lines: Sequence[bytes], path: str) -> tuple[dict[bytes, User], list[str]]:
        """The users that the lines of a file describe, and what is wrong with the lines."""
        read: dict[bytes, User] = {}
        errors: list[str] = []
        for number, line in enumerate(lines, 1):
            words = line.strip(b" \t\r\n").split(b" ")
            if words == [b""]:
                continue
            where = f"{path}:{number}"
            if words[0] != b"user" or len(words) < 2:
                errors.append(f"{where} should start with user keyword followed by the username. ")
            elif has_spaces(words[1]):
                errors.append(f"'{where}: username '{to_text(words[1])}' contains invalid characters. ")
            elif words[1] in read:
                errors.append(f"WARNING: Duplicate user '{to_text(words[1])}' found on line {number}. ")
            else:
                read[words[1]] = user = User(words[1], all_channels=self.opens_channels)
                errors += self._complaints(user, words[2:], where)
        return read, errors

    def _complaints(self, user: User, words: list[bytes], where: str) -> list[str]:
        """Have a user follow the rules of a line, and tell which cannot be followed. Only unknown commands are
        repeated: other rules may hold secrets."""
        rules = whole_selectors(words)
        if isinstance(rules, Unmatched):
            return [f"{where}: Unmatched parenthesis in selector definition."]
        complaints: list[str] = []
        has_other = False
        for rule in rules:
            try:
                user.apply(rule.strip(b"\t\r\n"), self._grammar())
            except RuleError as error:
                if error.is_unknown:
                    complaints.append(f"{where}: Error in applying operation '{to_text(rule)}': {error}. ")
                elif not has_other:
                    complaints.append(f"{where}: {error}. ")
                    has_other = True
        return complaints

    def _grammar(self) -> Grammar:
        return Grammar(self.names, self.opens_channels)

    def _tell(self) -> None:
        for told in self._watchers:
            told()


def _shown(rule: bytes) -> str:
    """A rule for an error's text: passwords must not reach logs, ours or those of client libraries."""
    if rule[:1] in (b">", b"<", b"#", b"!"):
        return to_text(rule[:1]) + "(redacted)"
    return to_text(_PASSWORD.sub(rb"\1(redacted)", rule))


def _default_user() -> User:
    """The user `default` as it is at first: on, without a password, and allowed everything."""
    user = User(DEFAULT_USER)
    user.is_on = user.has_no_password = True
    root = user.root
    root.has_future = root.all_keys = root.all_channels = True
    return user


def _loses_channels(old: User, new: User) -> bool:
    """May there be channels that `old` could use and `new` cannot? The patterns are compared to the letter."""
    if any(selector.all_channels for selector in new.selectors):
        return False
    if any(selector.all_channels for selector in old.selectors):
        return True
    left = {pattern for selector in new.selectors for pattern in selector.channel_patterns}
    return any(pattern not in left for selector in old.selectors for pattern in selector.channel_patterns)
