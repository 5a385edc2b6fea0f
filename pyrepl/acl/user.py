"""A user: a name, passwords, and selectors; and the rules that make one, as ACL SETUSER has them (Redis 8.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, final

from pyrepl.acl.denial import Denial, Refused
from pyrepl.acl.passwords import hashed, is_hash, is_one_of
from pyrepl.acl.quick import Quick
from pyrepl.acl.selector import CommandNames, RuleError, Selector, Words, selector_of

DEFAULT_USER: Final = b"default"
_NO_SUCH_PASSWORD: Final = "The password you are trying to remove from the user does not exist"
_NO_HASH: Final = "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters"


class Grammar(NamedTuple):
    """What the meaning of a rule depends on."""

    names: CommandNames
    all_channels: bool
    """acl-pubsub-default: may a new selector use all channels?"""


@final
class User:
    """A user. Connections hold the object itself, so that what changes here holds for them at once (`take`).

    Invariants: the first selector is the root, to which rules outside of parentheses go; it is always there. What
    `quick` holds is true of the present selectors.
    """

    __slots__ = ("has_no_password", "is_on", "name", "passwords", "quick", "sanitizes", "selectors")

    def __init__(self, name: bytes, *, all_channels: bool = False) -> None:
        """A new user is off, and may do nothing; `all_channels` is acl-pubsub-default."""
        self.name = name
        self.is_on = False
        self.has_no_password = False
        """nopass: any password fits."""
        self.sanitizes = True
        """sanitize-payload. All payloads are checked in full, whatever it says."""
        self.passwords: dict[bytes, None] = {}
        """Their hashes, in the order in which they were added."""
        self.selectors = [Selector(all_channels=all_channels)]
        self.quick: dict[str, list[Quick]] = {}
        """By command, what is enough for it, where that was asked since the rules have changed (`engine.rights`)."""

    def copy(self) -> User:
        other = User(self.name)
        other.take(self)
        return other

    def take(self, other: User) -> None:
        """Become as `other` is, but for the name."""
        self.is_on, self.has_no_password, self.sanitizes = other.is_on, other.has_no_password, other.sanitizes
        self.passwords = dict(other.passwords)
        self.selectors = [selector.copy() for selector in other.selectors]
        self.quick.clear()

    @property
    def root(self) -> Selector:
        return self.selectors[0]

    @property
    def is_unlimited(self) -> bool:
        """May the user do everything?"""
        return any(selector.is_unlimited for selector in self.selectors)

    @property
    def limits_keys(self) -> bool:
        """Is there a selector for which keys must be looked at?"""
        return any(not selector.all_keys for selector in self.selectors)

    @property
    def flags(self) -> list[bytes]:
        """The words of ACL GETUSER's `flags`, in Redis's order."""
        words = [b"on" if self.is_on else b"off"]
        if self.has_no_password:
            words.append(b"nopass")
        words.append(b"sanitize-payload" if self.sanitizes else b"skip-sanitize-payload")
        return words

    def text(self) -> bytes:
        """All rules, without the name, as ACL LIST and the user file have them."""
        parts = [*self.flags, *(b"#" + password for password in self.passwords), self.root.text()]
        parts += [b"(%b)" % selector.text() for selector in self.selectors[1:]]
        return b" ".join(parts)

    def is_password(self, password: bytes) -> bool:
        """Does this password let one in as this user? None does while the user is off."""
        return self.is_on and (self.has_no_password or is_one_of(password, self.passwords))

    def why_not(self, words: Words) -> Denial | None:
        """What of this command is refused to the user; None if a selector allows it.

        Of what the selectors refuse the rarest is told: no selector allows the command, or none of those that do
        allows this key, or none allows this channel.
        """
        told, last = Refused.COMMAND, 0
        for selector in self.selectors:
            denial = selector.why_not(words)
            if denial is None:
                return None
            if denial.reason.rank > told.rank or (denial.reason is told and denial.position > last):
                told, last = denial
        return Denial(told, last)

    def may_reach_any_key(self, words: Words, access: int) -> bool:
        """May the user run this command, and has a selector that allows it this access to keys of any name?"""
        return any(one.why_not(words) is None and one.allows_any_key(access) for one in self.selectors)

    def apply_all(self, rules: Sequence[bytes], grammar: Grammar) -> None:
        """Follow rules, in order; selectors are one word each (`whole_selectors`). Raises RuleError, with the rules
        before it followed."""
        for rule in rules:
            self.apply(rule, grammar)

    def apply(self, rule: bytes, grammar: Grammar) -> None:
        """Follow one rule. Raises RuleError; then nothing has changed."""
        word = rule.lower()
        if not rule:
            return
        self.quick.clear()
        if word in (b"on", b"off"):
            self.is_on = word == b"on"
        elif word in (b"sanitize-payload", b"skip-sanitize-payload"):
            self.sanitizes = word == b"sanitize-payload"
        elif word in (b"nopass", b"resetpass"):
            self.has_no_password = word == b"nopass"
            self.passwords.clear()
        elif word[:1] in (b">", b"#"):
            self.passwords.setdefault(_hash_of(rule))
            self.has_no_password = False
        elif word[:1] in (b"<", b"!"):
            kept = _hash_of(rule)
            if kept not in self.passwords:
                raise RuleError(_NO_SUCH_PASSWORD)
            del self.passwords[kept]
        elif word[:1] == b"(" and word[-1:] == b")":
            self.selectors.append(selector_of(rule, grammar.names, all_channels=grammar.all_channels))
        elif word == b"clearselectors":
            del self.selectors[1:]
        elif word == b"reset":
            self.take(User(self.name, all_channels=grammar.all_channels))
        else:
            self.root.apply(rule, grammar.names)


def _hash_of(rule: bytes) -> bytes:
    """The hash that `>password` or `#hash` means, and likewise `<` and `!`. Raises RuleError."""
    if rule[:1] in (b">", b"<"):
        return hashed(rule[1:])
    if not is_hash(rule[1:]):
        raise RuleError(_NO_HASH)
    return rule[1:]


class Unmatched(NamedTuple):
    """A selector that begins at this word and does not end."""

    position: int


def whole_selectors(words: Sequence[bytes]) -> list[bytes] | Unmatched:
    """The rules of these words: a selector may be spread over several, from `(` to `)`."""
    rules: list[bytes] = []
    begun: list[bytes] = []
    began = 0
    for position, word in enumerate(words):
        if begun or (word[:1] == b"(" and word[-1:] != b")"):
            began = began if begun else position
            begun.append(word)
            if len(begun) > 1 and word[-1:] == b")":
                rules.append(b" ".join(begun))
                begun = []
        else:
            rules.append(word)
    return Unmatched(began) if begun else rules
