"""The names of captured files: which tokens each holds, and what a folder of them has so far. Pure.

    keys-000000000000000502112480-000000000000000517412480-8371445e....jsonl    the rows behind the first token, up to
                                                 and with the second
    .keys-000000000000000517412480.jsonl.part    being written; worth nothing until it is renamed
    .keys.token                                  how far we have come since, where no rows were (a TokenFile)
    .keys.lock                                   locked by the process that writes here

Tokens have 24 digits, so that names sort as tokens do. Behind them stands the replid under which the last one is
valid, if the node has said one. Names with a dot in front are read neither by Spark nor by DuckDB nor by `ls *`.

A file is renamed when it is whole and on disk, so the names alone say what there is, whenever we were killed; and each
file begins where the one before ends, so they show that nothing is missing either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Final, NamedTuple, final

from pyrepl.changes.place import Place
from pyrepl.changes.tokens import MAX_TOKEN_DIGITS

DIGITS: Final = MAX_TOKEN_DIGITS
_FINISHED: Final = re.compile(
    rf"(?P<stream>[^.].*)-(?P<after>\d{{{DIGITS}}})-(?P<last>\d{{{DIGITS}}})(?:-(?P<history>[^-.]+))?\.(?:jsonl|parquet)",
    re.ASCII,
)
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]")


class Span(NamedTuple):
    """A finished file: the rows whose token is above `after`, up to and with `last`."""

    name: str
    after: int
    last: int
    history: str

    @property
    def place(self) -> Place:
        """Where its end lies."""
        return Place(self.last, self.history)


@final
class FolderError(Exception):
    """The files in a folder cannot be what we wrote, or somebody else writes there; the text says what to do."""


def safe(word: str) -> str:
    """A stream's name as part of a file's name."""
    return _UNSAFE.sub(lambda match: f"%{ord(match[0]):02x}", word)


def finished_name(stream: str, after: int, end: Place, suffix: str) -> str:
    """The name of a whole file."""
    assert end.token is not None and 0 <= after < end.token
    history = f"-{end.history}" if end.history.isalnum() else ""
    return f"{safe(stream)}-{after:0{DIGITS}d}-{end.token:0{DIGITS}d}{history}.{suffix}"


def part_name(stream: str, after: int, suffix: str) -> str:
    """The name while it is written."""
    return f".{safe(stream)}-{after:0{DIGITS}d}.{suffix}.part"


def is_part(name: str, stream: str) -> bool:
    """Was this file of the stream being written?"""
    return re.fullmatch(rf"\.{re.escape(safe(stream))}-\d{{{DIGITS}}}\.(jsonl|parquet)\.part", name) is not None


def token_name(stream: str) -> str:
    """The name of the file that holds our place."""
    return f".{safe(stream)}.token"


def lock_name(stream: str) -> str:
    """The name of the file that a writer locks."""
    return f".{safe(stream)}.lock"


def finished(names: Iterable[str], stream: str) -> list[Span]:
    """The whole files of a stream, by token.

    Raises FolderError when two hold the same tokens, which no run of ours makes.
    """
    matches = [match for match in map(_FINISHED.fullmatch, names) if match and match["stream"] == safe(stream)]
    spans = [Span(match[0], int(match["after"]), int(match["last"]), match["history"] or "") for match in matches]
    spans.sort(key=lambda span: (span.after, span.last))
    for before, span in pairwise(spans):
        if span.after < before.last:
            raise FolderError(
                f"{before.name} and {span.name} hold the same tokens: they are of two captures. "
                "Give each a folder of its own"
            )
    return spans


def place_of(spans: list[Span], saved: Place | None) -> Place | None:
    """Where to go on: behind the last file, or where nothing had come since; None in a new folder."""
    if not spans:
        return saved
    end = spans[-1].place
    if saved is not None and saved.token is not None and end.token is not None and saved.token > end.token:
        return saved
    return end
