"""The settings in force: an attribute per directive, and access by name for CONFIG GET and CONFIG SET.

The rows are in directives.py; reading a configuration is in loading.py, writing one in render.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final

from pyrepl.config.accepted import ACCEPTED, DEFAULTS, REFUSED, is_off
from pyrepl.config.directive import Directive
from pyrepl.config.directives import ROWS, Directives, find
from pyrepl.errors import ConfigError
from pyrepl.glob import Glob
from pyrepl.words import to_text


@final
class Settings(Directives):
    """The value of every directive; begins with the defaults.

    Invariant: each value came from its row's kind (or is its default), so who reads `settings.port` need not check.
    Values are immutable: a changed setting is another object under the attribute.
    """

    def __init__(self, **values: object) -> None:
        """`values` are attributes to begin with (`Settings(databases=4)`), for tests and tools: taken as they are."""
        self.kept: dict[str, bytes] = {}
        """Directives of accepted.py that were given, with their text, so that CONFIG GET answers what was set."""
        for row in ROWS.values():
            setattr(self, row.attribute, row.default)
        for attribute, value in values.items():
            if find(attribute.replace("_", "-")) is None:
                raise TypeError(f"no directive {attribute}")
            setattr(self, attribute, value)

    def value_of(self, row: Directive[Any]) -> Any:
        """The value in force for a row; its type is that of the row's default."""
        return getattr(self, row.attribute)

    def get(self, name: str) -> bytes | None:
        """The text of one directive as CONFIG GET shows it, under any spelling; None for an unknown name."""
        row = find(name)
        if row is None:
            return self._other_texts().get(name.lower())
        text: bytes = row.kind.text(self.value_of(row))
        return text

    def matching(self, pattern: bytes) -> dict[bytes, bytes]:
        """CONFIG GET: name and text of each directive whose name matches, other spellings included."""
        row = find(to_text(pattern))
        if row is not None:
            if row.unshown:
                return {}
            return {pattern.lower(): row.kind.text(self.value_of(row))}
        glob = Glob(pattern, nocase=True)
        found: dict[bytes, bytes] = {}
        for row in ROWS.values():
            for name in (row.name, *row.aliases):
                if not row.hidden and not row.unshown and glob.matches(name.encode()):
                    found[name.encode()] = row.kind.text(self.value_of(row))
        for name, text in self._other_texts().items():
            if glob.matches(name.encode()):
                found[name.encode()] = text
        return found

    def _other_texts(self) -> dict[str, bytes]:
        """Name -> text of the directives without a row that are shown: those that were given, and known defaults."""
        return {name: text.encode() for name, text in DEFAULTS.items()} | self.kept

    def parse(self, name: str, value: bytes) -> Any:
        """What `CONFIG SET name value` would assign; nothing changes.

        Raises ConfigError with the reason alone, in Redis's words; KeyError if is_known(name) is False.
        """
        row = find(name)
        if row is None:
            return self._parse_accepted(name.lower(), value)
        if not row.mutable:
            raise ConfigError("can't set immutable config")
        words = value.split(b" ") if row.kind.many_words else [value]
        return row.kind.parse(words, self.value_of(row))

    def _parse_accepted(self, name: str, value: bytes) -> bytes:
        if name in REFUSED and not is_off(value):
            raise ConfigError(REFUSED[name])
        if name not in ACCEPTED:
            raise KeyError(name)
        return value

    def assign(self, name: str, value: Any) -> None:
        """Put in force what parse() returned for this name."""
        row = find(name)
        if row is None:
            self.kept[name.lower()] = value
        else:
            setattr(self, row.attribute, value)

    def set(self, name: str, value: bytes) -> None:
        """CONFIG SET of one directive: parse() and assign()."""
        self.assign(name, self.parse(name, value))

    def load(self, name: str, words: Sequence[bytes], *, again: bool = False) -> None:
        """One line of a configuration, immutable directives included; with `again` the configuration had it before.

        One word may hold several (`--save "3600 1 300 100"`), as in Redis 7.0.

        Raises ConfigError with the reason alone; KeyError for a name without a row.
        """
        row = find(name)
        if row is None:
            raise KeyError(name)
        if row.kind.many_words and len(words) == 1 and words[0]:
            words = words[0].split()
        read = row.kind.again if again else row.kind.parse
        setattr(self, row.attribute, read(words, self.value_of(row)))

    def why_not_settable(self, name: str, *, client_is_local: bool) -> str | None:
        """Why CONFIG SET may not change a protected directive now, in Redis's words; None if it may."""
        row = find(name)
        if row is None or not row.protected or self.enable_protected_configs == "yes":
            return None
        if self.enable_protected_configs == "local" and client_is_local:
            return None
        return "can't set protected config"

    def copy(self) -> Settings:
        """Another Settings with the same values, to try changes on."""
        other = Settings()
        other.__dict__.update(self.__dict__)
        other.kept = dict(self.kept)
        return other


_OF_MAILBOXES: Final = ("mailbox-", "tls-mailbox")
"""How the names of directives begin that say something of mailboxes."""
_OF_MAIL: Final = frozenset(
    {
        *("mailbox-maildir", "mailbox-layout", "mailbox-store", "mailbox-exclude", "mailbox-scrub", "mailbox-doveadm"),
        *("mailbox-gate", "mailbox-orphan", "mailbox-expunge-guard", "mailbox-poll"),
    }
)
"""They say how mail is kept."""
_OF_GATES: Final = frozenset({"mailbox-orphan", "mailbox-expunge-guard", "mailbox-poll"})
"""They say what is done beside a Dovecot."""


def why_without_effect(settings: Settings, name: str) -> str | None:
    """Why what a directive is set to now has no effect; None if it has one, or is the default."""
    row = find(name)
    if row is None:
        return ACCEPTED.get(name.lower())
    if settings.value_of(row) == row.default:
        return None
    if row.name.startswith(_OF_MAILBOXES) and (why := _why_unused(settings, row.name)):
        return why
    return row.inert or None


def is_known(name: str) -> bool:
    """Is it a directive of ours, or one that is accepted without effect?"""
    return find(name) is not None or name.lower() in ACCEPTED


def _why_unused(settings: Settings, name: str) -> str | None:
    """Why a directive of mailboxes that is set says nothing beside others; None if it does. What cannot be at all is
    refused (pyrepl.daemon.mailbox.configured)."""
    if not settings.mailbox_port:
        return "it needs mailbox-port, without which this node keeps no mailboxes"
    own = [member for member in settings.mailbox_members if member.name == settings.mailbox_node]
    if name in _OF_MAIL and own and own[0].is_witness:
        return "a witness keeps no mail"
    by_doveadm = settings.mailbox_store == "doveadm"
    if by_doveadm and name == "mailbox-maildir":
        return "with mailbox-store doveadm mail is where its Dovecot has it"
    if by_doveadm and name == "mailbox-orphan":
        return "mailbox-store doveadm has no gates"
    if not by_doveadm and name in _OF_GATES and settings.mailbox_gate != "on":
        return "it needs mailbox-gate on"
    if name == "mailbox-orphan" and settings.mailbox_apart == "refuse":
        return "with mailbox-apart refuse gates stay shut until the node is back"
    return None
