"""Nodes of any kind on loopback, pyrepl, Redis and Valkey of several versions (`kinds.py`), treated alike.

`with Lab(folder) as lab: lab.start("redis8")`. Every node gets a port nobody listens on, a folder of its own, its
output in a log file, and no RDB by itself (`--save ""`). It is always ended: at the end of the `with`, on an
exception, and by the kernel (PR_SET_PDEATHSIG) when the test process itself is killed. Nodes are ended by their
process ids only.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from tests.peers import finder
from tests.peers.ports import HOST, free_port
from tests.peers.wire import ErrorReply, Reply, Wire, Word

START_S: Final = 60.0
STOP_S: Final = 60.0
"""A node that needs longer after SIGTERM is killed. Its promise is ten seconds, on a machine that lets it work."""

if TYPE_CHECKING:
    from tests.peers.certificates import Authority

COMMON: Final[dict[str, str]] = {
    "bind": HOST,
    "save": "",
    "enable-debug-command": "yes",
    "repl-diskless-sync-delay": "0",
}

_libc: Final = ctypes.CDLL(None)
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36


class LabError(AssertionError):
    """A node did not do what a test waits for; the text ends with the end of its log."""


def die_with_parent() -> None:
    """For a child, before its program runs: the kernel kills it when the parent ends, however that ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


@contextmanager
def adopting() -> Iterator[None]:
    """Who loses its parent meanwhile becomes a child of this process, and its pid is free as soon as this process has
    waited for it. Otherwise the system's first process has to, and some of these take half a minute: a Dovecot counts
    the owner of a lock file as alive until then."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 0)


def wait_until(what: str, condition: Callable[[], object], timeout_s: float = 60.0, every_s: float = 0.02) -> None:
    """Poll until the condition is true. Raises LabError naming what was waited for."""
    end = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > end:
            raise LabError(f"not within {timeout_s:g} s: {what}")
        time.sleep(every_s)


@dataclass(eq=False)
class Node:
    """One running server."""

    kind: str
    name: str
    port: int
    folder: Path
    log_path: Path
    process: subprocess.Popen[bytes]
    password: str = ""
    tls_port: int = 0
    """The port with TLS that its directives name; 0 for none."""
    _wire: Wire | None = field(default=None, repr=False)

    @property
    def link_port(self) -> int:
        """Where replicas and Sentinel come in: by TLS, if it has a port for it."""
        return self.tls_port or self.port

    def connect(self, timeout_s: float = 60.0) -> Wire:
        """A new connection, authenticated when the node has a password."""
        wire = Wire(self.port, timeout_s=timeout_s)
        if self.password:
            wire.call("AUTH", self.password)
        return wire

    def call(self, *words: Word) -> Reply:
        """One command on the node's own connection, which is opened again when it was cut."""
        if self._wire is not None:
            try:
                return self._wire.call(*words)
            except ConnectionError:
                self.hang_up()
        self._wire = self.connect()
        return self._wire.call(*words)

    def hang_up(self) -> None:
        """Close the node's own connection."""
        if self._wire is not None:
            self._wire.close()
            self._wire = None

    def info(self, section: str = "everything") -> dict[str, str]:
        """INFO as field -> text."""
        lines = self.call("INFO", section).decode().splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line and not line.startswith("#"))

    def stat(self, name: str) -> int:
        """A whole number of INFO stats, as `sync_full`."""
        return int(self.info("stats")[name])

    def log(self) -> str:
        """All it has printed so far."""
        return self.log_path.read_text(errors="replace")

    def tail(self, lines: int = 25) -> str:
        """The end of its log, for an error's text."""
        return "\n".join(self.log().splitlines()[-lines:])

    def alive(self) -> bool:
        """Has its process not ended?"""
        return self.process.poll() is None

    def wait_log(self, text: str, timeout_s: float = 60.0) -> None:
        """Until the log holds this text. Raises LabError with the log's end."""
        try:
            wait_until(f"{text!r} in the log of {self.name}", lambda: text in self.log(), timeout_s)
        except LabError as error:
            raise LabError(f"{error}\n{self.tail()}") from None

    def wait_ready(self, timeout_s: float = START_S) -> None:
        """Until it answers PING, be it with -LOADING or -NOAUTH. Raises LabError if it ends or keeps silent."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            if not self.alive():
                raise LabError(f"{self.name} ended with {self.process.returncode}:\n{self.tail()}")
            try:
                with Wire(self.port, timeout_s=5) as wire:
                    wire.call("PING")
                return
            except ErrorReply:
                return
            except (OSError, ConnectionError):
                time.sleep(0.02)
        raise LabError(f"{self.name} does not answer after {timeout_s:g} s:\n{self.tail()}")

    def wait_loaded(self, timeout_s: float = 120.0) -> None:
        """Until it has read its dump."""
        self._wait("has loaded its dump", lambda: self.info("persistence")["loading"] == "0", timeout_s)

    def wait_online(self, timeout_s: float = 60.0) -> None:
        """Until its first replica is online. A replica that loads without a file sees its link up before its master
        has seen the end of the snapshot child."""
        self._wait(
            "has its replica online", lambda: "state=online" in self.info("replication").get("slave0", ""), timeout_s
        )

    def wait_link_up(self, timeout_s: float = 120.0) -> None:
        """Until this replica says `master_link_status:up`."""
        self._wait("has a link to its master", self.link_is_up, timeout_s)

    def link_is_up(self) -> bool:
        """Does this replica call its link up?"""
        return self.info("replication").get("master_link_status") == "up"

    def offset(self) -> int:
        """How many bytes of the stream it holds: a master's end, a replica's processed part."""
        info = self.info("replication")
        return int(info["slave_repl_offset" if info["role"] == "slave" else "master_repl_offset"])

    def _wait(self, what: str, condition: Callable[[], bool], timeout_s: float) -> None:
        def ready() -> bool:
            if not self.alive():
                raise LabError(f"{self.name} ended with {self.process.returncode}")
            try:
                return condition()
            except ErrorReply as error:
                if str(error).startswith(("LOADING", "MASTERDOWN")):
                    return False
                raise
            except ConnectionError:
                # One that ends hangs up first; what it ended with is the better story, told at the next look.
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(STOP_S)
                    return False
                raise

        try:
            wait_until(f"{self.name} {what}", ready, timeout_s, every_s=0.05)
        except LabError as error:
            raise LabError(f"{error}\n{self.tail()}") from None

    def terminate(self, timeout_s: float = STOP_S) -> int:
        """SIGTERM, then wait; its exit status. Raises LabError when it needs longer."""
        self.hang_up()
        self.process.terminate()
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise LabError(f"{self.name} still runs {timeout_s:g} s after SIGTERM:\n{self.tail()}") from None

    def kill(self) -> None:
        """SIGKILL to the node alone, as the OOM killer would; its children are its own business."""
        self.hang_up()
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        """Whatever happens, it does not run any more, and neither does a child of it."""
        self.hang_up()
        if self.alive():
            self.process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(STOP_S)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Lab:
    """All nodes of one test; ends them at its end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.nodes: list[Node] = []
        self._authority: Authority | None = None

    @property
    def authority(self) -> Authority:
        """The CA that the nodes of this test share, where they speak TLS."""
        if self._authority is None:
            # It needs a package of the tests, which `make demo` has not.
            from tests.peers.certificates import Authority

            self._authority = Authority(self.folder / "tls")
        return self._authority

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End every node, the newest first."""
        for node in reversed(self.nodes):
            node.end()

    def start(
        self,
        kind: str,
        master: Node | int | str | None = None,
        directives: Mapping[str, str] | None = None,
        dump: Path | None = None,
        port: int | None = None,
        folder: Path | None = None,
        program: Sequence[str] | None = None,
    ) -> Node:
        """Start a node and wait until it answers.

        `master` is the node, or the port on loopback, that it follows; of a pyrepl also the URL. `dump` becomes its
        dump.rdb. A `folder` given is used as it is, as after a restart. `program` stands in for the command `pyrepl`.
        Raises LabError when it does not come up.
        """
        node = self.launch(kind, master, directives, dump, port, folder, program)
        node.wait_ready()
        return node

    def launch(
        self,
        kind: str,
        master: Node | int | str | None = None,
        directives: Mapping[str, str] | None = None,
        dump: Path | None = None,
        port: int | None = None,
        folder: Path | None = None,
        program: Sequence[str] | None = None,
    ) -> Node:
        """As `start`, without waiting."""
        name = f"{len(self.nodes)}-{kind}"
        folder = folder or self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        if dump is not None:
            (folder / "dump.rdb").write_bytes(dump.read_bytes())
        port = port or free_port()
        master_port = master.port if isinstance(master, Node) else master
        settings = {"port": str(port), "dir": str(folder), **COMMON, **(directives or {})}
        log_path = self.folder / f"{name}.log"
        with log_path.open("ab") as log:
            process = subprocess.Popen(
                command_line(kind, master_port, settings, program),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=folder,
                start_new_session=True,
                preexec_fn=die_with_parent,
            )
        tls_port = int(settings.get("tls-port", 0))
        node = Node(kind, name, port, folder, log_path, process, settings.get("requirepass", ""), tls_port)
        self.nodes.append(node)
        return node


def command_line(
    kind: str, master: int | str | None, settings: Mapping[str, str], program: Sequence[str] | None = None
) -> list[str]:
    """How a node of this kind is started; the same directives mean the same with all of them.

    `config` is a file to be read first; real servers take its name before all else.
    """
    file = [settings["config"]] if kind != "pyrepl" and "config" in settings else []
    flags = [part for name, value in settings.items() if [value] != file for part in (f"--{name}", value)]
    if kind == "pyrepl":
        where = f"{HOST}:{master}" if isinstance(master, int) else master
        role = ["master"] if where is None else ["replica", "--master", where]
        return [*(program or pyrepl_command()), *role, *flags]
    if master is not None:
        flags += ["--replicaof", HOST, str(master)]
    return [str(finder.server(kind)), *file, *flags]


def pyrepl_command() -> list[str]:
    """The console script of this environment, or the module when it is not installed as a script."""
    script = Path(sys.executable).with_name("pyrepl")
    return [str(script)] if script.exists() else [sys.executable, "-m", "pyrepl_cli.main"]
