from typing import Final, final

from pyrepl.rdb.writer import RdbWriter
from pyrepl.store.plain import PlainStore

COMPILED: Final[bool]

@final
class BorrowedWalk:
    keys: int
    def __init__(self, store: PlainStore, writer: RdbWriter, max_bytes: int, max_keys: int) -> None: ...
    def block(self) -> bytes: ...
