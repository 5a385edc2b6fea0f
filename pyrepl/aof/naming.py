"""What the files of an append-only file are called (Redis 7.0, `makeNewBase`, `makeNewIncr`); contents: manifest.py."""

from __future__ import annotations

import re
from typing import Final, final

from pyrepl.aof.manifest import Manifest

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

    def base(self, seq: int, *, preamble: bool = True) -> str:
        """A base that begins with a snapshot; without `preamble` (aof-use-rdb-preamble no) one of commands alone."""
        return f"{self.stem}.{seq}.base.{'rdb' if preamble else 'aof'}"

    def incr(self, seq: int) -> str:
        return f"{self.stem}.{seq}.incr.aof"

    def place(self, seq: int) -> str:
        """Where the incr of that number stands in the replication stream (place.py)."""
        return f"{self.stem}.{seq}{PLACE_SUFFIX}"

    def is_in_the_making(self, name: str, manifest: Manifest) -> bool:
        """Is `name`, which `manifest` does not have, that of a file begun and never finished: of the next base or
        incr, of a place, of the text of a manifest or place?"""
        stem = re.escape(self.stem)
        if re.fullmatch(rf"temp-{stem}\.(manifest|[0-9]+\{PLACE_SUFFIX})|{stem}\.[0-9]+\{PLACE_SUFFIX}", name):
            return True
        found = re.fullmatch(rf"{stem}\.([0-9]+)\.(?:(base)\.(?:rdb|aof)|incr\.aof)", name)
        if found is None:
            return False
        return int(found[1]) >= (manifest.next_base_seq if found[2] else manifest.next_incr_seq)
