"""What is being done when a node is killed: the stories of the crash matrix, and what each promises to be there after.

A story has a folder made beforehand (`before`), and something done by a node whose every step may be its last (`act`).
Both write from one list of commands (`command`), so the data is always that of so many of them; `Ledger` counts how
many were sent, and how many are promised to survive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.fault.follower import Follower
from tests.peers import compare
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.wire import ErrorReply, Wire, Word, encode

AOF: Final = {"appendonly": "yes", "auto-aof-rewrite-percentage": "0", "shutdown-timeout": "0"}
WITH_SAVE: Final = {"save": "3600 1000000"}
MOST: Final = 80
"""So many commands there are."""


def command(number: int) -> list[tuple[Word, ...]]:
    """Write `number`, from 0 on: what goes out in one piece. Each changes the data."""
    match number % 6:
        case 0:
            return [("RPUSH", "list", number)]
        case 1:
            return [("SET", f"key:{number}", number, "PXAT", 4_102_444_800_000)]
        case 2:
            return [("MULTI",), ("INCR", "left"), ("INCR", "right"), ("EXEC",)]
        case 3:
            return [("SELECT", 3), ("HSET", "hash", f"field:{number}", number), ("SELECT", 0)]
        case 4:
            return [("SET", f"big:{number}", f"{number:05}" * 3000)]
        case _:
            return [("SADD", "set", number, f"member:{number}")]


@dataclass
class Ledger:
    """The writes of one client."""

    sent: int = 0
    acked: int = 0
    promised: int = 0
    """The first so many are on disk, or the node has lied."""
    legal: set[int] | None = None
    """If not None, only these counts are legal (what a snapshot held), of those that are `promised` at least."""

    def copy(self) -> Ledger:
        return Ledger(self.sent, self.acked, self.promised, self.legal)


@dataclass
class Run:
    """One node that may die at any moment, with all that is known about it."""

    lab: Lab
    folder: Path
    directives: Mapping[str, str]
    ledger: Ledger
    node: Node | None = None
    master: Node | None = None
    follows: bool = False
    follower: Follower | None = None
    writes_before_follower: int = 0
    _wire: Wire | None = field(default=None, repr=False)

    @property
    def keeps_all(self) -> bool:
        """Is each acknowledged write safe from SIGKILL? Not with everysec, which may write up to two seconds late."""
        return self.directives.get("appendfsync") in ("always", "no")

    def write(self, count: int) -> None:
        """The next `count` writes. Raises ConnectionError when the node dies."""
        assert self.node is not None
        wire = self.wire()
        ledger = self.ledger
        for _ in range(count):
            commands = command(ledger.sent)
            ledger.sent += 1
            replies = wire.pipeline(commands)
            assert not any(isinstance(reply, ErrorReply) for reply in replies), replies
            ledger.acked += 1
            if "appendonly" in self.directives and self.keeps_all:
                ledger.promised = ledger.acked

    def fsynced(self) -> None:
        """WAITAOF: what was acknowledged is on disk."""
        acked = self.ledger.acked
        assert self.wire().call("WAITAOF", 1, 0, 0)[0] == 1
        self.ledger.promised = acked

    def wire(self) -> Wire:
        """The one connection of the client; its first use opens it."""
        assert self.node is not None
        if self._wire is None:
            self._wire = self.node.connect(60)
        return self._wire

    def follow(self) -> None:
        """Attach a replica to the node."""
        assert self.node is not None
        self.follower = Follower(self.node)
        self.writes_before_follower = self.ledger.sent

    def hang_up(self) -> None:
        if self._wire is not None:
            self._wire.close()
            self._wire = None


def digests_in(folder: Path) -> list[str]:
    """The digest after so many writes, from none on; by a node in `folder` that keeps nothing."""
    with Lab(folder) as lab:
        node = lab.start("pyrepl")
        run = Run(lab, node.folder, {}, Ledger(), node)
        found = [compare.digest(node)]
        for _ in range(MOST):
            run.write(1)
            found.append(compare.digest(node))
    assert len(set(found)) == MOST + 1
    return found


@dataclass(frozen=True)
class Story:
    """`before` leaves a folder whose node has ended; `act` is done by a node started there that may die."""

    name: str
    before: Callable[[Run], None]
    act: Callable[[Run], None]
    directives: Mapping[str, str] = field(default_factory=dict)
    from_the_start: bool = False
    """The start of the node is part of what may be cut; else it starts unharmed."""
    follows: bool = False
    """A replica is attached, so that the place in the stream is judged too."""
    replicates: bool = False
    """The node is a replica of a master, which lives on."""
    afterwards: Mapping[str, str] | None = None
    """Directives of the node that is started after the crash, if they are others."""


def _nothing(run: Run) -> None:
    """An empty folder."""


def _lived(run: Run, writes: int) -> Node:
    run.node = run.lab.start("pyrepl", directives=run.directives, folder=run.folder)
    if run.follows:
        run.follow()
    run.write(writes)
    return run.node


def _stop(run: Run) -> None:
    assert run.node is not None
    run.hang_up()
    run.node.terminate()
    run.ledger.promised = run.ledger.acked


def _saved(run: Run) -> None:
    """A dump.rdb with twenty writes."""
    _lived(run, 20).call("SAVE")
    _stop(run)


def _appended(run: Run) -> None:
    """An append-only file with twenty writes, half of them in its base."""
    node = _lived(run, 10)
    node.call("BGREWRITEAOF")
    wait_until("the rewrite", lambda: node.info("persistence")["aof_rewrites"] == "1")
    run.write(10)
    _stop(run)


def _torn(run: Run) -> None:
    """As `_appended`, and a command that broke off."""
    _appended(run)
    last = max((run.folder / "appendonlydir").glob("*.incr.aof"))
    last.write_bytes(last.read_bytes() + b"*3\r\n$3\r\nSET\r\n$1\r\n")


def _old_file(run: Run) -> None:
    """The one file of Redis before 7.0."""
    text = b"".join(encode(words) for number in range(20) for words in command(number))
    (run.folder / "appendonly.aof").write_bytes(encode(("SELECT", 0)) + text)
    run.ledger.sent = run.ledger.acked = run.ledger.promised = 20


def _configured(run: Run) -> None:
    """A configuration file, and nothing else."""
    (run.folder / "node.conf").write_text("# kept\nmaxclients 99\n")


def _save(run: Run) -> None:
    run.ledger.legal = {20, 30}
    run.write(10)
    run.wire().call("SAVE")
    run.ledger.promised = 30


def _bgsave(run: Run) -> None:
    run.ledger.legal = {20, 30}
    run.write(10)
    run.wire().call("BGSAVE")
    run.write(5)
    assert run.node is not None
    node = run.node
    wait_until("the save", lambda: node.info("persistence")["rdb_bgsave_in_progress"] == "0")
    if node.info("persistence")["rdb_last_bgsave_status"] == "ok":
        run.ledger.promised = 30


def _shut_down(run: Run) -> None:
    run.ledger.legal = {20, 30}
    run.write(10)
    assert run.node is not None
    run.hang_up()
    if run.node.terminate() != 0:
        raise ConnectionError("killed")
    run.ledger.promised = 30


def _write(run: Run) -> None:
    run.write(6)
    run.fsynced()
    run.write(6)


def _rewrite(run: Run) -> None:
    run.write(2)
    assert run.node is not None
    node = run.node
    # While the follower's snapshot is under way, or its end not noticed, a rewrite is only scheduled.
    wait_until("no child is left", lambda: node.info("persistence")["rdb_bgsave_in_progress"] == "0")
    run.wire().call("BGREWRITEAOF")
    run.write(3)
    wait_until("the rewrite", lambda: node.info("persistence")["aof_rewrite_in_progress"] == "0")
    run.fsynced()
    run.write(1)


def _rewrite_twice(run: Run) -> None:
    """The second one finds what the first has left."""
    _rewrite(run)
    _rewrite(run)


def _switch_on(run: Run) -> None:
    """CONFIG SET appendonly yes, and off again: the file holds what was there then."""
    assert run.node is not None
    node = run.node
    run.wire().call("CONFIG", "SET", "appendonly", "yes")
    run.write(4)
    wait_until("the first rewrite", lambda: node.info("persistence")["aof_rewrites"] == "1")
    run.fsynced()
    run.write(2)


def _start_and_write(run: Run) -> None:
    run.write(3)
    run.fsynced()
    run.write(3)


def _full_sync(run: Run) -> None:
    """A replica takes over its master's data, and begins its file anew."""
    assert run.node is not None and run.master is not None
    node = run.node
    run.ledger.legal = {20, 40}
    run.ledger.sent = 40
    node.call("REPLICAOF", "127.0.0.1", run.master.port)
    node.wait_link_up(60)
    wait_until("its file follows", lambda: node.info("persistence")["aof_rewrites"] != "0", 60)
    run.ledger.promised = 40


def _config_rewrite(run: Run) -> None:
    for number in range(3):
        run.wire().call("CONFIG", "SET", "maxclients", 100 + number)
        run.wire().call("CONFIG", "REWRITE")


STORIES: Final = (
    Story("save", _saved, _save),
    Story("bgsave", _saved, _bgsave),
    Story("shutdown", _saved, _shut_down, WITH_SAVE),
    Story("append", _appended, _write, AOF, follows=True),
    Story("rewrite", _appended, _rewrite_twice, AOF, follows=True),
    Story("first-start", _nothing, _start_and_write, AOF, from_the_start=True),
    Story("first-start-with-a-dump", _saved, _start_and_write, AOF, from_the_start=True),
    Story("start", _appended, _start_and_write, AOF, from_the_start=True, follows=True),
    Story("start-torn", _torn, _start_and_write, AOF, from_the_start=True, follows=True),
    Story("start-old-file", _old_file, _start_and_write, AOF, from_the_start=True),
    Story("switch-on", _saved, _switch_on, afterwards=AOF),
    Story("full-sync", _appended, _full_sync, AOF, replicates=True),
    Story("config-rewrite", _configured, _config_rewrite, {"config": "node.conf"}),
)
