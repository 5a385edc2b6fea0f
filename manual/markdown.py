"""Pieces of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

_CODE: Final = re.compile(r"(`[^`\n]+`)")
"""Code within a sentence."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with these columns; what would end a cell is escaped, which within code it does not."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(_cell(cell) for cell in line)} |\n" for line in lines)


def code(text: str) -> str:
    """`text` as code within a sentence; nothing for nothing."""
    return f"`{text}`" if text else ""


def of_site(text: str) -> str:
    """`text` for MkDocs, which ends no cell of a table within code, while GitHub does unless it is escaped."""
    return _CODE.sub(lambda found: found[0].replace("\\|", "|"), text)


def _cell(text: str) -> str:
    parts = _CODE.split(text.replace("\n", " "))
    return "".join(part if at % 2 else part.replace("|", "\\|") for at, part in enumerate(parts))
