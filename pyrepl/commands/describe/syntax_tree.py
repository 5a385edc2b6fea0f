"""Parses the line that says how a command is called into the tree of arguments that COMMAND DOCS shows.

The notation of such a line:

| in a line | means |
|---|---|
| `count` | an argument; `count/string` one of another type than its name stands for |
| `NX` | a word that stands for itself, a token; anything without a lower-case letter is one |
| `""` | the empty word, a token too |
| `EX seconds`, `LIMIT (offset count)` | a token and what must follow it; `(NX) value` is a token that stands alone |
| `[a]`, `[a b]` | optional: one argument, or a block of them |
| `a | b` | one of them |
| `(a b)` | a block |
| `key...` | once or more |
| `GET pattern+...` | once or more, each time with its token |

TYPES says which type a name has. The trees are those of Redis 8.2, except for the names of blocks and choices: a line
does not show them, so they are joined from the names inside.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, final

_NAMES: Final = {
    "key": "key newkey source destination destkey sourcekey key1 key2 dst src",
    "integer": "bit client-id count cursor db decrement destination-db entries-added entries-read frequency increment"
    " index index1 index2 len limit maxage milliseconds min-match-len ms num-matches numfields numkeys numlocal"
    " numreplicas numranges offset port protover rank seconds start end stop timeout ttl weight version slot start-slot"
    " end-slot startslot endslot cluster-bus-port config-epoch",
    "double": "score min max longitude latitude radius width height",
    "unix-time": "unix-time-seconds unix-time-milliseconds",
    "pattern": "pattern",
}
TYPES: Final[dict[str, str]] = {name: kind for kind, names in _NAMES.items() for name in names.split()}
"""Name of an argument -> its type. An argument with any other name is a string."""

_PARTS: Final = re.compile(r"[\[\]()|]|\+?\.\.\.|(?:(?!\+?\.\.\.)[^\s\[\]()|])+")


class Argument(NamedTuple):
    """One argument, a node of the tree. `type` is Redis's word for it.

    `token` is the word before the argument, empty for none. Only blocks ("block") and choices ("oneof") have
    `children`.
    """

    name: str
    type: str
    token: str = ""
    children: tuple[Argument, ...] = ()
    optional: bool = False
    multiple: bool = False
    repeats_token: bool = False
    """Only for an argument that is `multiple`: the token comes before each repetition, not just before the first."""


def parse_syntax(line: str) -> tuple[Argument, ...]:
    """The arguments of a line in the notation above. Raises ValueError for a line that breaks its rules."""
    parser = _Parser(_PARTS.findall(line))
    choices = parser.choices()
    if parser.at != len(parser.parts):
        raise ValueError(f"'{parser.parts[parser.at]}' stands where nothing is open: {line}")
    return choices[0] if len(choices) == 1 else (_choice(choices),)


@final
class _Parser:
    """A parser by recursive descent. `parts` are the words and signs of a line, `at` the index of the next one."""

    def __init__(self, parts: list[str]) -> None:
        self.parts = parts
        self.at = 0

    def choices(self) -> list[tuple[Argument, ...]]:
        """The alternatives, separated by bars, up to a closing bracket or the end; just one where there is no bar."""
        found: list[tuple[Argument, ...]] = []
        items: list[Argument] = []
        while self.at < len(self.parts) and self.parts[self.at] not in ("]", ")"):
            if self.parts[self.at] == "|":
                self.at += 1
                found.append(tuple(items))
                items = []
            else:
                items.append(self._item())
        return [*found, tuple(items)]

    def _item(self) -> Argument:
        """One argument: a group, a name, or a token with the argument that belongs to it, if there is one."""
        word = self.parts[self.at]
        if word in ("[", "("):
            return self._repeated(self._group())
        self.at += 1
        if not _is_token(word):
            name, _, kind = word.partition("/")
            return self._repeated(Argument(name, kind or TYPES.get(name, "string")))
        following = self.parts[self.at] if self.at < len(self.parts) else "|"
        if following == "(" or (following not in "[])|" and not following.endswith("...") and not _is_token(following)):
            argument = self._item()
            if argument.type in ("block", "oneof"):
                argument = argument._replace(name=word.lower())
            return argument._replace(token=word)
        if word == '""':
            return Argument("empty-string", "pure-token")
        return self._repeated(Argument(word.lower(), "pure-token", word))

    def _group(self) -> Argument:
        """What stands in brackets, as one argument. Raises ValueError when the bracket is not closed."""
        opening = self.parts[self.at]
        self.at += 1
        choices = self.choices()
        if self.parts[self.at : self.at + 1] != ["]" if opening == "[" else ")"]:
            raise ValueError(f"'{opening}' is not closed")
        self.at += 1
        argument = _choice(choices) if len(choices) > 1 else _block(choices[0])
        return argument._replace(optional=True) if opening == "[" else argument

    def _repeated(self, argument: Argument) -> Argument:
        """The argument, marked as `multiple` if `...` or `+...` follows it."""
        word = self.parts[self.at] if self.at < len(self.parts) else ""
        if not word.endswith("..."):
            return argument
        self.at += 1
        return argument._replace(multiple=True, repeats_token=word.startswith("+"))


def _is_token(word: str) -> bool:
    """Does the word stand for itself, as `NX` does? A name has lower-case letters."""
    return not any(letter.islower() for letter in word)


def _choice(choices: list[tuple[Argument, ...]]) -> Argument:
    """One argument that is one of several; alternatives of several arguments become blocks."""
    children = tuple(map(_block, choices))
    return Argument(_name(children), "oneof", children=children)


def _block(items: tuple[Argument, ...]) -> Argument:
    """Several arguments as one; a single one stays as it is. Raises ValueError when there is none."""
    if not items:
        raise ValueError("nothing stands between two brackets or bars")
    return items[0] if len(items) == 1 else Argument(_name(items), "block", children=items)


def _name(children: tuple[Argument, ...]) -> str:
    return "-".join(child.name for child in children)
