"""A whole node with every command and no daemon: time and randomness are given, effects and the stream are kept.

`desk.Desk` is the smaller one, for families that need only a keyspace.
"""

from __future__ import annotations

from random import Random
from typing import Any

from pyrepl.acl.identity import OURS, Identity, Proof
from pyrepl.commands.describe.introspection import FAMILIES
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.dispatch import Dispatcher
from pyrepl.commands.engine.effect import Effect
from pyrepl.commands.engine.effects import HurryLink, KillClients, Log
from pyrepl.commands.engine.renaming import renamed_table
from pyrepl.commands.engine.table import Table
from pyrepl.config.settings import Settings
from pyrepl.errors import CommandError
from pyrepl.node.client import Client
from pyrepl.node.node import Node, Process
from pyrepl.node.replication import Replication
from pyrepl.replication.link import Link, LinkOptions
from pyrepl.replication.roster import RosterOptions
from pyrepl.resp.encoder import encode_command, encode_reply
from pyrepl.resp.reply import OK, Reply
from pyrepl.units import ReplId

START_MS = 1_700_000_000_123
START_S = 1000.0
"""Monotonic seconds at the start."""


class Dice:
    """A seeded random source."""

    def __init__(self) -> None:
        self._random = Random(1)

    def below(self, n: int) -> int:
        return self._random.randrange(n)


class Rig:
    """Runs commands as the daemon would. `effects` are those performed; `client` is the first client, logged in."""

    def __init__(self, **settings: object) -> None:
        options = RosterOptions()
        replication = Replication(1 << 20, options, lambda: ReplId("a" * 40), START_S)
        process = Process(42, "b" * 40, START_MS // 1000, START_S)
        self.node = Node(Settings(**settings), process, replication)
        self.node.keyspace.now_ms = START_MS
        self.effects: list[Effect] = []
        self.clock_s = 0.0
        """What a command's duration is measured with; `slow` makes it move."""
        self.step_s = 0.0
        self.dispatcher = Dispatcher(
            self.node, renamed_table(self.node.settings, FAMILIES), Dice(), self._perform, self._tick
        )
        self._calls: dict[int, Call] = {}
        self._read_from = 0
        self.client = self.connect()

    def _identity(self, authenticated: bool) -> Identity:
        return Identity(self.node.users.default, Proof.UNASKED if authenticated else Proof.MISSING)

    def connect(self, addr: str = "127.0.0.1:5001", *, proto: int = 2, authenticated: bool = True) -> Client:
        client = Client(
            len(self._calls) + 1, addr, "127.0.0.1:6379", self.node.process.now, self._identity(authenticated)
        )
        client.speak(proto)
        self.node.clients[client.id] = client
        self._calls[client.id] = self.dispatcher.call_for(client)
        return client

    def pass_s(self, span_s: float) -> None:
        """Let time pass, on both clocks."""
        self.node.keyspace.now_ms += int(span_s * 1000)
        self.node.process.now += span_s

    def run(self, *words: str | bytes | int, client: Client | None = None) -> Reply:
        """The reply to one command, a CommandError included."""
        argv = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        call = self.call(client)
        call.now_ms = self.node.keyspace.now_ms
        return self.dispatcher.execute(call, argv, encode_command(argv))

    def say(self, line: str, client: Client | None = None) -> Reply:
        """`run` on words separated by spaces."""
        return self.run(*line.split(), client=client)

    def wire(self, line: str, client: Client | None = None) -> bytes:
        """The reply as it goes over the wire."""
        reply = self.say(line, client)
        return encode_reply(reply, (client or self.client).proto)

    def error(self, line: str, client: Client | None = None) -> str:
        """The text of the error that a command must answer."""
        reply = self.say(line, client)
        assert isinstance(reply, CommandError), reply
        return str(reply)

    def call(self, client: Client | None = None) -> Call:
        return self._calls[(client or self.client).id]

    def stream(self) -> list[str]:
        """What went to the replicas since the last question, a line per command; the first question starts it."""
        backlog = self.node.replication.backlog
        if not backlog.active:
            backlog.create()
            self._read_from = backlog.end
            return []
        pieces = backlog.read(self._read_from, 1 << 30)
        self._read_from = backlog.end
        return [b" ".join(argv).decode() for argv in commands_in(b"".join(pieces))]

    def follow(self) -> Link:
        """Make the node a replica whose link connects and is not up yet."""
        replication = self.node.replication
        position = replication.role.follow("10.0.0.1", 7000, self.node.process.now)
        replication.link = Link("10.0.0.1", 7000, LinkOptions(), position, lambda: 0.5)
        replication.link.start(self.node.process.now)
        replication.link_client = Client(0, "10.0.0.1:7000", "", START_S, OURS)
        replication.link_client.become_master_link()
        self._calls[0] = self.dispatcher.call_for(replication.link_client)
        return replication.link

    def _perform(self, call: Call, effect: Effect) -> Any:
        self.effects.append(effect)
        return effect.reply if isinstance(effect, HurryLink | KillClients | Log) else OK

    def _tick(self) -> float:
        self.clock_s += self.step_s
        return self.clock_s


def full_table() -> Table:
    """Every command."""
    return Table(FAMILIES)


def commands_in(raw: bytes) -> list[list[bytes]]:
    """The commands in stream bytes."""
    commands: list[list[bytes]] = []
    at = 0
    while at < len(raw):
        end = raw.index(b"\r\n", at)
        count = int(raw[at + 1 : end])
        at = end + 2
        argv = []
        for _ in range(count):
            end = raw.index(b"\r\n", at)
            size = int(raw[at + 1 : end])
            argv.append(raw[end + 2 : end + 2 + size])
            at = end + 4 + size
        commands.append(argv)
    return commands
