"""What the rollups of many parts come to, merged, so that a run goes on from there and merges only what is new.

    halves, children   merged by least and largest (ends.py, rollup.py)
    values             added up (samples.py)
    drawn              the largest of wider spans, no wider than those of the whole (samples.py)

All of that may be merged in any order and in any steps, so that what comes out is the same with a base and without. It
is made of files that last: one that is given up takes all of its nodes out of the base that it is in (parts.py looks at
that). Where it is kept is keep.py's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

import polars as pl

from pyrepl.metrics import ends, rollup
from pyrepl.metrics.samples import added, widened, width

Unit = tuple[str, str, str]
"""A rollup's name, its file, and a node whose rows of it count."""
Frames = dict[str, pl.DataFrame]
WORTH: Final = 4
"""A base is written anew when a quarter of its rows came in addition."""
MANY: Final = 64
"""So many files take longer to open than what is in them to read."""


@dataclass(frozen=True, slots=True)
class Base:
    """Tables by the names of tables.ROLLUPS, and the files whose rows they are made of."""

    made_of: frozenset[Unit] = frozenset()
    tables: Frames = field(default_factory=dict)

    @property
    def files(self) -> int:
        """How many it is made of."""
        return len({path for _, path, _ in self.made_of})

    def within(self, wanted: frozenset[Unit]) -> Base:
        """What is left of it without the nodes of which it has what is not wanted any more."""
        gone = {node for _, _, node in self.made_of - wanted}
        if not gone:
            return self
        made_of = frozenset(unit for unit in self.made_of if unit[2] not in gone)
        return Base(made_of, {name: rows.filter(~pl.col("node").is_in(gone)) for name, rows in self.tables.items()})

    @property
    def rows(self) -> int:
        """Of all tables."""
        return sum(map(len, self.tables.values()))


def merged(found: Mapping[str, Sequence[pl.DataFrame]]) -> Frames:
    """Rows of several parts as those of one."""
    return {name: _MERGES[name](pl.concat(rows)) for name, rows in found.items()}


def added_to(base: Base, made_of: frozenset[Unit], more: Mapping[str, Sequence[pl.DataFrame]]) -> Base:
    """The base with rows of more parts."""
    tables = dict(base.tables)
    for name, rows in more.items():
        old = tables.get(name)
        tables[name] = merged({name: rows})[name] if old is None else _joined(name, old, pl.concat(rows))
    return Base(made_of, tables)


def _joined(name: str, old: pl.DataFrame, more: pl.DataFrame) -> pl.DataFrame:
    """Of syncs there are many, and the new lines are of few of them."""
    if name != "halves":
        return _MERGES[name](pl.concat([old, more]))
    near = pl.col("sync").is_in(more["sync"].unique().implode())
    return pl.concat([old.filter(~near), ends.merged(pl.concat([old.filter(near), more]))])


def is_worth_it(old: Base, renewed: Base) -> bool:
    """Has so much come in addition that it is to be written again?"""
    return (
        renewed.files - old.files >= MANY
        or renewed.rows - old.rows > old.rows // WORTH
        or (bool(renewed.made_of) and not old.made_of)
    )


def _drawn(rows: pl.DataFrame) -> pl.DataFrame:
    if rows.is_empty():
        return rows
    first, last = (cast(int, bound) for bound in (rows["at_us"].min(), rows["at_us"].max()))
    return widened(rows, width(first, last))


_MERGES: Final = {"halves": ends.merged, "children": rollup.merged_children, "values": added, "drawn": _drawn}
