"""What is asked for, and how long it took to find out.

No Spark here, and nothing else that takes long to be imported: where nothing is new, no more than this is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from pyrepl.metrics.places import place


@final
@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for. `tables` is the folder of the canonical tables, which a later run goes on with.

    `since_us` and `until_us` bound what is told, Unix us, the first inclusive, the last not. `zone` is that of text
    logs' times.
    """

    logs: tuple[str, ...]
    tables: Path
    since_us: int | None = None
    until_us: int | None = None
    zone: str = "UTC"

    @property
    def answers(self) -> Path:
        """Where what tasks have answered stands, a folder a table."""
        return place(self.tables, (self.since_us, self.until_us))


@final
@dataclass(slots=True)
class Steps:
    """How long each step took. `tell` is called as one begins; `now` gives seconds that do not go back."""

    tell: Callable[[str], None]
    now: Callable[[], float]
    seconds: dict[str, float] = field(default_factory=dict)
    _name: str = ""
    _since: float = 0.0

    def begin(self, name: str) -> None:
        """The step before has ended."""
        self.end()
        self._name, self._since = name, self.now()
        self.tell(name)

    def end(self) -> None:
        """The last step has ended."""
        if self._name:
            self.seconds[self._name] = self.seconds.get(self._name, 0.0) + self.now() - self._since
        self._name = ""
