"""What all effects have in common."""

from __future__ import annotations

from pyrepl.commands import effects
from pyrepl.commands.effect import Effect


def test_every_record_of_effects_is_one() -> None:
    records = [row for row in vars(effects).values() if isinstance(row, type) and hasattr(row, "__dataclass_fields__")]
    assert len(records) > 20
    assert [record.__name__ for record in records if not issubclass(record, Effect)] == []
