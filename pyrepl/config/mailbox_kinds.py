"""The kinds of value that `mailbox-members` and `mailbox-exclude` have: nodes, where each is reached, and who keeps no
mail; patterns of users and mailboxes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple, final

from pyrepl.config.kinds import Kind
from pyrepl.errors import ConfigError
from pyrepl.words import from_text, to_text

_MEMBER: Final = re.compile(r"([A-Za-z0-9_.-]{1,32})=(\[[^\]]+\]|[^:,\s]+):([0-9]{1,5})(,witness)?")
_MOST: Final = 16
_MOST_PATTERNS: Final = 1000


class MailboxMember(NamedTuple):
    """A node by its name, and where its `mailbox-port` is."""

    name: str
    host: str
    port: int
    is_witness: bool = False

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name}={host}:{self.port}{',witness' if self.is_witness else ''}"


@final
class MailboxMembers(Kind[tuple[MailboxMember, ...]]):
    """Words like `a=10.0.0.1:7390` or `w=[::1]:7390,witness`. An empty word means none."""

    many_words = True

    def parse(self, words: Sequence[bytes], current: tuple[MailboxMember, ...]) -> tuple[MailboxMember, ...]:
        members = tuple(_member(to_text(word)) for word in words if word)
        if len(members) > _MOST:
            raise ConfigError(f"argument must name at most {_MOST} members")
        if len({member.name for member in members}) < len(members):
            raise ConfigError("argument names a member twice")
        return members

    def text(self, value: tuple[MailboxMember, ...]) -> bytes:
        return from_text(" ".join(map(str, value)))

    def lines(self, value: tuple[MailboxMember, ...]) -> list[list[bytes]]:
        return [[from_text(str(member)) for member in value]] if value else []


@final
class MailboxPatterns(Kind[tuple[str, ...]]):
    """Words like `alice`, `*/Trash` or `*/[Gmail]/*`; only `*` and `?` stand for others. An empty word means none."""

    many_words = True

    def parse(self, words: Sequence[bytes], current: tuple[str, ...]) -> tuple[str, ...]:
        patterns = tuple(to_text(word) for word in words if word)
        if len(patterns) > _MOST_PATTERNS:
            raise ConfigError(f"argument must name at most {_MOST_PATTERNS} patterns")
        if any(pattern.startswith("/") or pattern.endswith("/") for pattern in patterns):
            raise ConfigError("argument must be patterns like user or user/mailbox")
        return patterns

    def text(self, value: tuple[str, ...]) -> bytes:
        return from_text(" ".join(value))

    def lines(self, value: tuple[str, ...]) -> list[list[bytes]]:
        return [[from_text(pattern) for pattern in value]] if value else []


def _member(word: str) -> MailboxMember:
    found = _MEMBER.fullmatch(word)
    if found is None or not 0 < int(found[3]) <= 65535:
        raise ConfigError("argument must be members like name=host:port or name=host:port,witness")
    return MailboxMember(found[1], found[2].strip("[]"), int(found[3]), bool(found[4]))
