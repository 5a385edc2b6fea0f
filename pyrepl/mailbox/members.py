"""The members of a cluster: the configured list, the same on every node, and what follows from it.

Not here: who of them is up, and who is the root (root.py).
"""

from __future__ import annotations

import hashlib
from typing import Final, NamedTuple, final

from pyrepl.errors import ConfigError
from pyrepl.mailbox.words import node_of, parse_origin


class Member(NamedTuple):
    """A node by its configured name. A witness votes and keeps no mail."""

    name: str
    is_witness: bool = False


def agreed(gap: int, lease_ms: int) -> str:
    """What has to be the same on all members besides their list: nodes with other blocks of UIDs give out the same
    ones, and with other leases there may be two roots."""
    return f" gap={gap} lease={lease_ms}"


@final
class Members:
    """The list, in its configured order.

    Invariants: names differ, and none has a `~`; at least one member is no witness.
    """

    __slots__ = ("_agreed", "_places", "keepers", "majority", "names", "witnesses")

    def __init__(self, members: tuple[Member, ...], agreed: str = "") -> None:
        """`agreed`: what else has to be the same on all of them, "" for nothing. Raises ConfigError for a list that
        cannot be, PeerError for a name that is none."""
        self._agreed: Final = agreed
        self.names: Final = tuple(parse_origin(member.name) for member in members)
        self.witnesses: Final = frozenset(member.name for member in members if member.is_witness)
        self.keepers: Final = tuple(name for name in self.names if name not in self.witnesses)
        self.majority: Final = len(self.names) // 2 + 1
        """How many are more than half of the configured ones."""
        self._places: Final = {name: place for place, name in enumerate(self.names, start=1)}
        if len(self._places) < len(self.names):
            raise ConfigError(f"mailbox-members names a node twice: {' '.join(self.names)}")
        if any(node_of(name) != name for name in self.names):
            raise ConfigError(f"mailbox-members has a name with ~, which stands for another mailbox.db: {self.names}")
        if not self.keepers:
            raise ConfigError("mailbox-members has no node that keeps mail: give one without ,witness")

    def place(self, name: str) -> int:
        """The place in the list, from 1."""
        return self._places[name]

    def others(self, name: str) -> tuple[str, ...]:
        """All but `name`."""
        return tuple(other for other in self.names if other != name)

    def could_elect_without(self, name: str) -> bool:
        """Could the others have a majority among themselves?"""
        return len(self.others(name)) >= self.majority

    def digest(self) -> str:
        """What HELLO compares: equal for equal lists, whose members agree."""
        text = " ".join(f"{name}{',witness' if name in self.witnesses else ''}" for name in self.names)
        return hashlib.sha256(f"{text}{self._agreed}".encode()).hexdigest()[:16]

    def __contains__(self, name: object) -> bool:
        return name in self._places
