"""What is asked of an analysis."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Asked:
    """Which logs, of which time, by whom. Times are Unix us, None where there is no bound."""

    logs: tuple[str, ...]
    out: Path | None = None
    """The folder for all of it; None: nothing is kept."""
    master: str = ""
    """Spark to run on; empty: what the user has told Spark in another way, else this machine."""
    conf: tuple[str, ...] = ()
    """Settings of Spark's, `name=value`."""
    packages: str = ""
    """Maven coordinates of packages that Spark is to load, separated by commas."""
    since_us: int | None = None
    until_us: int | None = None
    zone: str = "UTC"
    """Of text logs, which do not tell theirs."""
    every_s: float = 10.0
    """Of one that follows the logs: it looks for new lines so often."""
    late_s: float = 60.0
    """And lines may come so late."""
    delta: bool = False
    """Are the result tables to be tables of Delta Lake too?"""
    sql: tuple[str, ...] = ()
    """Statements to be asked of the result tables."""
