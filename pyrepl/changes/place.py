"""A subscriber's place in a stream: the tokens it holds, and the history they are from, as values and as text.

Pure. The text is one line, for token stores, files and `pyrepl tail --from`:

    NOW                                                  whatever comes from now on
    517412480                                            up to and with this token
    517412480@8371445ee67f9ab1c2d3e4f5061728394a5b6c7d   of this history (replid): its last five digits stand for it too
    {"alice": 12, "bob": 9}                              a stream of several writers read one by one
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self, final

from pyrepl.changes.tokens import MAX_TOKEN

_SINGLE: Final = re.compile(r"(\d{1,24})(?:@([0-9A-Za-z._-]{1,64}))?", re.ASCII)


@final
@dataclass(frozen=True, slots=True)
class Place:
    """Everything up to here has been had.

    Either `token` is set, or `writers`, or neither (NOW). `history` is empty when it is not known.
    Invariant: all tokens are from 0 to MAX_TOKEN.
    """

    token: int | None = None
    history: str = ""
    writers: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_now(self) -> bool:
        """Does it leave the choice of where to begin to the node?"""
        return self.token is None and not self.writers

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the text form. Raises ValueError, with what was expected."""
        text = text.strip()
        if text.upper() == "NOW":
            return cls()
        found = _SINGLE.fullmatch(text)
        if found is not None and int(found[1]) <= MAX_TOKEN:
            return cls(int(found[1]), found[2] or "")
        if text.startswith("{"):
            return cls(writers=_writers(text))
        raise ValueError(
            f"expected NOW, a token such as 517412480 or 517412480@<replid>, or {{writer: token}}, got {text!r:.100}"
        )

    def __str__(self) -> str:
        if self.writers:
            return json.dumps(dict(self.writers), sort_keys=True)
        if self.token is None:
            return "NOW"
        return f"{self.token}@{self.history}" if self.history else str(self.token)


NOW: Final = Place()


def _writers(text: str) -> dict[str, int]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"expected a JSON object of writers and tokens, got {text!r:.100}") from None
    if not isinstance(found, dict) or not all(_is_token(token) for token in found.values()):
        raise ValueError(f"expected a token from 0 to {MAX_TOKEN} for each writer, got {text!r:.100}")
    return found


def _is_token(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKEN
