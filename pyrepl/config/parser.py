"""Splits a configuration into lines of words: the text of a redis.conf, the files it includes, and the arguments
`--directive value` of a command line.

What the lines mean is decided in loading.py. Files are opened by a reader that the caller hands in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from pyrepl.config.directives import find
from pyrepl.errors import ConfigError
from pyrepl.words import from_text, quote_word, split_words, to_text

Reader: TypeAlias = Callable[[str], Sequence[tuple[str, bytes]]]
"""For the argument of an `include` (a path or a glob): (path, content) of each file meant. May raise OSError."""

COMMAND_LINE: Final = "command line"
_MAX_INCLUDE_DEPTH: Final = 16


class Line(NamedTuple):
    """One directive with its words, and where it stands."""

    source: str
    """Path of the file, or COMMAND_LINE."""
    number: int
    """The line's number in its file, from 1; 0 on the command line."""
    name: str
    """The directive's name as it was written, in lower case."""
    words: list[bytes]

    @property
    def where(self) -> str:
        return f"{self.source}, line {self.number}" if self.number else f"{self.source}, --{self.name}"


def split_line(text: bytes, source: str, number: int) -> Line | None:
    """One line of a file; None for a blank line or a comment. Raises ConfigError for unbalanced quotes."""
    stripped = text.strip(b" \t\r\n\0")
    if not stripped or stripped.startswith(b"#"):
        return None
    words = split_words(stripped)
    if words is None:
        # The text may hold a secret, so the error does not repeat it.
        raise ConfigError(f"{source}, line {number}: unbalanced quotes")
    if not words:
        return None
    return Line(source, number, to_text(words[0]).lower(), words[1:])


def read_file(content: bytes, source: str, read: Reader, depth: int = 0) -> Iterator[Line]:
    """The lines of a configuration, those of included files in their place.

    Raises ConfigError for unbalanced quotes, and for an include that cannot be read or goes round in circles.
    """
    for number, text in enumerate(content.split(b"\n"), start=1):
        line = split_line(text, source, number)
        if line is None:
            continue
        if line.name == "include":
            yield from _read_include(line, read, depth)
        else:
            yield line


def _read_include(line: Line, read: Reader, depth: int) -> Iterator[Line]:
    if len(line.words) != 1:
        raise ConfigError(f"{line.where}: include: wrong number of arguments")
    if depth >= _MAX_INCLUDE_DEPTH:
        raise ConfigError(f"{line.where}: include: more than {_MAX_INCLUDE_DEPTH} files deep; does it include itself?")
    path = to_text(line.words[0])
    try:
        files = read(path)
    except OSError as error:
        raise ConfigError(f"{line.where}: include: cannot read {path}: {error.strerror or error}") from error
    for source, content in files:
        yield from read_file(content, source, read, depth + 1)


def read_argv(argv: Sequence[bytes], read: Reader) -> Iterator[Line]:
    """The lines that `--directive value [value ...]` arguments mean, as redis-server takes them.

    A word after a directive belongs to it, unless the word is `--` followed by a directive's name; so `--save ""` and
    `--masterauth --secret` work. The file of `--include file` is read in its place.
    Raises ConfigError for a word that belongs to no directive, and what read_file raises.
    """
    for line in _split_argv(argv):
        if line.name == "include":
            yield from _read_include(line, read, 0)
        else:
            yield line


def _split_argv(argv: Sequence[bytes]) -> list[Line]:
    lines: list[Line] = []
    for argument in argv:
        if argument.startswith(b"--") and (not lines or lines[-1].words or _names_a_directive(argument)):
            # Redis also takes name and value as one argument: "--port 6380".
            head = split_words(argument[2:]) or [argument[2:]]
            lines.append(Line(COMMAND_LINE, 0, to_text(head[0]).lower(), head[1:]))
        elif lines:
            lines[-1].words.append(argument)
        else:
            raise ConfigError(f"{COMMAND_LINE}: expected --directive, got '{to_text(argument)}'")
    return lines


def _names_a_directive(argument: bytes) -> bool:
    name = to_text(argument[2:].split(b" ")[0]).lower()
    return name == "include" or find(name) is not None


def join_line(name: str, words: Sequence[bytes]) -> bytes:
    """A line that split_line reads back, quoted where it must be."""
    return b" ".join((from_text(name), *(_quoted(word) for word in words)))


def _quoted(word: bytes) -> bytes:
    plain = word and all(0x21 <= byte < 0x7F and byte not in b"\"'\\#" for byte in word)
    return word if plain else quote_word(word)
