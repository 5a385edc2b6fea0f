"""Applies the lines of a configuration to settings, in their order. A line that cannot be accepted is refused with its
place and, if its name is unknown, the nearest known one.

Lines are read in parser.py; what directives mean is in directives.py and kinds.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, final

from pyrepl.config.accepted import ACCEPTED, REFUSED, is_off
from pyrepl.config.directive import Directive
from pyrepl.config.directives import ALIASES, ROWS, find
from pyrepl.config.parser import Line
from pyrepl.config.settings import Settings, why_without_effect
from pyrepl.errors import ConfigError
from pyrepl.words import to_text

_LONGEST_SHOWN: Final = 60


@final
class Loaded:
    """What the operator should know of a configuration that was loaded, beside the settings themselves."""

    __slots__ = ("accepted", "inert", "seen")

    def __init__(self) -> None:
        self.seen: Final[set[str]] = set()
        """Names of the rows that were given."""
        self.accepted: Final[list[str]] = []
        """Directives that pyrepl has no use for, in the order in which they came, each once."""
        self.inert: Final[dict[str, str]] = {}
        """Directives set to something that is not in force (yet), with what that means."""

    def notice(self) -> str | None:
        """The one notice about all that has no effect; None if there is nothing to say."""
        reasons = {name: ACCEPTED.get(name, REFUSED.get(name, "")) for name in self.accepted} | self.inert
        return without_effect(reasons) if reasons else None


def without_effect(reasons: Mapping[str, str]) -> str:
    """The sentence about directives that were set and have no effect: name -> reason, told reason by reason."""
    names_of: dict[str, list[str]] = {}
    for name, why in reasons.items():
        names_of.setdefault(why, []).append(name)
    return "Configuration: without effect: " + "; ".join(
        f"{', '.join(names)} ({why})" for why, names in names_of.items()
    )


def load(settings: Settings, lines: Iterable[Line]) -> Loaded:
    """Apply all lines to `settings`, later ones over earlier ones (the lines of `save` and `user` add up, as in Redis).

    Raises ConfigError for the first line that cannot be accepted, naming its place, the directive and the reason;
    the settings are then half changed and of no use.
    """
    loaded = Loaded()
    for line in lines:
        row = find(line.name)
        if row is not None:
            _load_row(settings, row, line, loaded)
        else:
            _load_other(settings, line, loaded)
    reasons = {name: why_without_effect(settings, name) for name in sorted(loaded.seen)}
    loaded.inert.update({name: why for name, why in reasons.items() if why is not None})
    return loaded


def _load_row(settings: Settings, row: Directive[object], line: Line, loaded: Loaded) -> None:
    try:
        settings.load(line.name, line.words, again=row.name in loaded.seen)
    except ConfigError as error:
        raise ConfigError(f"{line.where}: {_shown(row, line)}: {error}") from None
    loaded.seen.add(row.name)


def _load_other(settings: Settings, line: Line, loaded: Loaded) -> None:
    if line.name in REFUSED and not all(is_off(word) for word in line.words):
        raise ConfigError(f"{line.where}: {line.name}: {REFUSED[line.name]}")
    if line.name not in ACCEPTED and line.name not in REFUSED:
        raise ConfigError(f"{line.where}: unknown directive '{line.name}'{_hint(line.name)}")
    settings.kept[line.name] = b" ".join(line.words)
    if line.name not in loaded.accepted:
        loaded.accepted.append(line.name)


def _shown(row: Directive[object], line: Line) -> str:
    """The directive as it was given, shortened; without its value if that is a secret."""
    if row.secret:
        return line.name
    words = " ".join(to_text(word) or '""' for word in line.words)
    shown = words if len(words) <= _LONGEST_SHOWN else words[:_LONGEST_SHOWN] + "..."
    return f"{line.name} {shown}".rstrip().encode("utf-8", "backslashreplace").decode()


def _hint(name: str) -> str:
    near = nearest(name)
    return f"; did you mean '{near}'?" if near else ""


def nearest(name: str) -> str | None:
    """The known directive most like `name`, ours before those that are merely accepted; None if none is close."""
    from difflib import get_close_matches  # Not wanted at a start whose directives are all known.

    for names in ([*ROWS, *ALIASES, "include"], sorted(ACCEPTED)):
        close = get_close_matches(name.lower(), names, n=1, cutoff=0.7)
        if close:
            return close[0]
    return None
