"""The page of all words under which something of mailboxes is told: what each means, and what to do.

Made of the lines themselves (pyrepl.observability.events), so that it says what the log says.
"""

from __future__ import annotations

import re
from typing import Final

from pyrepl.observability import events
from pyrepl.observability.event import Level
from pyrepl.observability.events import MailboxWord

WORDS: Final[dict[str, type[MailboxWord]]] = {
    kind.word(): kind for kind in events.EVENTS if issubclass(kind, MailboxWord)
}
"""Each word -> its line."""

_FIELD: Final = re.compile(r"{(\w+)[^}]*}")
"""What differs from line to line."""

_INTRODUCTION: Final = """\
# Words about mailboxes

<!-- Made by: python -m pyrepl.observability.telling > docs/mailbox-words.md -->

What a node notices of [mailboxes](mailboxes.md) has a word of its own. The log's line begins with it (`Mailboxes:
apart a: ...`), and in the [event log](event-log.md) it is the `cause` of `mailbox_noted`. Behind the word stands what
it is about: the user and the mailbox, the node, or the change. Words in bold are of the level `warning`; the others
tell what is going on. Where the last column is empty, there is nothing to do.

| word | what it means | what to do |
|---|---|---|
"""


def page() -> str:
    """The whole page, as Markdown."""
    return _INTRODUCTION + "".join(f"| {_shown(word)} | {_means(kind)} | {_to_do(kind)} |\n" for word, kind in _rows())


def _rows() -> list[tuple[str, type[MailboxWord]]]:
    return sorted(WORDS.items())


def _shown(word: str) -> str:
    return f"**`{word}`**" if WORDS[word].LEVEL is Level.WARNING else f"`{word}`"


def _means(kind: type[MailboxWord]) -> str:
    return _as_sentence(_FIELD.sub(r"*\1*", kind.meaning().replace("*", "\\*")))


def _to_do(kind: type[MailboxWord]) -> str:
    return _as_sentence(kind.TO_DO.replace("*", "\\*")) if kind.TO_DO else ""


def _as_sentence(text: str) -> str:
    """A name of the configuration stays as it is."""
    return text if text.partition(" ")[0].count(".") else text[:1].upper() + text[1:]
