from typing import Any, Final, TypeVar, final

from pyrepl.keyspace.database import Database
from pyrepl.rdb.writer import RdbWriter

Key = TypeVar("Key")

COMPILED: Final[bool]

@final
class BorrowedWalk:
    keys: int
    def __init__(self, db: Database, writer: RdbWriter, max_bytes: int, max_keys: int) -> None: ...
    def block(self) -> bytes: ...

def some_keys(source: dict[Key, Any], place: int, last: object, count: int) -> tuple[list[Key], int]: ...
