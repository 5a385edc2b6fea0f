"""The fenced blocks of a page, and what the comment above each says of it.

A block of commands (`sh`, or `console`: commands behind `$`, and what they print) has one of these above it:

    <!-- run -->                  run it to its end
    <!-- run: serves 6379 -->     run it until the page ends; ready when these ports answer, a replica with its link up
    <!-- run: stays -->           the same, without a port to ask
    <!-- not run: WHY -->         it needs what a test has not
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[2]
SHELL: Final = frozenset({"sh", "console"})
OTHERS: Final = frozenset({"conf", "json", "mermaid", "python", "text", "yaml"})
"""Of blocks that hold no commands."""

_COMMENT: Final = re.compile(r"<!-- (run|not run)(?:: (.+))? -->")
_FENCE: Final = re.compile(r"```(\w*)")


class Block(NamedTuple):
    """`mark` is run, "not run" or empty; `said` is what stands behind its colon; `line` counts from 1."""

    language: str
    mark: str
    said: str
    text: str
    line: int

    @property
    def ports(self) -> list[int]:
        """That answer when the block is ready."""
        return [int(word) for word in self.said.split()[1:]] if self.said.startswith("serves ") else []

    @property
    def goes_on(self) -> bool:
        """Is it not awaited?"""
        return self.said == "stays" or bool(self.ports)

    def why_wrong(self) -> str | None:
        """What the page has to say of this block and does not; None: nothing."""
        if self.language not in SHELL | OTHERS:
            return f"line {self.line}: a block of {self.language or 'no language'}; there are {sorted(SHELL | OTHERS)}"
        if self.language in OTHERS:
            return None
        if self.mark == "not run":
            return None if self.said else f"line {self.line}: why is it not run?"
        if self.mark != "run":
            return f"line {self.line}: commands that are neither run nor said why not"
        return None if not self.said or self.goes_on else f"line {self.line}: unknown: run: {self.said}"


def pages() -> list[str]:
    """All pages that people read, as paths from the repository's root."""
    return ["README.md", "CONTRIBUTING.md", "SECURITY.md", *_docs()]


def _docs() -> Iterator[str]:
    return (str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md")))


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page, in their order."""
    found = []
    above, opened, start, inside = "", "", 0, list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        if start and line == "```":
            comment = _COMMENT.fullmatch(above)
            mark, said = (comment[1], comment[2] or "") if comment else ("", "")
            found.append(Block(opened, mark, said, "\n".join(inside), start))
            start, above = 0, ""
        elif start:
            inside.append(line)
        elif fence := _FENCE.fullmatch(line):
            opened, start, inside = fence[1], number, []
        else:
            above = line
    assert not start, f"the block of line {start} has no end"
    return found


def indented(text: str) -> list[int]:
    """Lines that Markdown takes for a block though no fence is around them, which nothing here would see."""
    outside = re.sub(r"^```.*?^```$", lambda block: "\n" * block[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE)
    lines = ["", *outside.splitlines()]
    return [at for at in range(1, len(lines)) if lines[at].startswith("    ") and not lines[at - 1].strip()]
