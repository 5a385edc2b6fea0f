"""A machine whose commands are a few answers, for the tests of the room."""

from __future__ import annotations

from pyrepl.errors import CommandError
from pyrepl.resp.reply import OK, Raw, Reply
from pyrepl.scripting.machine import Machine
from pyrepl.scripting.numbers import Drand48
from pyrepl.scripting.values import ScriptFailed

MEMORY = 64 << 20


class Commands:
    """The door of a machine: GIVE answers `given`; a script ends after `patience` looks."""

    def __init__(self) -> None:
        self.given: Reply = None
        self.calls: list[list[bytes]] = []
        self.logged: list[tuple[int, bytes]] = []
        self.patience = 20
        self.repl_flags = 3
        self.resp = 2

    def call(self, argv: list[bytes]) -> Reply:
        self.calls.append(argv)
        if argv[0] == b"GIVE":
            return self.given
        if argv[0] == b"DEFECT":
            raise ZeroDivisionError("a defect")
        return OK if argv[0] == b"SET" else CommandError("ERR no such thing") if argv[0] == b"BAD" else len(self.calls)

    def interrupt(self) -> bool:
        self.patience -= 1
        return self.patience < 0

    def set_resp(self, version: int) -> None:
        self.resp = version

    def log(self, level: int, text: bytes) -> None:
        self.logged.append((level, text))

    def set_repl(self, flags: int) -> None:
        self.repl_flags = flags

    def may_call(self, argv: list[bytes]) -> bool | None:
        return None if argv[0] == b"NOSUCH" else True

    def cpu_s(self) -> float:
        return 1.5


class Lua:
    """Runs scripts, each compiled anew."""

    def __init__(self, memory: int = MEMORY) -> None:
        self.commands = Commands()
        self.machine = Machine(self.commands, "8.2.3", memory, Drand48())

    def run(self, code: str | bytes, *words: bytes, keys: int = 0, proto: int = 2) -> Reply:
        """What a script returns; its tables as they go over the wire. Raises ScriptFailed."""
        text = code if isinstance(code, bytes) else code.encode()
        complaint = self.machine.compile(b"it", text, b"@user_script")
        assert complaint is None, complaint
        runner = self.machine.script(b"it")
        assert runner is not None
        reply = self.machine.run(runner, words, keys, proto)
        return reply.encoded if isinstance(reply, Raw) else reply

    def error(self, code: str | bytes) -> bytes:
        """The error that a script must end with."""
        try:
            reply = self.run(code)
        except ScriptFailed as failed:
            return failed.text
        raise AssertionError(f"no error, but {reply!r}")
