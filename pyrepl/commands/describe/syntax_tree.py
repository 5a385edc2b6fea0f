"""How a command is called, written as a line, and the tree of arguments that COMMAND DOCS makes of it.

| in a line | means |
|---|---|
| `count` | an argument; `count/string` one of another type than its name stands for |
| `NX` | a word that stands for itself, a token; anything without a lower-case letter is one |
| `EX seconds`, `LIMIT (offset count)` | a token and what must follow it; `(NX) value` is a token that stands alone |
| `[a]`, `[a b]` | optional: one argument, or a block of them |
| `a | b` | one of them |
| `(a b)` | a block |
| `key...` | once or more |
| `GET pattern+...` | once or more, each time with its token |

Which type a name has stands in TYPES. The trees are those of Redis 8.2, but for names of blocks and choices, which no
usage line shows: they are made of what is inside.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, final

_NAMES: Final = {
    "key": "key newkey source destination destkey key1 key2 dst src",
    "integer": "bit client-id count cursor db decrement destination-db entries-added entries-read frequency increment"
    " index index1 index2 len limit maxage milliseconds min-match-len ms num-matches numfields numkeys numlocal"
    " numreplicas offset port protover rank seconds start end stop timeout ttl weight",
    "double": "score min max",
    "unix-time": "unix-time-seconds unix-time-milliseconds",
    "pattern": "pattern",
}
TYPES: Final[dict[str, str]] = {name: kind for kind, names in _NAMES.items() for name in names.split()}
"""Name -> type; any other name is a string's."""

_PARTS: Final = re.compile(r"[\[\]()|]|\+?\.\.\.|(?:(?!\+?\.\.\.)[^\s\[\]()|])+")


class Argument(NamedTuple):
    """One node of a tree. `type` is Redis's word; blocks ("block") and choices ("oneof") have `children`."""

    name: str
    type: str
    token: str = ""
    children: tuple[Argument, ...] = ()
    optional: bool = False
    multiple: bool = False
    repeats_token: bool = False
    """Of a multiple one: the token comes each time."""


def parse_syntax(line: str) -> tuple[Argument, ...]:
    """The arguments of a line, as the table above has it. Raises ValueError for a line that is not of that kind."""
    parser = _Parser(_PARTS.findall(line))
    choices = parser.choices()
    if parser.at != len(parser.parts):
        raise ValueError(f"'{parser.parts[parser.at]}' stands where nothing is open: {line}")
    return choices[0] if len(choices) == 1 else (_choice(choices),)


@final
class _Parser:
    """Reads parts from `at` on."""

    def __init__(self, parts: list[str]) -> None:
        self.parts = parts
        self.at = 0

    def choices(self) -> list[tuple[Argument, ...]]:
        """What stands between bars, up to a closing bracket or the end."""
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
        return self._repeated(Argument(word.lower(), "pure-token", word))

    def _group(self) -> Argument:
        opening = self.parts[self.at]
        self.at += 1
        choices = self.choices()
        if self.parts[self.at : self.at + 1] != ["]" if opening == "[" else ")"]:
            raise ValueError(f"'{opening}' is not closed")
        self.at += 1
        argument = _choice(choices) if len(choices) > 1 else _block(choices[0])
        return argument._replace(optional=True) if opening == "[" else argument

    def _repeated(self, argument: Argument) -> Argument:
        word = self.parts[self.at] if self.at < len(self.parts) else ""
        if not word.endswith("..."):
            return argument
        self.at += 1
        return argument._replace(multiple=True, repeats_token=word.startswith("+"))


def _is_token(word: str) -> bool:
    return not any(letter.islower() for letter in word)


def _choice(choices: list[tuple[Argument, ...]]) -> Argument:
    children = tuple(map(_block, choices))
    return Argument(_name(children), "oneof", children=children)


def _block(items: tuple[Argument, ...]) -> Argument:
    if not items:
        raise ValueError("nothing stands between two brackets or bars")
    return items[0] if len(items) == 1 else Argument(_name(items), "block", children=items)


def _name(children: tuple[Argument, ...]) -> str:
    return "-".join(child.name for child in children)
