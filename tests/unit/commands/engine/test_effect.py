"""What all effects have in common."""

from __future__ import annotations

import enum

from pyrepl.commands.engine import effects
from pyrepl.commands.engine.effect import Effect


def test_every_record_of_effects_is_one() -> None:
    kinds = [row for row in vars(effects).values() if isinstance(row, type) and row.__module__ == effects.__name__]
    records = [kind for kind in kinds if not issubclass(kind, enum.Enum)]
    assert len(records) > 20
    assert [record.__name__ for record in records if not issubclass(record, Effect)] == []
