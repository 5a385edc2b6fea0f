from typing import Final, final

from pyrepl.rdb.events import Noted

COMPILED: Final[bool]

@final
class Bulk:
    position: int
    keys: int
    def __init__(
        self, classes: dict[int, type[bytes]], max_string_bytes: int, reads_ms: bool, reads_clocks: bool
    ) -> None: ...
    def foresee(self, table: dict[bytes, bytes], count: int) -> None: ...
    def run(
        self,
        buf: bytes,
        start: int,
        values: dict[bytes, bytes],
        also: dict[bytes, object],
        noted: Noted,
    ) -> None: ...
