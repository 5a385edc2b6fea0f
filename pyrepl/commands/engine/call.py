"""The Call: the first argument of each command function, with all that a command may read and change.

Commands are pure: they read and change the node's state and return a reply. A command that needs a file, a connection
or time to pass returns an Effect (see `effect`) in place of the reply; the daemon performs it and gives the reply.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, final

if TYPE_CHECKING:
    from pyrepl.keyspace.database import Database, Keyspace
    from pyrepl.node.client import Client
    from pyrepl.node.node import Node
    from pyrepl.resp.reply import Reply

V = TypeVar("V")


class RandomSource(Protocol):
    """The source of randomness for commands."""

    def below(self, n: int) -> int:
        """Uniform in [0, n), n >= 1."""


class Runner(ABC):
    """The part of the dispatcher that commands need to run other commands (`nested`). A base class and not a Protocol,
    as compiled code calls the methods of a base class directly, but looks those of a Protocol up by name each time."""

    __slots__ = ()

    @abstractmethod
    def run_nested(self, call: Call, argv: list[bytes], raw: bytes) -> Reply:
        """Execute one command inside another; `call` comes from `Call.nested`."""

    @abstractmethod
    def find_entry(self, argv: list[bytes]) -> Any:
        """The `Entry`, which this module cannot name, of the command or subcommand that `argv` names, whatever its
        number of words; None if there is none. Of a container that is named alone, its own."""

    @abstractmethod
    def run_entry(self, call: Call, entry: Any, argv: list[bytes], raw: bytes) -> Reply:
        """As `run_nested`, for a command that was found before, and whose number of words fits."""

    @abstractmethod
    def end_unit(self, outer: Call, unit: list[tuple[int, bytes]]) -> None:
        """The commands inside `outer` are over: propagate their `unit`."""


@final
class Call:
    """One execution of one command. All commands of a client share one object, one after the other.

    `db` is the database that the client has selected. `now_ms` is the Unix time of this batch; it stays the same within
    the batch. `propagated`: None means that the command's own bytes go to the replicas if it changed something; a list
    of commands replaces these bytes (see `rewrite`), and an empty list means that nothing goes to the replicas.
    `unit` is None, except in a call inside another one: there it collects the commands to propagate, each as
    (database, bytes).
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
        """Does the command run inside another one (EXEC)? Then it must not wait."""
        return self.unit is not None

    @property
    def may_wait(self) -> bool:
        """May the command hold its client until there is something at its keys? Not inside another command, and not in
        our master's stream or a file."""
        return self.unit is None and not self.client.is_master_link

    def nested(self) -> Call:
        """A call for commands that run inside this one, with a unit of its own. Only `nested.Nested` calls this."""
        return self.nested_for(self.client)

    def nested_for(self, client: Client) -> Call:
        """As `nested`, for another client: the one that stands for scripts. Only `scripted.Scripted` calls this."""
        inner = Call(self.node, client, self.random, self.runner)
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
        """Propagate nothing, although the command has changed something: the change does not concern replicas."""
        self.propagated = []
