"""What the files of an append-only file are called (Redis 7.0, `makeNewBase`, `makeNewIncr`); contents: manifest.py."""

from __future__ import annotations

from typing import Final, final

PLACE_SUFFIX: Final = ".stream"


@final
class Names:
    """The names for one `appendfilename`; sequence numbers count from 1."""

    __slots__ = ("stem",)

    def __init__(self, stem: str) -> None:
        assert stem
        self.stem = stem

    @property
    def manifest(self) -> str:
        return f"{self.stem}.manifest"

    @property
    def fresh_manifest(self) -> str:
        """Where a manifest is written before it takes its name."""
        return f"temp-{self.stem}.manifest"

    def base(self, seq: int) -> str:
        """A base that begins with a snapshot."""
        return f"{self.stem}.{seq}.base.rdb"

    def incr(self, seq: int) -> str:
        return f"{self.stem}.{seq}.incr.aof"

    def place(self, seq: int) -> str:
        """Where the incr of that number stands in the replication stream (place.py)."""
        return f"{self.stem}.{seq}{PLACE_SUFFIX}"
