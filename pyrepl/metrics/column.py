"""What a table and a column of the metrics are: plain records, free of Spark and of Arrow.

The tables themselves are in tables.py and results.py; their Arrow and Spark schemas are made in schemas.py.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

UNIX_US: Final = "Unix us"
"""The unit of points in time, which Parquet has as timestamps."""


class Kind(enum.StrEnum):
    """What a column holds. The value is Spark's name of the type."""

    TEXT = "string"
    COUNT = "bigint"
    NUMBER = "double"
    FLAG = "boolean"


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `unit` is empty for words and flags, `rule` says exactly what stands in it and when it is null."""

    name: str
    kind: Kind
    unit: str
    rule: str


@dataclass(frozen=True, slots=True)
class Table:
    """One table: `grain` says what a row is. `days` tells that it is partitioned by `day` and `node`."""

    name: str
    grain: str
    columns: tuple[Column, ...]
    days: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its columns, in order."""
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Column:
        """The column of that name. Raises KeyError."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(f"{self.name} has no column {name}")


def types(table: Table) -> dict[str, str]:
    """The type of each column, in SQL."""
    return {column.name: str(column.kind) for column in table.columns}


def text(name: str, rule: str) -> Column:
    """A column of words."""
    return Column(name, Kind.TEXT, "", rule)


def flag(name: str, rule: str) -> Column:
    """A column of true and false."""
    return Column(name, Kind.FLAG, "", rule)


def count(name: str, unit: str, rule: str) -> Column:
    """A column of whole numbers."""
    return Column(name, Kind.COUNT, unit, rule)


def moment(name: str, rule: str) -> Column:
    """A column of points in time: Unix time in microseconds, a timestamp in Parquet."""
    return Column(name, Kind.COUNT, UNIX_US, rule)


def number(name: str, unit: str, rule: str) -> Column:
    """A column of fractions."""
    return Column(name, Kind.NUMBER, unit, rule)
