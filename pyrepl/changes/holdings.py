"""What a subscriber holds of a stream that it reads writer by writer, and what it must ask for. Pure.

A bare REPLICATE brings every writer from where it is now on; `POSITION stream writer previous new` says what is
missing.

| what comes of a writer | we hold | then |
|---|---|---|
| rows before its first POSITION | something | dropped, they come again: rows before them may be missing |
| rows before its first POSITION | nothing | taken: it is new, and these are its first |
| POSITION | nothing, and began at NOW | we hold `new` |
| POSITION, no rows dropped | at least `previous` | we hold `new` |
| POSITION | less | ask for what follows ours |
| anything after asking, before the answer begins | | dropped, it comes again |

Where the answer begins is told by a SYNC that is sent behind the question and comes back: what a node says after it
follows the token that was asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final


@final
class Holdings:
    """Tokens by writer.

    Invariants: a token never goes down; a writer in `_asked` is in `tokens`.
    """

    def __init__(self, tokens: Mapping[str, int]) -> None:
        """`tokens`: where to go on; empty: from now on."""
        self.tokens: Final = dict(tokens)
        self._is_fresh: Final = not tokens
        self._placed: Final[set[str]] = set()
        """Writers whose first POSITION has come."""
        self._dropped: Final[set[str]] = set()
        self._asked: Final[dict[str, str]] = {}
        """Writer -> the SYNC that ends what is to be dropped."""
        self._questions = 0

    def takes_rows(self, writer: str) -> bool:
        """Are rows of this writer wanted just now?"""
        if writer in self._asked:
            return False
        if writer in self._placed or self._is_fresh:
            return True
        self._dropped.add(writer)
        return False

    def moved(self, writer: str, token: int) -> bool:
        """The last row of a token has come and was taken. Returns whether the token is a new one."""
        if token <= self.tokens.get(writer, -1):
            return False
        self.tokens[writer] = token
        return True

    def positioned(self, writer: str, previous: int, token: int) -> tuple[bool, int | None]:
        """A POSITION: is it a move, and behind which token must be asked, or None."""
        if writer in self._asked:
            return False, None
        self._placed.add(writer)
        held = self.tokens.get(writer)
        if held is None and self._is_fresh:
            self.tokens[writer] = token
            return True, None
        if held is None:
            held = self.tokens[writer] = 0
        if held < previous or writer in self._dropped:
            self._dropped.discard(writer)
            return False, held
        return self.moved(writer, token), None

    def ask(self, writer: str) -> str:
        """We ask for rows of this writer. Returns the text of the SYNC to send behind the request."""
        assert writer in self.tokens
        self._questions += 1
        self._asked[writer] = f"{self._questions} {writer}"
        return self._asked[writer]

    def synced(self, text: str) -> None:
        """A SYNC came back."""
        writer = text.partition(" ")[2]
        if self._asked.get(writer) == text:
            del self._asked[writer]
