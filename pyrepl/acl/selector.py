"""A selector: one set of rights to commands, keys and channels. A user has one or several, and each command must be
allowed by one of them as a whole (Redis 7.0).

Commands are known here by their full names, `get` or `client|list`; `CommandNames` knows which there are. A selector
allows all commands but some, or some alone: that is what the rule `+@all` or `-@all` before the others has begun.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol, final

from pyrepl.acl.denial import Denial, Refused
from pyrepl.acl.quick import Quick
from pyrepl.errors import PyreplError
from pyrepl.glob import Glob
from pyrepl.words import from_text, split_words, to_text

READ: Final = 1
WRITE: Final = 2
ALL: Final = READ | WRITE

UNKNOWN: Final = "Unknown command or category name in ACL"
SYNTAX: Final = "Syntax error"
_AFTER_ALL_KEYS: Final = (
    "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try "
    "'resetkeys' to start with an empty list of patterns"
)
_AFTER_ALL_CHANNELS: Final = (
    "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. Try "
    "'resetchannels' to start with an empty list of channels"
)
_OF_SUBCOMMAND: Final = "Allowing first-arg of a subcommand is not supported"
_SPACES: Final = b" \t\n\v\f\r\0"


@final
class RuleError(PyreplError):
    """A rule that cannot be followed; the text is Redis's reason. `is_unknown`: it names a command or category that
    there is none of."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.is_unknown = reason == UNKNOWN


class CommandNames(Protocol):
    """The commands that there are, by their first names: rename-command does not matter to rules."""

    def find(self, name: str) -> str | None:
        """The full name of a command or subcommand, in small letters, whatever the case of `name`; None if there is
        none."""

    def with_subcommands(self, name: str) -> list[str]:
        """A full name, and those of all its subcommands."""

    def of_category(self, category: str) -> list[str] | None:
        """The full names of all commands and subcommands of a category, in any case of letters and without the `@`;
        None if there is no such category. A command brings all its subcommands."""

    def in_category(self, category: str) -> list[str] | None:
        """As `of_category`, without the subcommands that are not in the category themselves."""


class Words(NamedTuple):
    """One command as selectors look at it."""

    name: str
    is_free: bool
    """May anybody run it (NO_AUTH)?"""
    argv: list[bytes]
    keys: list[tuple[int, int]]
    """(position, what is done to it: READ, WRITE, both or nothing of these) of each key."""
    channels: list[tuple[int, bool]]
    """(position, is it a pattern) of each channel."""


@final
class Selector:
    """One set of rights.

    Invariants: a pattern is kept only while not all keys, or channels, are allowed. `has_future` is what `+@all` began:
    the commands of `_exceptions` are forbidden, and those that a later version brings are allowed; without it they
    alone are allowed.
    """

    __slots__ = (
        "_exceptions",
        "_first_args",
        "all_channels",
        "all_keys",
        "channel_patterns",
        "has_future",
        "key_patterns",
        "rules",
    )

    def __init__(self, *, all_channels: bool = False) -> None:
        self.has_future = False
        self._exceptions: set[str] = set()
        self._first_args: dict[str, set[bytes]] = {}
        """Command -> its first arguments, in small letters, with which it is allowed though it is forbidden else."""
        self.rules: dict[str, bool] = {}
        """Command or @category -> is it allowed; in the order of the rules, after the last about all."""
        self.all_keys = False
        self.key_patterns: dict[bytes, tuple[Glob, int]] = {}
        """Pattern -> (what matches it, READ, WRITE or both)."""
        self.all_channels = all_channels
        self.channel_patterns: dict[bytes, Glob] = {}

    def copy(self) -> Selector:
        other = Selector(all_channels=self.all_channels)
        other.has_future = self.has_future
        other._exceptions = set(self._exceptions)
        other._first_args = {name: set(words) for name, words in self._first_args.items()}
        other.rules = dict(self.rules)
        other.all_keys = self.all_keys
        other.key_patterns = dict(self.key_patterns)
        other.channel_patterns = dict(self.channel_patterns)
        return other

    @property
    def is_unlimited(self) -> bool:
        """Is everything allowed?"""
        return self.all_commands and self.all_keys and self.all_channels

    @property
    def all_commands(self) -> bool:
        return self.has_future and not self._exceptions

    # Rules ---------------------------------------------------------------------------------------------------------

    def apply(self, rule: bytes, names: CommandNames) -> None:
        """Follow a rule about commands, keys or channels. Raises RuleError; then nothing has changed."""
        word = rule.lower()
        if word in (b"allkeys", b"~*", b"resetkeys"):
            self.all_keys = word != b"resetkeys"
            self.key_patterns.clear()
        elif word in (b"allchannels", b"&*", b"resetchannels"):
            self.all_channels = word != b"resetchannels"
            self.channel_patterns.clear()
        elif word in (b"allcommands", b"+@all", b"nocommands", b"-@all"):
            self.has_future = word in (b"allcommands", b"+@all")
            self._exceptions.clear()
            self._first_args.clear()
            self.rules.clear()
        elif word[:1] in (b"~", b"%"):
            self._add_keys(rule)
        elif word[:1] == b"&":
            self._add_channels(rule[1:])
        elif word[:1] in (b"+", b"-"):
            self._change_commands(to_text(rule[1:]), names, allow=word[:1] == b"+")
        else:
            raise RuleError(SYNTAX)

    def _add_keys(self, rule: bytes) -> None:
        if self.all_keys:
            raise RuleError(_AFTER_ALL_KEYS)
        access, pattern = (ALL, rule[1:]) if rule[:1] == b"~" else _with_access(rule)
        if has_spaces(pattern):
            raise RuleError(SYNTAX)
        known = self.key_patterns.get(pattern)
        self.key_patterns[pattern] = (Glob(pattern), access) if known is None else (known[0], known[1] | access)

    def _add_channels(self, pattern: bytes) -> None:
        if self.all_channels:
            raise RuleError(_AFTER_ALL_CHANNELS)
        if has_spaces(pattern):
            raise RuleError(SYNTAX)
        self.channel_patterns.setdefault(pattern, Glob(pattern))

    def _change_commands(self, what: str, names: CommandNames, *, allow: bool) -> None:
        """`+what` or `-what`: a category, a command, a subcommand, or a command with a first argument."""
        if what[:1] == "@":
            members = names.of_category(what[1:])
            if members is None:
                raise RuleError(UNKNOWN)
            self._note_rule(what.lower(), allow=allow)
            self._set(members, allow=allow)
            return
        found = names.find(what)
        if found is None and allow and "|" in what:
            self._allow_first_arg(what, names)
            return
        if found is None:
            raise RuleError(UNKNOWN)
        self._set(names.with_subcommands(found), allow=allow)
        self._note_rule(found, allow=allow)

    def _allow_first_arg(self, what: str, names: CommandNames) -> None:
        """`+command|first-arg`, where that is no subcommand."""
        name, _, first_arg = what.rpartition("|")
        found = names.find(name)
        if found is None:
            raise RuleError(UNKNOWN)
        if "|" in found:
            raise RuleError(_OF_SUBCOMMAND)
        if not first_arg:
            raise RuleError(SYNTAX)
        if len(names.with_subcommands(found)) > 1:
            raise RuleError(UNKNOWN)
        self._first_args.setdefault(found, set()).add(from_text(first_arg).lower())
        self._note_rule(what.lower(), allow=True)

    def _set(self, members: list[str], *, allow: bool) -> None:
        for name in members:
            self._first_args.pop(name, None)
        if allow == self.has_future:
            self._exceptions.difference_update(members)
        else:
            self._exceptions.update(members)

    def _note_rule(self, rule: str, *, allow: bool) -> None:
        """Keep a rule in place of those that it overrides: of the same command, and of its subcommands."""
        for older in [older for older in self.rules if older == rule or older.startswith(f"{rule}|")]:
            del self.rules[older]
        self.rules[rule] = allow

    # Texts -----------------------------------------------------------------------------------------------------------

    def commands_text(self) -> bytes:
        """The rules about commands."""
        texts = ["+@all" if self.has_future else "-@all"]
        texts += [f"{'+' if allow else '-'}{rule}" for rule, allow in self.rules.items()]
        return from_text(" ".join(texts))

    def keys_text(self) -> bytes:
        if self.all_keys:
            return b"~*"
        return b" ".join(_ACCESS[access] + pattern for pattern, (_, access) in self.key_patterns.items())

    def channels_text(self) -> bytes:
        return b"&*" if self.all_channels else b" ".join(b"&" + pattern for pattern in self.channel_patterns)

    def text(self) -> bytes:
        """All rules, as ACL LIST and the user file have them."""
        parts = [self.keys_text()]
        if not self.all_channels:
            parts.append(b"resetchannels")
        parts += [self.channels_text(), self.commands_text()]
        return b" ".join(part for part in parts if part)

    # Questions -------------------------------------------------------------------------------------------------------

    def why_not(self, words: Words) -> Denial | None:
        """What of this command is not allowed here; None if all of it is."""
        if not words.is_free and not self._allows(words):
            return Denial(Refused.COMMAND, 0)
        if not self.all_keys:
            for position, access in words.keys:
                if not self._allows_key(words.argv[position], access):
                    return Denial(Refused.KEY, position)
        if not self.all_channels:
            for position, is_pattern in words.channels:
                if not self.allows_channel(words.argv[position], is_pattern=is_pattern):
                    return Denial(Refused.CHANNEL, position)
        return None

    def quick(self, name: str, access: int) -> Quick | None:
        """What is enough for this selector to allow a command that does no more than `access` to its keys; None if its
        first argument has to be looked at, or it is not allowed."""
        if not self._allows_always(name):
            return None
        keys = None
        if not self.all_keys:
            keys = tuple(glob for glob, allowed in self.key_patterns.values() if access & ~allowed == 0)
        return Quick(keys, None if self.all_channels else tuple(self.channel_patterns.values()))

    def _allows_always(self, name: str) -> bool:
        return (name in self._exceptions) != self.has_future

    def _allows(self, words: Words) -> bool:
        if self._allows_always(words.name):
            return True
        first_args = self._first_args.get(words.name)
        argv = words.argv
        return first_args is not None and len(argv) > 1 and argv[1].lower() in first_args

    def _allows_key(self, key: bytes, access: int) -> bool:
        return any(access & ~allowed == 0 and _matches(glob, key) for glob, allowed in self.key_patterns.values())

    def allows_any_key(self, access: int) -> bool:
        """Is this access allowed to keys of any name? By the pattern `*` alone, as in Redis."""
        if self.all_keys:
            return True
        known = self.key_patterns.get(b"*")
        return known is not None and access & ~known[1] == 0

    def allows_channel(self, channel: bytes, *, is_pattern: bool) -> bool:
        """May this channel be used? A pattern of PSUBSCRIBE must be among the selector's own, to the letter."""
        if self.all_channels:
            return True
        if is_pattern:
            return channel in self.channel_patterns
        return any(_matches(glob, channel) for glob in self.channel_patterns.values())


_ACCESS: Final = {ALL: b"~", READ: b"%R~", WRITE: b"%W~"}


def _matches(glob: Glob, word: bytes) -> bool:
    """Does a pattern match? The empty word matches the empty pattern alone, not even `*`, as in Redis."""
    return glob.matches(word) if word else not glob.pattern


def _with_access(rule: bytes) -> tuple[int, bytes]:
    """(what is allowed, pattern) of `%R~pattern` and its like. Raises RuleError."""
    letters, tilde, pattern = rule[1:].upper().partition(b"~")
    access = {b"R": READ, b"W": WRITE, b"RW": ALL, b"WR": ALL}.get(letters)
    if access is None or not tilde:
        raise RuleError(SYNTAX)
    return access, rule[len(rule) - len(pattern) :]


def has_spaces(word: bytes) -> bool:
    """Has a pattern or a user's name white space or zero bytes, which a user file could not hold?"""
    return any(byte in _SPACES for byte in word)


def selector_of(rule: bytes, names: CommandNames, *, all_channels: bool) -> Selector:
    """The selector that `(rule rule ...)` describes. Raises RuleError."""
    words = split_words(rule[1:-1])
    if words is None:
        raise RuleError(SYNTAX)
    selector = Selector(all_channels=all_channels)
    for word in words:
        selector.apply(word, names)
    return selector
