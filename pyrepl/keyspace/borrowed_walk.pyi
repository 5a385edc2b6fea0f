from typing import Final, final

from pyrepl.keyspace.access import Clocks
from pyrepl.rdb.writer import RdbWriter

COMPILED: Final[bool]

@final
class BorrowedWalk:
    keys: int
    def __init__(
        self, frozen: object, writer: RdbWriter, max_bytes: int, max_keys: int, clocks: Clocks | None
    ) -> None: ...
    def block(self) -> bytes: ...
