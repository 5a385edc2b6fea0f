"""A dispatcher for some families of commands over a node without replication: what the tests of commands talk to.

Time stands still until told, randomness is seeded, and what would go to the replicas is kept as words, without SELECT
and MULTI. `rig.Rig` is the larger one, with every command and a real stream.
"""

from __future__ import annotations

from random import Random
from types import ModuleType
from typing import Final

from pyrepl.acl.identity import UNASKED
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.dispatch import Dispatcher
from pyrepl.commands.engine.effect import Effect
from pyrepl.commands.engine.effects import WaitForKeys
from pyrepl.commands.engine.table import Table
from pyrepl.config.settings import Settings
from pyrepl.errors import CommandError
from pyrepl.node.client import Client
from pyrepl.node.node import Node, Process
from pyrepl.node.replication import Replication
from pyrepl.replication.roster import RosterOptions
from pyrepl.resp.encoder import encode_command, encode_reply
from pyrepl.resp.parser import Parser
from pyrepl.resp.reply import NO_REPLY, Reply
from pyrepl.units import ReplId
from tests.unit.commands.rig import commands_in

START_MS = 1_700_000_000_000
_FRAMES: Final = (b"SELECT", b"MULTI", b"EXEC")


class _Dice:
    """A seeded random source."""

    def __init__(self) -> None:
        self._random = Random(1)

    def below(self, n: int) -> int:
        return self._random.randrange(n)


class Desk:
    """Runs commands of some modules; `propagated` tells what went to the replicas, in order."""

    def __init__(self, *modules: ModuleType) -> None:
        replication = Replication(1 << 26, RosterOptions(), lambda: ReplId("a" * 40), 0.0)
        replication.backlog.create()
        self._backlog = replication.backlog
        self._read_from = replication.backlog.end
        process = Process(1, "b" * 40, START_MS // 1000, 0.0)
        self.node = Node(Settings(), process, replication)
        self.keyspace = self.node.keyspace
        self.dispatcher = Dispatcher(self.node, _table(modules), _Dice(), self._perform, lambda: 0.0)
        self.waits: list[WaitForKeys] = []
        """What commands have asked to wait for; nobody is held."""
        self._calls: dict[int, Call] = {}
        self.keyspace.now_ms = START_MS
        self.client = self.connect()

    def connect(self, *, proto: int = 2) -> Client:
        """One more client, logged in."""
        client = Client(len(self._calls) + 1, "127.0.0.1:1", "127.0.0.1:2", 0.0, UNASKED)
        client.speak(proto)
        self.node.clients[client.id] = client
        self._calls[client.id] = self.dispatcher.call_for(client)
        return client

    def _perform(self, call: Call, effect: Effect) -> Reply:
        if not isinstance(effect, WaitForKeys):
            raise AssertionError(f"nobody performs {effect!r} here")
        self.waits.append(effect)
        return NO_REPLY

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

    def served(self, *words: bytes, client: Client) -> bytes:
        """As `encoded`, in the way of a connection: by `execute_plain` where that may be."""
        raw = encode_command(list(words))
        if not client.guarded and not self.node.conditions.guarded:
            call = self._calls[client.id]
            call.now_ms = self.keyspace.now_ms
            out: list[bytes] = []
            if self.dispatcher.execute_plain(call, Parser().feed(raw), 0, 1, out):
                return b"".join(out)
        return self.encoded(*words, client=client)

    def encoded(self, *words: str | bytes | int, client: Client | None = None) -> bytes:
        """The reply as it goes over the wire."""
        return encode_reply(self.run(*words, client=client), (client or self.client).proto)

    def error(self, line: str, client: Client | None = None) -> str:
        """The text of the error that a command must answer."""
        reply = self.say(line, client)
        assert isinstance(reply, CommandError), reply
        return str(reply)

    def propagated(self) -> list[list[bytes]]:
        """What went to the replicas since the last question, as words."""
        raw = b"".join(self._backlog.read(self._read_from, 1 << 30))
        self._read_from = self._backlog.end
        return [argv for argv in commands_in(raw) if argv[0] not in _FRAMES]

    def sent(self) -> list[str]:
        """As `propagated`, a line each."""
        return [b" ".join(argv).decode() for argv in self.propagated()]


def _table(modules: tuple[ModuleType, ...]) -> Table:
    """A table of the modules' own."""
    return Table(modules)
