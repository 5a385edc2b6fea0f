"""The scripts that a node keeps, and the one that runs: EVAL's cache by SHA1, limits, and who may end what.

Scripts that came by EVAL are bounded: the 500 used last stay (Redis 7.4). Scripts that were loaded by SCRIPT LOAD stay
until SCRIPT FLUSH. Not here: the interpreter (`scripting.machine`, made when the first script runs) and the commands.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple, Protocol, final

from pyrepl.node.conditions import Condition, Conditions
from pyrepl.scripting.numbers import Drand48

MOST_EVALS: Final = 500
"""Scripts of EVAL that are kept (Redis 7.4, LRU_LIST_LENGTH)."""
_OVERHEAD_BYTES: Final = 120


@final
class CachedScript(NamedTuple):
    """A script under its SHA1, as it came; `flags` are those of its first line (`scripting.shebang`)."""

    sha: bytes
    text: bytes
    flags: int
    is_loaded: bool
    """Did SCRIPT LOAD bring it? Then it stays."""


@final
class Running:
    """The script or function that runs now."""

    __slots__ = (
        "allows_oom",
        "argv",
        "client_id",
        "from_master",
        "is_discarded",
        "is_eval",
        "is_killed",
        "is_late",
        "is_read_only",
        "limit_ms",
        "name",
        "repl_flags",
        "started_at",
        "wrote",
    )

    def __init__(
        self,
        name: bytes,
        started_at: float,
        client_id: int,
        *,
        is_eval: bool,
        is_read_only: bool,
        allows_oom: bool,
        from_master: bool,
    ) -> None:
        self.name = name
        """The SHA1 of a script, the name of a function."""
        self.started_at = started_at
        """Monotonic seconds."""
        self.client_id = client_id
        """Whose command it is."""
        self.is_eval = is_eval
        self.is_read_only = is_read_only
        self.allows_oom = allows_oom
        self.from_master = from_master
        """Did our master send it? Then the checks that refuse clients do not apply, and nobody may kill it."""
        self.wrote = False
        """Has it called a command that may write?"""
        self.argv: list[bytes] = []
        """The command that runs it, for FUNCTION STATS."""
        self.limit_ms = 0
        """It is ended after so many milliseconds, if not 0: a library that loads."""
        self.is_late = False
        """Has it run for so long that others are told so? Who tells them sets it, and hears of the end."""
        self.is_killed = False
        self.is_discarded = False
        """Must nothing that it did reach the stream? So after SHUTDOWN NOSAVE, which ends the process."""
        self.repl_flags = 3
        """redis.set_repl: 0 keeps the commands that follow out of our stream, and so out of the append-only file."""


class Outside(Protocol):
    """The process around the scripts."""

    def look(self, running: Running) -> None:
        """Called now and then while a script runs: after `busy-reply-threshold` others are told that we are busy."""

    def ended(self, running: Running) -> None:
        """A script that was late is over."""

    def log(self, level: int, text: bytes) -> None:
        """Write what redis.log was given; `level` from 0, debug, to 3, warning."""

    def cpu_s(self) -> float:
        """Seconds of processor time."""


@final
class Alone:
    """Outside of a node that has no process around it: nobody is served, nothing is logged."""

    def look(self, running: Running) -> None: ...

    def ended(self, running: Running) -> None: ...

    def log(self, level: int, text: bytes) -> None: ...

    def cpu_s(self) -> float:
        return 0.0


class Interpreter(Protocol):
    """What the cache needs to know of the interpreter."""

    @property
    def used_bytes(self) -> int:
        """The memory that it has taken."""

    def forget(self, script_id: bytes) -> None:
        """Drop what was compiled under this id."""


@final
class Scripts:
    """The scripts of a node. Invariant: `_evals` has the SHA1s of the cached scripts that may go, least used first."""

    def __init__(self, conditions: Conditions) -> None:
        self._conditions = conditions
        self._cache: dict[bytes, CachedScript] = {}
        self._evals: OrderedDict[bytes, None] = OrderedDict()
        self.outside: Outside = Alone()
        self.drand = Drand48()
        """The numbers of math.random go on from script to script, and SCRIPT FLUSH does not change that."""
        self.interpreter: Interpreter | None = None
        """None until the first script comes, and after SCRIPT FLUSH."""
        self.functions_interpreter: Interpreter | None = None
        """Functions have an interpreter of their own, which SCRIPT FLUSH leaves alone."""
        self.running: Running | None = None
        self.evicted = 0
        self.text_bytes = 0
        """Memory of the cached texts."""

    def find(self, sha: bytes) -> CachedScript | None:
        """The script with this SHA1, in any case."""
        return self._cache.get(sha) or self._cache.get(sha.lower())

    def note_use(self, sha: bytes) -> None:
        """A script has run: it is the one used last."""
        if sha in self._evals:
            self._evals.move_to_end(sha)

    def add(self, script: CachedScript) -> None:
        """Keep a script; SCRIPT LOAD of one that EVAL brought makes no difference, as in Redis."""
        if script.sha in self._cache:
            return
        if not script.is_loaded:
            while len(self._evals) >= MOST_EVALS:
                self._evict()
            self._evals[script.sha] = None
        self._cache[script.sha] = script
        self.text_bytes += len(script.text) + _OVERHEAD_BYTES

    def _evict(self) -> None:
        sha, _ = self._evals.popitem(last=False)
        script = self._cache.pop(sha)
        self.text_bytes -= len(script.text) + _OVERHEAD_BYTES
        self.evicted += 1
        if self.interpreter is not None:
            self.interpreter.forget(sha)

    def flush(self) -> None:
        """Forget all scripts, and the interpreter with them."""
        self._cache.clear()
        self._evals.clear()
        self.text_bytes = 0
        self.interpreter = None

    def begin(self, running: Running) -> None:
        """A script begins; none runs."""
        assert self.running is None
        self.running = running

    def end(self) -> None:
        """The script that runs is over."""
        running = self.running
        assert running is not None
        if running.is_late:
            self.outside.ended(running)
        self.running = None

    def call_busy(self, busy: bool) -> None:
        """From now on other clients are told that a script runs for too long, or no more."""
        self._conditions.note(Condition.BUSY, busy)

    @property
    def used_bytes(self) -> int:
        """Memory of the interpreter."""
        return self.interpreter.used_bytes if self.interpreter is not None else 0

    @property
    def functions_used_bytes(self) -> int:
        """Memory of the interpreter of functions."""
        return self.functions_interpreter.used_bytes if self.functions_interpreter is not None else 0

    def __len__(self) -> int:
        return len(self._cache)
