"""A dispatcher for some families of commands over a node without replication: what the tests of commands talk to.

Time stands still until told, randomness is seeded, and what would go to the replicas is kept as words, without SELECT
and MULTI. `rig.Rig` is the larger one, with every command and a real stream.
"""

from __future__ import annotations

from random import Random
from types import ModuleType, SimpleNamespace
from typing import Any, cast

from pyrepl.commands.call import Call, Effect
from pyrepl.commands.dispatch import Dispatcher
from pyrepl.commands.table import Table
from pyrepl.config.settings import Settings
from pyrepl.errors import CommandError
from pyrepl.node.client import Client
from pyrepl.node.node import Node, Process
from pyrepl.node.replication import Replication
from pyrepl.resp.encoder import encode_command, encode_reply
from pyrepl.resp.reply import Reply

START_MS = 1_700_000_000_000


class _Dice:
    """A seeded random source."""

    def __init__(self) -> None:
        self._random = Random(1)

    def below(self, n: int) -> int:
        return self._random.randrange(n)


class Desk:
    """Runs commands of some modules; `stream` is what was propagated, in order, as lists of words."""

    def __init__(self, *modules: ModuleType) -> None:
        self.stream: list[list[bytes]] = []
        replication = SimpleNamespace(
            feed_one=self._feed_one, feed_unit=self._feed_unit, is_replica=False, backlog=SimpleNamespace(end=0)
        )
        process = Process(1, "b" * 40, START_MS // 1000, 0.0)
        self.node = Node(Settings(), process, cast(Replication, replication))
        self.keyspace = self.node.keyspace
        self.dispatcher = Dispatcher(self.node, _table(modules), _Dice(), _refuse, lambda: 0.0)
        self._calls: dict[int, Call] = {}
        self.keyspace.now_ms = START_MS
        self.client = self.connect()

    def connect(self, *, proto: int = 2) -> Client:
        """One more client, logged in."""
        client = Client(len(self._calls) + 1, "127.0.0.1:1", "127.0.0.1:2", 0.0, authenticated=True)
        client.proto = proto
        self.node.clients[client.id] = client
        self._calls[client.id] = self.dispatcher.call_for(client)
        return client

    def pass_ms(self, span_ms: int) -> None:
        """Let time pass."""
        self.keyspace.now_ms += span_ms

    def run(self, *words: str | bytes | int, client: Client | None = None) -> Reply:
        """The reply to one command, a CommandError included."""
        argv = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        call = self._calls[(client or self.client).id]
        call.now_ms = self.keyspace.now_ms
        return self.dispatcher.execute(call, argv, encode_command(argv))

    def say(self, line: str, client: Client | None = None) -> Reply:
        """`run` on words separated by spaces."""
        return self.run(*line.split(), client=client)

    def encoded(self, *words: str | bytes | int, client: Client | None = None) -> bytes:
        """The reply as it goes over the wire."""
        return encode_reply(self.run(*words, client=client), (client or self.client).proto)

    def error(self, line: str, client: Client | None = None) -> str:
        """The text of the error that a command must answer."""
        reply = self.say(line, client)
        assert isinstance(reply, CommandError), reply
        return str(reply)

    def sent(self) -> list[str]:
        """What went to the replicas since the last question, a line each."""
        lines = [b" ".join(argv).decode() for argv in self.stream]
        self.stream.clear()
        return lines

    def _feed_one(self, db_index: int, raw: bytes) -> int:
        return self._feed_unit([(db_index, raw)])

    def _feed_unit(self, unit: list[tuple[int, bytes]]) -> int:
        for _, raw in unit:
            self.stream.append(words_of(raw))
        return 0


def _table(modules: tuple[ModuleType, ...]) -> Table:
    """A table of the modules' own."""
    return Table(modules)


def words_of(raw: bytes) -> list[bytes]:
    """The words of one encoded command."""
    words: list[bytes] = []
    at = raw.index(b"\r\n") + 2
    while at < len(raw):
        end = raw.index(b"\r\n", at)
        size = int(raw[at + 1 : end])
        words.append(raw[end + 2 : end + 2 + size])
        at = end + 4 + size
    return words


def _refuse(call: Call, effect: Effect) -> Any:
    raise AssertionError(f"nobody performs {effect!r} here")
