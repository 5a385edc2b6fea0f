"""What a command function gets as its first argument, and the replies that the process outside owes.

Commands are pure: they read and change the node's state and return a reply. What needs the world outside (a file, a
connection, time) is returned as an Effect (see `effect`), which the daemon performs; its reply is the daemon's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Protocol, TypeVar, final

if TYPE_CHECKING:
    from pyrepl.keyspace.database import Database, Keyspace
    from pyrepl.node.client import Client
    from pyrepl.node.node import Node
    from pyrepl.resp.reply import Reply

V = TypeVar("V")


class RandomSource(Protocol):
    """Randomness, handed in: `below(n)` is uniform in [0, n), n >= 1."""

    def below(self, n: int) -> int: ...


class Runner(ABC):
    """What executes commands, for calls that run others (`nested`). A base class and not a Protocol, as compiled code
    calls the methods of a base class directly, and looks those of a Protocol up by name each time."""

    __slots__ = ()

    @abstractmethod
    def run_nested(self, call: Call, argv: list[bytes], raw: bytes) -> Reply: ...

    @abstractmethod
    def end_unit(self, outer: Call, unit: list[tuple[int, bytes]]) -> None: ...


@final
class Call:
    """One execution of one command.

    `db` is the database the client has selected. `now_ms` is the Unix time of this batch; it does not move within it.
    `propagated`: None means the command's own bytes go to the replicas when it changed something; a list replaces
    them (see `rewrite`), and an empty list means that nothing goes.
    `unit`: None, but in a call inside another, where it collects what is propagated, (database, bytes of one command).
    """

    __slots__ = ("argv", "client", "db", "keyspace", "node", "now_ms", "propagated", "random", "runner", "unit")

    def __init__(self, node: Node, client: Client, random: RandomSource, runner: Runner) -> None:
        self.node = node
        self.client = client
        self.keyspace: Keyspace = node.keyspace
        self.db: Database = node.keyspace.databases[client.db_index]
        self.now_ms: int = 0
        self.random = random
        self.argv: list[bytes] = []
        self.propagated: list[list[bytes]] | None = None
        self.runner = runner
        self.unit: list[tuple[int, bytes]] | None = None

    @property
    def is_nested(self) -> bool:
        """Does it run inside another (EXEC)? Then nothing may wait."""
        return self.unit is not None

    def nested(self) -> Call:
        """A call for commands that run inside this one, with a unit of its own; by way of `nested.Nested`."""
        inner = Call(self.node, self.client, self.random, self.runner)
        inner.db = self.db
        inner.now_ms = self.now_ms
        inner.unit = []
        return inner

    def rewrite(self, *argv: bytes) -> None:
        """Propagate this command in place of the one the client sent; several calls propagate several, in order."""
        self.rewrite_as(list(argv))

    def rewrite_as(self, argv: list[bytes]) -> None:
        """As `rewrite`, taking over the list of words."""
        if self.propagated is None:
            self.propagated = [argv]
        else:
            self.propagated.append(argv)

    def propagate_nothing(self) -> None:
        """Though something changed, nothing of it concerns the replicas."""
        self.propagated = []
