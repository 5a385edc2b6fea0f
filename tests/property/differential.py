"""The same commands to pyrepl's dispatcher and to a real server: replies, changes and digests must be the same.

How a family uses it (`tests/property/test_differential_<family>.py`):

    def generate(rng: Random) -> Iterator[Words]:          # endless or not; str, bytes and int words
        while True:
            yield "APPEND", rng.choice(("a", "b")), rng.choice(SOME_TEXTS)

    @pytest.fixture(scope="module")
    def duel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Duel]:
        with Lab(tmp_path_factory.mktemp("lab")) as lab, Duel(lab.start("redis7")) as duel:
            yield duel

    @pytest.mark.parametrize("seed", range(5))
    def test_commands(duel: Duel, seed: int) -> None:
        duel.fight(generate, seed, commands=1500)

`fight` empties both sides, runs so many commands, compares after each the reply and by how much the number of changes
(`rdb_changes_since_last_save`) grew, and at the end DEBUG DIGEST. Odd seeds speak RESP3. A difference is shrunk to few
commands, which the AssertionError lists.

`fight(..., lookups=True)` compares keyspace_hits and keyspace_misses at the end. `fight(..., streams=True)` compares
what each side would send to its replicas: a bare PSYNC to the real server gets its stream. Unix times in it may differ
by a minute. Leave it out where the two may choose differently. `fight(..., events=True)` compares the keyspace
notifications of all classes, in order. `replies=False` leaves out replies and digests, where the generator knows
those of another version.

Time is the real clock on both sides: let times to live lie minutes ahead, those in ms too, and they do not matter; the
replies of `NEAR` commands may differ by a minute. Replies whose order means nothing (`UNORDERED`) are compared as
multisets, `PAIRED` as multisets of pairs. Commands with random replies have no place here, unless they change nothing
and are compared by shape in a test of their own.
"""

from __future__ import annotations

import io
import pkgutil
import time
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from itertools import islice, zip_longest
from random import Random
from types import ModuleType, TracebackType
from typing import Final, NamedTuple, Protocol, Self, TypeAlias

import pyrepl.commands
from pyrepl.acl.identity import UNASKED
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.dispatch import Dispatcher
from pyrepl.commands.engine.effect import Effect
from pyrepl.commands.engine.effects import Flushed, SettingsChanged
from pyrepl.commands.engine.table import Table
from pyrepl.config.settings import Settings
from pyrepl.errors import CommandError
from pyrepl.keyspace.digest import keyspace_digest
from pyrepl.node.client import Client
from pyrepl.node.node import Node, Process
from pyrepl.node.replication import Replication
from pyrepl.replication.roster import RosterOptions
from pyrepl.resp.encoder import encode_command, encode_reply
from pyrepl.resp.reply import OK, Push, Reply
from pyrepl.units import ReplId
from tests.peers import lab
from tests.peers.wire import Wire

Words: TypeAlias = Sequence[str | bytes | int]
Generate: TypeAlias = Callable[[Random], Iterable[Words]]

UNORDERED: Final = frozenset(
    b"KEYS SMEMBERS SDIFF SUNION SINTER HKEYS HVALS SCAN SSCAN HSCAN ZSCAN SORT_UNORDERED COMMAND".split()
)
PAIRED: Final = frozenset(b"HGETALL CONFIG".split())
NEAR: Final = frozenset(b"TTL PTTL EXPIRETIME PEXPIRETIME HTTL HPTTL HEXPIRETIME HPEXPIRETIME".split())
TOLERANCE_MS: Final = 60_000
"""A busy machine may leave so much time between the same command on one side and on the other."""
SHRINK_RUNS: Final = 300
SHRINK_S: Final = 60.0
"""What it is down to by then is shown; a test that takes too long would be ended without a word about it."""
SHOWN: Final = 40
_TIME_DIGITS: Final = 13
_ASK_CHANGES: Final = encode_command([b"INFO", b"persistence"])


class Readable(Protocol):
    """A file of bytes."""

    def readline(self) -> bytes: ...

    def read(self, size: int) -> bytes: ...


class Tree(NamedTuple):
    """A reply: its type byte and its content, aggregates as lists of trees."""

    kind: bytes
    content: bytes | list[Tree] | None


class Mismatch(Exception):
    """The first difference: where, and what each side said."""

    def __init__(self, index: int, text: str) -> None:
        super().__init__(text)
        self.index = index


class Dice:
    """A seeded random source for the dispatcher."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def below(self, n: int) -> int:
        return self._random.randrange(n)


class Tap:
    """A replica of a real server that only listens: what the server propagates, command by command."""

    def __init__(self, node: lab.Node) -> None:
        node.call("CONFIG", "SET", "repl-ping-replica-period", 3600, "repl-timeout", 7200)
        self._node = node
        self._wire = node.connect()
        self._wire.send(encode_command([b"PSYNC", b"?", b"-1"]))
        self._offset = int(self._wire.file.readline().split()[2])
        head = b"\n"
        while head == b"\n":
            head = self._wire.file.readline()
        assert head.startswith(b"$"), head
        self._wire.file.read(int(head[1:]))

    def take(self) -> list[list[bytes]]:
        """What came since the last time."""
        end = int(self._node.info("replication")["master_repl_offset"])
        taken: list[list[bytes]] = []
        while self._offset < end:
            argv = argv_of(read_tree(self._wire.file))
            self._offset += len(encode_command(argv))
            taken.append(argv)
        assert self._offset == end
        return taken

    def close(self) -> None:
        self._wire.close()


def wall_clock_ms() -> int:
    return time.time_ns() // 1_000_000


_EVENT_CLASSES: Final = b"AKEmnoc"
_EVENT_CHANNELS: Final = b"__key*__:*"


class Events:
    """Hears the keyspace notifications of a server, all classes of them."""

    def __init__(self, node: lab.Node) -> None:
        for _ in range(2):
            # Redis 8.2 forgets n, o and c where the same words give A; asked twice, it has them.
            node.call("CONFIG", "SET", "notify-keyspace-events", _EVENT_CLASSES)
        self._node = node
        self._wire = node.connect()
        self._wire.call("PSUBSCRIBE", _EVENT_CHANNELS)

    def take(self) -> list[tuple[bytes, bytes]]:
        """(channel, message) of what came since the last time."""
        self._node.call("PUBLISH", "__keys__:end", "")
        taken: list[tuple[bytes, bytes]] = []
        while True:
            _, _, channel, message = self._wire.read()
            if channel == b"__keys__:end":
                return taken
            taken.append((channel, message))

    def close(self) -> None:
        self._wire.close()


class Listener:
    """Hears the keyspace notifications of both sides."""

    def __init__(self, theirs: lab.Node, ours: Ours) -> None:
        self._theirs = Events(theirs)
        self._ours = ours.node
        self._ours.notifications.follow(_EVENT_CLASSES.decode())
        client = Client(2, "127.0.0.1:3", "127.0.0.1:2", 0.0, UNASKED)
        self._ours.clients[client.id] = client
        self._ours.pubsub.psubscribe(client, _EVENT_CHANNELS)

    def take(self) -> tuple[list[tuple[bytes, bytes]], list[tuple[bytes, bytes]]]:
        """(channel, message) since the last time, ours and theirs."""
        ours: list[tuple[bytes, bytes]] = []
        for _, push in self._ours.deliveries:
            assert isinstance(push, Push)
            _, _, channel, message = push.items
            assert isinstance(channel, bytes) and isinstance(message, bytes)
            ours.append((channel, message))
        self._ours.deliveries.clear()
        return ours, self._theirs.take()

    def close(self) -> None:
        self._theirs.close()


class Ours:
    """A node in this process, without a daemon: commands in, encoded replies out."""

    def __init__(self, clock_ms: Callable[[], int] = wall_clock_ms) -> None:
        now = time.monotonic()
        self._clock_ms = clock_ms
        replication = Replication(1 << 26, RosterOptions(), lambda: ReplId("a" * 40), now)
        self.node = Node(Settings(), Process(1, "b" * 40, int(time.time()), now), replication)
        self.dispatcher = Dispatcher(self.node, command_table(), Dice(1), self._perform, time.perf_counter)
        self.client = Client(1, "127.0.0.1:1", "127.0.0.1:2", now, UNASKED)
        self.node.clients[1] = self.client
        self.call = self.dispatcher.call_for(self.client)
        self._streamed = 0
        replication.backlog.create()

    def run(self, argv: list[bytes]) -> bytes:
        self.node.keyspace.now_ms = self.call.now_ms = self._clock_ms()
        reply = self.dispatcher.execute(self.call, argv, encode_command(argv))
        return encode_reply(reply, self.client.proto)

    def take_stream(self) -> list[list[bytes]]:
        """What went to the replicas since the last time."""
        backlog = self.node.replication.backlog
        pieces = io.BytesIO(b"".join(bytes(piece) for piece in backlog.read(self._streamed, 1 << 30)))
        self._streamed = backlog.end
        taken: list[list[bytes]] = []
        while pieces.tell() < len(pieces.getbuffer()):
            taken.append(argv_of(read_tree(pieces)))
        return taken

    def reset(self, proto: int) -> None:
        self.run([b"DISCARD"])
        self.run([b"UNWATCH"])
        self.client.speak(proto)
        self.client.db_index = 0
        self.call.db = self.node.keyspace.databases[0]
        self.run([b"FLUSHALL"])

    @staticmethod
    def _perform(call: Call, effect: Effect) -> Reply:
        if isinstance(effect, Flushed | SettingsChanged):
            return OK
        return CommandError(f"ERR {type(effect).__name__} needs a daemon")


def command_table() -> Table:
    """Every command there is."""
    found = pkgutil.walk_packages(pyrepl.commands.__path__, "pyrepl.commands.")
    names = [module.name for module in found if not module.ispkg and module.name != "pyrepl.commands.families"]
    modules: list[ModuleType] = [import_module(name) for name in names]
    return Table(modules)


class Duel:
    """Ours against a real server. Not for several threads."""

    def __init__(self, node: lab.Node) -> None:
        self.ours = Ours()
        self.theirs = node.connect()
        self._asker = node.connect()
        """Asks about the other side while `theirs` may be in a transaction."""
        # What is written as expired goes when somebody looks at it: the moment of a cycle is nobody's command.
        node.call("DEBUG", "SET-ACTIVE-EXPIRE", 0)
        self._node = node
        self._tap: Tap | None = None
        self._lookups = False
        self._listener: Listener | None = None
        self.newer = node.kind != "redis7"
        """The other side prints scores as Redis 8.2 does, also into digests."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.theirs.close()
        self._asker.close()
        if self._tap is not None:
            self._tap.close()
        if self._listener is not None:
            self._listener.close()

    def fight(
        self,
        generate: Generate,
        seed: int,
        commands: int,
        *,
        compare_dirty: bool = True,
        streams: bool = False,
        lookups: bool = False,
        events: bool = False,
        replies: bool = True,
    ) -> None:
        """Raises AssertionError with the seed and the few commands that show the difference."""
        argvs = [words(line) for line in islice(generate(Random(seed)), commands)]
        proto = 3 if seed % 2 else 2
        self._lookups = lookups
        if streams and self._tap is None:
            self._tap = Tap(self._node)
        if events and self._listener is None:
            self._listener = Listener(self._node, self.ours)
        try:
            self.compare(argvs, proto, compare_dirty=compare_dirty, replies=replies)
        except Mismatch as found:
            shrunk, text = self._shrink(
                argvs[: found.index + 1], proto, str(found), compare_dirty=compare_dirty, replies=replies
            )
            shown = "\n".join(f"  {show(argv)}" for argv in shrunk[-SHOWN:])
            raise AssertionError(f"seed {seed}, RESP{proto}: {text}\nafter\n{shown}") from None

    def compare(
        self, argvs: list[list[bytes]], proto: int = 2, *, compare_dirty: bool = True, replies: bool = True
    ) -> None:
        """Empty both sides, run the commands and compare. Raises Mismatch."""
        self._reset(proto)
        changes = self._their_changes()
        lookups = self._lookups_so_far() if self._lookups else None
        if self._tap is not None:
            self._tap.take()
            self.ours.take_stream()
        if self._listener is not None:
            self._listener.take()
        for index, argv in enumerate(argvs):
            dirty = self.ours.node.keyspace.dirty
            self.theirs.send(encode_command(argv))
            theirs = read_tree(self.theirs.file)
            ours = read_tree(io.BytesIO(self.ours.run(argv)))
            if replies and normal(argv, ours) != normal(argv, theirs) and not near(argv, ours, theirs):
                raise Mismatch(index, f"{show(argv)}\n  ours   {ours}\n  theirs {theirs}")
            if compare_dirty:
                changes, before = self._their_changes(), changes
                growth = self.ours.node.keyspace.dirty - dirty
                if growth != changes - before:
                    raise Mismatch(index, f"{show(argv)} made {growth} changes, theirs {changes - before}")
        if replies:
            self._compare_digests(len(argvs) - 1)
        if lookups is not None:
            self._compare_lookups(len(argvs) - 1, lookups, self._lookups_so_far())
        if self._tap is not None:
            self._compare_streams(len(argvs) - 1, self.ours.take_stream(), self._tap.take())
        if self._listener is not None:
            self._compare_events(len(argvs) - 1, *self._listener.take())

    @staticmethod
    def _compare_events(last: int, ours: list[tuple[bytes, bytes]], theirs: list[tuple[bytes, bytes]]) -> None:
        nothing = (b"(nothing)", b"")
        for place, (mine, other) in enumerate(zip_longest(ours, theirs, fillvalue=nothing)):
            if mine != other:
                text = f"notifications differ at number {place}\n  ours   {mine}\n  theirs {other}"
                raise Mismatch(last, text)

    def _lookups_so_far(self) -> list[tuple[int, int]]:
        """(hits, misses), ours and theirs."""
        keyspace, stats = self.ours.node.keyspace, self._node.info("stats")
        return [(keyspace.hits, keyspace.misses), (int(stats["keyspace_hits"]), int(stats["keyspace_misses"]))]

    @staticmethod
    def _compare_lookups(last: int, before: list[tuple[int, int]], after: list[tuple[int, int]]) -> None:
        ours, theirs = [(now[0] - was[0], now[1] - was[1]) for was, now in zip(before, after)]
        if ours != theirs:
            raise Mismatch(last, f"(hits, misses) differ\n  ours   {ours}\n  theirs {theirs}")

    def _compare_streams(self, last: int, ours: list[list[bytes]], theirs: list[list[bytes]]) -> None:
        for place, (mine, other) in enumerate(zip_longest(ours, theirs, fillvalue=[b"(nothing)"])):
            if not same_but_for_time(mine, other):
                text = f"streams differ at command {place}\n  ours   {show(mine)}\n  theirs {show(other)}"
                raise Mismatch(last, text)

    def digests(self) -> tuple[str, str]:
        """DEBUG DIGEST, ours and theirs."""
        ours = keyspace_digest(self.ours.node.keyspace, old_scores=not self.newer)
        return ours, self._asker.call("DEBUG", "DIGEST")

    def _compare_digests(self, last: int) -> None:
        ours, theirs = self.digests()
        if ours != theirs:
            raise Mismatch(last, f"digests differ\n  ours   {ours}\n  theirs {theirs}")

    def _reset(self, proto: int) -> None:
        # FLUSHALL tells both streams database 0: from here on SELECTs come alike.
        self.theirs.pipeline([("DISCARD",), ("UNWATCH",), ("HELLO", proto), ("SELECT", 0), ("FLUSHALL",)])
        self.ours.reset(proto)

    def _their_changes(self) -> int:
        self._asker.send(_ASK_CHANGES)
        return _changes(read_tree(self._asker.file))

    def _shrink(
        self, argvs: list[list[bytes]], proto: int, text: str, *, compare_dirty: bool, replies: bool
    ) -> tuple[list[list[bytes]], str]:
        """Leave out ever smaller parts while some difference remains, within SHRINK_RUNS runs."""
        size = max(1, len(argvs) // 2)
        runs = 0
        end = time.monotonic() + SHRINK_S
        while runs < SHRINK_RUNS and time.monotonic() < end:
            at = 0
            shorter = False
            while at < len(argvs) and runs < SHRINK_RUNS and time.monotonic() < end:
                candidate = argvs[:at] + argvs[at + size :]
                runs += 1
                try:
                    self.compare(candidate, proto, compare_dirty=compare_dirty, replies=replies)
                    at += size
                except Mismatch as found:
                    argvs, text, shorter = candidate[: found.index + 1], str(found), True
            if size == 1 and not shorter:
                break
            size = max(1, size // 2)
        return argvs, text


def words(line: Words) -> list[bytes]:
    """The words of a command as bytes."""
    return [word if isinstance(word, bytes) else str(word).encode() for word in line]


def show(argv: list[bytes]) -> str:
    """A command for people; long words are cut."""
    return " ".join(repr(word)[1:] if len(word) <= 80 else f"{word[:60]!r}...({len(word)})" for word in argv)


def read_tree(file: Readable) -> Tree:
    """One reply, nothing lost: what differs on the wire is a different tree."""
    line = file.readline()
    if not line.endswith(b"\r\n"):
        raise ConnectionError(f"the reply ends with {line!r}")
    kind, rest = line[:1], line[1:-2]
    if kind in (b"$", b"="):
        return Tree(kind, None) if rest == b"-1" else Tree(kind, file.read(int(rest) + 2)[:-2])
    if kind in (b"*", b"%", b">", b"~"):
        if rest == b"-1":
            return Tree(kind, None)
        return Tree(kind, [read_tree(file) for _ in range(int(rest) * (2 if kind == b"%" else 1))])
    return Tree(kind, rest)


def normal(argv: list[bytes], tree: Tree) -> object:
    """The reply in a form in which equal replies are equal, whatever the order of what has none."""
    name = argv[0].upper()
    if name == b"EXEC" or not isinstance(tree.content, list):
        return tree
    if tree.kind == b"%" or name in PAIRED:
        pairs = zip(tree.content[::2], tree.content[1::2])
        return tree.kind, sorted(map(repr, pairs))
    if name in (b"SSCAN", b"HSCAN", b"ZSCAN", b"SCAN") and len(tree.content) == 2:
        place, found = tree.content
        items = found.content if isinstance(found.content, list) else []
        return tree.kind, place, sorted(map(repr, items))
    if tree.kind == b"~" or name in UNORDERED:
        return tree.kind, sorted(map(repr, tree.content))
    return tree


def argv_of(tree: Tree) -> list[bytes]:
    """The words of a command that was read as a tree."""
    assert isinstance(tree.content, list), tree
    return [item.content for item in tree.content if isinstance(item.content, bytes)]


def same_but_for_time(ours: list[bytes], theirs: list[bytes]) -> bool:
    """Are two commands equal, but for Unix times in ms?"""
    return len(ours) == len(theirs) and all(
        mine == other or (mine.isdigit() and other.isdigit() and _is_same_moment(mine, other))
        for mine, other in zip(ours, theirs)
    )


def _is_same_moment(ours: bytes, theirs: bytes) -> bool:
    return len(ours) >= _TIME_DIGITS and abs(int(ours) - int(theirs)) <= TOLERANCE_MS


def near(argv: list[bytes], ours: Tree, theirs: Tree) -> bool:
    """Do two replies of a NEAR command differ by little?"""
    name = argv[0].upper()
    if name not in NEAR:
        return False
    tolerance = TOLERANCE_MS if name.startswith((b"P", b"HP")) else TOLERANCE_MS // 1000
    mine, other = _numbers(ours), _numbers(theirs)
    return (
        len(mine) == len(other)
        and all((a < 0) == (b < 0) for a, b in zip(mine, other))
        and all(abs(a - b) <= tolerance for a, b in zip(mine, other))
    )


def _numbers(tree: Tree) -> list[int]:
    if tree.kind == b":" and isinstance(tree.content, bytes):
        return [int(tree.content)]
    if isinstance(tree.content, list):
        return [number for item in tree.content for number in _numbers(item)]
    return []


def _changes(info: Tree) -> int:
    assert isinstance(info.content, bytes), info
    _, _, rest = info.content.partition(b"rdb_changes_since_last_save:")
    return int(rest.split(b"\r\n", 1)[0])


__all__ = ["Duel", "Generate", "Mismatch", "Ours", "Wire", "Words", "command_table", "read_tree", "words"]
