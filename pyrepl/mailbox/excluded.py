"""Users and mailboxes that are not kept, as `mailbox-exclude` says: they are left to the mail programs of their node.

A pattern is a user, or a user and a mailbox with `/` between them; `*` stands for any characters, `?` for one, all else
for itself (`[Gmail]`), and a name is compared as clients see it. What is kept already stays so, whatever it is called
later, and so does what another node keeps.

Not here: who asks (mail_side.py, folders.py, joins.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final, final

WHY: Final = "mailbox-exclude leaves it out"


@final
class Excluded:
    """The patterns of one node."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._patterns: Final = tuple(_literal(pattern).partition("/") for pattern in patterns)

    def has_user(self, user: str) -> bool:
        """Is all that this user has left out?"""
        return any(fnmatchcase(user, whom) for whom, _, name in self._patterns if not name)

    def has(self, user: str, name: str) -> bool:
        """Is this mailbox left out?"""
        return self.has_user(user) or any(
            fnmatchcase(user, whom) and fnmatchcase(name, which) for whom, _, which in self._patterns if which
        )


def _literal(pattern: str) -> str:
    """The pattern as fnmatch has it, to which a bracket begins a set of characters."""
    return pattern.replace("[", "[[]")


EVERYTHING: Final = Excluded()
"""Everything is kept."""
