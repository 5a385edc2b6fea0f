"""What may be given as a log: a file, a folder, a pattern of such, as a path or as a file: URL.

    logs/redis-*.log   logs/**/*.log   logs/node-[0-9]/   logs/{a,b}.log   file:///logs/redis.log

Patterns are the shell's and Spark's: what a shell has left of them, as it was quoted or the files come later, is
resolved here. A name that is there is never taken for a pattern. What is elsewhere (hdfs:, s3a:) is copied here before
(analysis/fetch.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from glob import glob
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote

_URL: Final = re.compile(r"file:(?://(?:localhost)?(?=/))?(/.*)")
_ELSEWHERE: Final = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]+:/")
_PATTERN: Final = re.compile(r"[*?\[{]")
_CHOICE: Final = re.compile(r"\{([^{}]*)\}")


class Place(NamedTuple):
    """Files and folders that are there, and the folder from which their nodes are named."""

    paths: list[Path]
    root: Path


def place(log: str | Path) -> Place:
    """What is there of a log; of a pattern without a match nothing."""
    text = _path(str(log))
    path = Path(text).absolute()
    if path.exists() or not has_pattern(text):
        return Place([path] if path.exists() else [], path if path.is_dir() else path.parent)
    found = {Path(name).absolute() for one in _choices(str(path)) for name in glob(one, recursive=True)}
    return Place(sorted(found), _fixed(path))


def why_absent(log: str) -> str:
    """Why there is nothing of a log, without its name; empty if there is something."""
    if place(log).paths:
        return ""
    return "no file matches" if has_pattern(log) else "no such file or folder"


def is_elsewhere(log: str) -> bool:
    """Is it a URL of something that is no file of this machine (s3a://bucket/logs)?"""
    return _ELSEWHERE.match(log) is not None and not Path(log).exists()


def has_pattern(log: str) -> bool:
    """Would it be taken for a pattern if nothing had that name?"""
    return _PATTERN.search(log) is not None


def _path(log: str) -> str:
    """Of a file: URL its path; what is written as %20 there is meant so unless a file is called that."""
    match = _URL.fullmatch(log)
    if match is None or Path(log).exists():
        return log
    return match[1] if Path(match[1]).exists() else unquote(match[1])


def _choices(pattern: str) -> Iterator[str]:
    """a{b,c} as ab and ac."""
    match = _CHOICE.search(pattern)
    if match is None:
        yield pattern
        return
    for one in match[1].split(","):
        yield from _choices(pattern[: match.start()] + one + pattern[match.end() :])


def _fixed(pattern: Path) -> Path:
    """The deepest folder above all that matches, now or later."""
    names = [*pattern.parts]
    while any(map(has_pattern, names)):
        names.pop()
    return Path(*names)
