"""The data set of a simulated node: small, and sensitive to lost, doubled and misplaced commands."""

from __future__ import annotations

import json

DATABASES = 3


class Data:
    """A few databases of counters and lists, and the database that the stream has selected."""

    def __init__(self) -> None:
        self.databases: list[dict[str, str]] = [{} for _ in range(DATABASES)]
        self.stream_db = 0

    def apply(self, argv: list[bytes]) -> None:
        """One command of the stream; KeyError or ValueError for one that cannot be."""
        name, *arguments = (word.decode() for word in argv)
        if name == "SELECT":
            self.stream_db = int(arguments[0])
        elif name not in ("MULTI", "EXEC", "PING"):
            self.execute(self.stream_db, name, arguments)

    def execute(self, db: int, name: str, arguments: list[str]) -> None:
        database = self.databases[db]
        if name == "APPEND":
            database[arguments[0]] = (database.get(arguments[0], "") + arguments[1])[-200:]
        elif name == "DEL":
            database.pop(arguments[0], None)
        else:
            raise ValueError(f"unknown command {name}")

    def dump(self, stream_db: int) -> bytes:
        """A snapshot; `stream_db` is what the stream has selected at its cut (AUX repl-stream-db)."""
        return json.dumps([self.databases, stream_db], sort_keys=True).encode()

    @classmethod
    def load(cls, snapshot: bytes) -> Data:
        data = cls()
        data.databases, data.stream_db = json.loads(snapshot)
        return data

    def clear(self) -> None:
        self.databases = [{} for _ in range(DATABASES)]
