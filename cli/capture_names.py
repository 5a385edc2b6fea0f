"""The names of captured files: which tokens each holds, and what a folder of them has so far. Pure.

    keys-00000000000000005021-00000000000000005174.jsonl     rows with 5021 < token <= 5174
    .keys-00000000000000005174.jsonl.part                    being written; worth nothing until it is renamed
    .keys.token                                              how far we have come where no rows were (TokenFile)
    .keys.lock                                               held by the process that writes here

Tokens have twenty digits, so that names sort as tokens do. Names with a point in front are not read by Spark, DuckDB or
`ls`. A file is renamed when it is whole and on disk, so the names alone say what there is: nothing is counted twice,
whenever we are killed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Final, NamedTuple, final

DIGITS: Final = 20
_FINISHED: Final = re.compile(r"(?P<stream>[^.].*)-(?P<first>\d{20})-(?P<last>\d{20})\.(?P<suffix>jsonl|parquet)")
_SAFE: Final = re.compile(r"[^A-Za-z0-9_-]")


class Span(NamedTuple):
    """A finished file: the rows whose token is above `after`, up to and with `last`."""

    name: str
    after: int
    last: int


@final
class FolderError(Exception):
    """The files in a folder cannot be what we wrote; the text says which, and what to do."""


def safe(stream: str) -> str:
    """A stream's name as part of a file's name."""
    return _SAFE.sub(lambda match: f"%{ord(match[0]):02x}", stream)


def finished_name(stream: str, after: int, last: int, suffix: str) -> str:
    """The name of a whole file."""
    assert 0 <= after < last
    return f"{safe(stream)}-{after:0{DIGITS}d}-{last:0{DIGITS}d}.{suffix}"


def part_name(stream: str, after: int, suffix: str) -> str:
    """The name while it is written."""
    return f".{safe(stream)}-{after:0{DIGITS}d}.{suffix}.part"


def is_part(name: str, stream: str) -> bool:
    """Is it a file of this stream that somebody was writing?"""
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
    matches = filter(None, map(_FINISHED.fullmatch, names))
    ours = [match for match in matches if match["stream"] == safe(stream)]
    spans = [Span(match[0], int(match["first"]), int(match["last"])) for match in ours]
    spans.sort(key=lambda span: span[1:])
    for before, span in pairwise(spans):
        if span.after < before.last:
            raise FolderError(
                f"{before.name} and {span.name} overlap: they are of two captures. "
                "Give each a folder of its own, or move one away."
            )
    return spans
