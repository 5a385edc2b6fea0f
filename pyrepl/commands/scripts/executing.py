"""Runs a script for a command: makes the interpreter when the first one comes, and is its door to commands.

EVAL's rows stand in `evals`, those of SCRIPT in `script_admin`. The interpreter is imported here, at the first script:
a node that runs none does not load it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from pyrepl.acl.identity import UNASKED
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.gates import why_not_begin
from pyrepl.commands.engine.rights import why_denied
from pyrepl.commands.engine.scripted import Scripted
from pyrepl.errors import CommandError
from pyrepl.node.client import Client
from pyrepl.node.functions import Function, Library
from pyrepl.node.node import Node
from pyrepl.node.scripts import CachedScript, Running
from pyrepl.observability.version import REDIS_VERSION
from pyrepl.resp.reply import Reply
from pyrepl.scripting.shebang import ALLOW_OOM, COMPATIBLE, NO_WRITES, Script, read_script
from pyrepl.scripting.values import BYTES_EACH, ScriptFailed
from pyrepl.words import to_text

if TYPE_CHECKING:
    from pyrepl.scripting.machine import Machine, Runner

NAME: Final = b"@user_script"
"""What Lua calls the text of a script, and its errors name."""


@final
class ScriptDoor:
    """What the interpreter of a node asks for, and which script asks now. See `scripting.machine.Door`."""

    def __init__(self, node: Node, call: Call) -> None:
        self._node = node
        self._runner = call.runner
        self.client = Client(0, "lua", "", 0.0, UNASKED)
        """Stands for all scripts, one after the other."""
        self._scripted = Scripted(call, self.client)
        self.running: Running | None = None

    def begin(self, call: Call, running: Running) -> None:
        """A script begins, which `call` asks for."""
        self.running = running
        self._scripted.begin(call, running)

    def end(self) -> None:
        """The script is over."""
        self._scripted.end()
        self.running = None

    def call(self, argv: list[bytes]) -> Reply:
        return self._scripted.run(argv)

    def interrupt(self) -> bool:
        running = self.running
        if running is None:
            return False
        self._node.scripts.outside.look(running)
        return running.is_killed

    def set_resp(self, version: int) -> None:
        self.client.speak(version)

    def log(self, level: float, text: bytes) -> None:
        self._node.scripts.outside.log(int(level), text)

    def set_repl(self, flags: int) -> None:
        if self.running is not None:
            self.running.repl_flags = flags

    def may_call(self, argv: list[bytes]) -> bool | None:
        entry = self._runner.find_entry(argv)
        return None if entry is None else why_denied(self.client.identity.user, entry.row, argv) is None

    def cpu_s(self) -> float:
        return self._node.scripts.outside.cpu_s()


@final
class Interpreting:
    """The interpreter of a node, with its door. See `node.scripts.Interpreter`."""

    def __init__(self, node: Node, call: Call, *, is_eval: bool = True) -> None:
        from pyrepl.scripting.machine import KILLED, KILLED_FUNCTION, Machine

        self.door = ScriptDoor(node, call)
        killed = KILLED if is_eval else KILLED_FUNCTION
        self.machine: Machine = Machine(
            self.door, REDIS_VERSION, node.settings.lua_memory_limit, node.scripts.drand, killed
        )

    @property
    def used_bytes(self) -> int:
        return self.machine.used_bytes

    def forget(self, script_id: bytes) -> None:
        self.machine.forget(script_id)


def interpreting(call: Call) -> Interpreting:
    """The interpreter of the node, which is made here if there is none."""
    scripts = call.node.scripts
    found = scripts.interpreter
    if found is None:
        found = scripts.interpreter = Interpreting(call.node, call)
    assert isinstance(found, Interpreting)
    return found


def load(call: Call, sha: bytes, text: bytes, script: Script, *, is_loaded: bool) -> CachedScript:
    """Compile a script and keep it. Raises CommandError with the compiler's complaint."""
    _compile(interpreting(call), sha, script)
    cached = CachedScript(sha, text, script.flags, is_loaded)
    call.node.scripts.add(cached)
    return cached


def _compile(engine: Interpreting, sha: bytes, script: Script) -> Runner:
    """Compile a script in this interpreter, and return what runs it. Raises CommandError with the compiler's
    complaint."""
    complaint = engine.machine.compile(sha, script.code, NAME)
    if complaint is not None:
        raise CommandError(f"ERR Error compiling script (new function): {complaint}")
    runner = engine.machine.script(sha)
    assert runner is not None
    return runner


def execute(call: Call, script: CachedScript, words: list[bytes], keys: int, *, is_read_only: bool) -> Reply:
    """Run a cached script for a command: `keys` of the words are its KEYS. Returns its reply, or its error.

    The error is returned, not raised: a command that raises has changed nothing, and a script may have.
    """
    node, client = call.node, call.client
    refusal = why_not_begin(node, script.flags, is_read_only=is_read_only, from_master=client.is_master_link)
    if refusal is not None:
        raise CommandError(refusal)
    engine = interpreting(call)
    size_bytes = size_of(words)
    if not engine.machine.make_room(size_bytes):
        # Its memory is full: a new one takes its place, and each script is compiled there when it is called.
        node.scripts.interpreter = None
        engine = interpreting(call)
        if not engine.machine.fits(size_bytes):
            raise CommandError("ERR not enough memory")
    runner = engine.machine.script(script.sha)
    if runner is None:
        runner = _compile(engine, script.sha, read_script(script.text))
    declared = not script.flags & COMPATIBLE
    running = Running(
        script.sha,
        node.process.now,
        client.id,
        is_eval=True,
        is_read_only=is_read_only or (declared and bool(script.flags & NO_WRITES)),
        allows_oom=declared and bool(script.flags & ALLOW_OOM),
        from_master=client.is_master_link,
    )
    return _guarded_run(call, engine, running, runner, words, keys)


def size_of(words: list[bytes]) -> int:
    """The bytes that Lua needs for these words, at most."""
    size = BYTES_EACH * len(words)
    for word in words:
        size += len(word)
    return size


def execute_function(
    call: Call,
    engine: Interpreting,
    found: tuple[Library, Function],
    words: list[bytes],
    keys: int,
    *,
    is_read_only: bool,
) -> Reply:
    """As `execute`, for a function of a library that this interpreter has; it has room for the words."""
    node, client = call.node, call.client
    library, function = found
    refusal = why_not_begin(node, function.flags, is_read_only=is_read_only, from_master=client.is_master_link)
    if refusal is not None:
        raise CommandError(refusal)
    running = Running(
        function.name,
        node.process.now,
        client.id,
        is_eval=False,
        is_read_only=is_read_only or bool(function.flags & NO_WRITES),
        allows_oom=bool(function.flags & ALLOW_OOM),
        from_master=client.is_master_link,
    )
    running.argv = call.argv
    return _guarded_run(call, engine, running, engine.machine.function(library.name, function.name), words, keys)


def _guarded_run(
    call: Call, engine: Interpreting, running: Running, runner: Runner, words: list[bytes], keys: int
) -> Reply:
    """Run a script or function as `running`: its commands are one unit, and its error is the reply."""
    scripts, door = call.node.scripts, engine.door
    call.propagate_nothing()
    scripts.begin(running)
    door.begin(call, running)
    try:
        return engine.machine.run(runner, words, keys, call.client.proto)
    except ScriptFailed as failure:
        return _failed(call, running, failure)
    finally:
        door.end()
        scripts.end()


def _failed(call: Call, running: Running, failure: ScriptFailed) -> CommandError:
    """The reply of a script that failed, counted."""
    text = failure.text
    if failure.source and failure.line:
        text += b" script: %b, on %b:%b." % (running.name, failure.source, failure.line)
    error = CommandError(to_text(text).replace("\r", " ").replace("\n", " "))
    if not failure.is_counted:
        call.node.stats.count_error(str(error))
    call.node.stats.of(call.client.last_command).failed_calls += 1
    return error
