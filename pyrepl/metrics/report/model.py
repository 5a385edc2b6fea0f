"""What a report is made of: the rows of the result tables, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, final

from pyrepl.metrics.report import words

Value: TypeAlias = str | int | float | bool | None
Row: TypeAlias = Mapping[str, Value]
"""One row under the names of its columns; None where the logs do not tell."""


@final
@dataclass(frozen=True, slots=True)
class Report:
    """The result tables by name, each in the order of results.RESULTS; `made_at_us` is Unix time."""

    tables: Mapping[str, Sequence[Row]]
    sources: tuple[str, ...]
    made_at_us: int
    version: str
    seconds: Mapping[str, float] = field(default_factory=dict)
    """How long each step of the analysis took, in the order in which they came."""
    cut: frozenset[str] = frozenset()
    """The tables that have more rows than these: only the newest, or the first, are here."""

    def rows(self, table: str) -> Sequence[Row]:
        """The rows of a table; none if it was not made."""
        return self.tables.get(table, ())

    @property
    def totals(self) -> Row:
        """The counts of the whole."""
        return next(iter(self.rows("totals")), {})

    @property
    def span_us(self) -> tuple[int, int] | None:
        """From the first event of any node to the last, Unix time; None without any."""
        firsts = [whole(row, "first_us") for row in self.rows("nodes") if row.get("first_us") is not None]
        lasts = [whole(row, "last_us") for row in self.rows("nodes") if row.get("last_us") is not None]
        return (min(firsts), max(lasts)) if firsts and lasts else None


def word(row: Row, name: str, otherwise: str = "") -> str:
    """A text, `otherwise` where the logs do not tell."""
    value = row.get(name)
    return otherwise if value is None else str(value)


def whole(row: Row, name: str) -> int:
    """A whole number, 0 where the logs do not tell."""
    value = row.get(name)
    return int(value) if isinstance(value, (int, float)) else 0


def real(row: Row, name: str) -> float | None:
    """A number, None where the logs do not tell."""
    value = row.get(name)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def moved(row: Row) -> str:
    """The snapshot bytes of a row that sums up syncs, estimated where the logs tell those of some alone."""
    estimate = real(row, "bytes_estimate")
    return words.moved(real(row, "bytes"), estimate, whole(row, "bytes_known"), whole(row, "count"))


def outage(row: Row) -> str:
    """The longest outage of a pair, and the one that goes on: `4 min 2 s`, `4 min 2 s, out for 12 s`."""
    longest, still = real(row, "longest_outage_s"), real(row, "open_outage_s")
    return words.span(longest) + (f", out for {words.span(still)}" if still else "")


def pair(row: Row) -> str:
    """A master and its replica as one name: `master → replica`."""
    return f"{word(row, 'node', '?')} → {word(row, 'replica', '?')}"


def whom(row: Row) -> str:
    """A pair where a row is about one, else its node."""
    return pair(row) if row.get("replica") else word(row, "node", "?")
