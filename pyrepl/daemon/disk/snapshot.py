"""The snapshot child: a forked process that has the data of the moment of the fork, writes it out and ends.

`saver` and `aof/rewrite.py` make a `Snapshot`, the parent's side. The child dies with its parent (PR_SET_PDEATHSIG). It
keeps only the descriptors that it needs, so that a connection that the parent closes is really closed. The parent reaps
it however it ends (a pidfd in the loop), and kills it when nobody waits for it any more. The child reports on a pipe,
in lines:

    keys <done>         progress, ten times a second at most
    lost <fd> <why>     this descriptor of a replica failed, or took nothing for too long
    done <keys> <bytes> the snapshot is written, and has so many keys and bytes
    cow <bytes>         memory that the child did not share with its parent at the end
    error <text>        why the snapshot failed

Not here: the bytes of a snapshot (`keyspace.snapshot`, `keyspace.as_commands`), the files and sockets that they go to
(`snapshot_sinks`).
"""

from __future__ import annotations

import asyncio
import functools
import gc
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, final

from pyrepl.daemon.disk.shared_seconds import SharedSeconds
from pyrepl.daemon.disk.snapshot_sinks import FileSink, NobodyWaits, PacedSink, ReplicasSink, Sink
from pyrepl.frozen import Frozen
from pyrepl.keyspace.as_commands import Job

_PR_SET_PDEATHSIG: Final = 1
_REPORT_EVERY_S: Final = 0.1
_READ_BYTES: Final = 65536


class ToFile(Frozen):
    """The snapshot becomes the file `path`."""

    path: Path


class ToReplicas(Frozen):
    """The snapshot goes to replicas while it is made, between `$EOF:<mark>` and the mark."""

    heads: dict[int, bytes]
    """For each descriptor that leads to a replica (`snapshot_sinks`) the bytes that go out there before the snapshot
    (`+FULLRESYNC ...`)."""
    mark: bytes
    timeout: SharedSeconds
    """How long a replica may take no byte before the child gives it up."""
    max_bytes_per_s: int = 0
    """The pace of the snapshot; 0 sets no limit."""


Target = ToFile | ToReplicas

Blocks: TypeAlias = Iterator[tuple[bytes, int]]
"""The blocks of a snapshot in order, each with the number of keys written up to its end."""


@dataclass(slots=True)
class Outcome:
    """How a snapshot ended. `error` is empty when it is complete."""

    target: Target
    error: str
    signal: int
    """The number of the signal that killed the child, 0 if it ended by itself."""
    is_unwanted: bool
    """We killed the child, as nobody needs its snapshot any more: this is no failure."""
    seconds: float
    cow_bytes: int = 0
    keys: int = 0
    written_bytes: int = 0
    lost: dict[int, str] = field(default_factory=dict)
    """The descriptors that failed, with the reasons. If there is no error, all others got the whole snapshot."""

    @property
    def word(self) -> str:
        """The word for the failure in INFO and the log; empty if there was none."""
        if self.signal or "gone" in self.error:
            return "killed"
        return "disk" if self.error else ""


@final
class Snapshot:
    """The parent's side of one child; make a new one for each snapshot.

    Invariant: from `start` until `on_end` was called exactly one child process exists.
    """

    def __init__(
        self,
        on_progress: Callable[[int], None],
        on_end: Callable[[Outcome], None],
        niceness: int = 0,
        on_lost: Callable[[int, str], None] = lambda fd, why: None,
    ) -> None:
        """`on_progress` gets the number of keys written so far. `on_lost` gets (descriptor, why) as soon as the child
        reports that it gives a replica up; the outcome has all of them again. `niceness`, 0 to 19, gives the child less
        of the processor than this process.
        """
        self._niceness = niceness
        self._on_progress = on_progress
        self._on_end = on_end
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._unread = b""
        self._error = ""
        self._is_unwanted = False
        self._cow_bytes = 0
        self._keys = 0
        self._written_bytes = 0
        self._lost: dict[int, str] = {}
        self.pid = 0
        self.fork_us = 0

    def start(self, job: Job, target: Target) -> None:
        """Fork. Raises OSError when the system cannot, ValueError for an RDB version that nobody writes."""
        self._target = target
        _load_libc()
        # Objects made before the fork stay shared with the child and cost no memory. `fspath` makes a Path keep its
        # text.
        blocks = job.blocks()
        if isinstance(target, ToFile):
            os.fspath(target.path)
        read_end, write_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        parent = os.getpid()
        self._started_at = time.monotonic()
        try:
            pid = os.fork()
        except OSError:
            os.close(read_end)
            os.close(write_end)
            raise
        if pid == 0:
            _child_main(parent, job, blocks, target, write_end, self._niceness)
        self.fork_us = int((time.monotonic() - self._started_at) * 1e6)
        os.close(write_end)
        self.pid = pid
        self._pipe = read_end
        try:
            self._pidfd = os.pidfd_open(pid)
        except OSError:
            # Without a pidfd nobody would notice the child's end.
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(read_end)
            raise
        self._loop.add_reader(self._pipe, self._read_reports)
        self._loop.add_reader(self._pidfd, self._reap)

    def kill(self, reason: str) -> None:
        """Kill the child, as nobody needs its snapshot. `on_end` is called later, with `reason` as the error, unless
        the child has reported an error before."""
        if not self._error:
            self._is_unwanted = True
            self._error = reason
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def kill_and_reap(self) -> None:
        """As `kill`, but `on_end` is called before this returns: for the end of the node."""
        self.kill("the node ends")
        self._reap()

    def _read_reports(self) -> None:
        try:
            data = os.read(self._pipe, _READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            self._loop.remove_reader(self._pipe)
            return
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            self._receive_report(line.decode())

    def _receive_report(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if word == "keys":
            self._on_progress(int(rest))
        elif word == "lost":
            fd, _, why = rest.partition(" ")
            self._lost[int(fd)] = why
            self._on_lost(int(fd), why)
        elif word == "done":
            keys, _, size = rest.partition(" ")
            self._keys, self._written_bytes = int(keys), int(size)
        elif word == "cow":
            self._cow_bytes = int(rest)
        else:
            self._error = self._error or rest

    def _reap(self) -> None:
        _, status = os.waitpid(self.pid, 0)
        self._read_reports()
        seconds = time.monotonic() - self._started_at
        self._close()
        code = os.waitstatus_to_exitcode(status)
        error = self._error
        if code < 0 and not error:
            error = f"the child was killed by signal {-code} ({signal.Signals(-code).name})"
        elif code > 0 and not error:
            error = f"the child exited with code {code}"
        self._remove_rest()
        size = (self._keys, self._written_bytes)
        ended = (max(0, -code), self._is_unwanted and bool(error), seconds, self._cow_bytes)
        self._on_end(Outcome(self._target, error, *ended, *size, lost=self._lost))

    def _remove_rest(self) -> None:
        """Remove the temporary file, which a child that was killed leaves behind."""
        if isinstance(self._target, ToFile):
            self._target.path.with_name(f"temp-{self.pid}.rdb").unlink(missing_ok=True)

    def _close(self) -> None:
        for fd in (self._pipe, self._pidfd):
            self._loop.remove_reader(fd)
            os.close(fd)


@final
class _Reporter:
    """The child's end of the pipe. When the pipe is full, reports of progress are dropped; others wait for room."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._next_at = 0.0

    def keys(self, done: int) -> None:
        now = time.monotonic()
        if now >= self._next_at:
            self._next_at = now + _REPORT_EVERY_S
            with suppress(BlockingIOError):
                os.write(self._fd, b"keys %d\n" % done)

    def say(self, text: str) -> None:
        line = text.replace("\n", " ").encode("utf-8", "replace") + b"\n"
        os.set_blocking(self._fd, True)
        os.write(self._fd, line)
        os.set_blocking(self._fd, False)


def save_to_file(job: Job, path: Path, on_keys: Callable[[int], None]) -> tuple[int, int]:
    """Write the snapshot to a file in this process (SAVE). Returns (keys, bytes). Raises OSError, and then a file that
    was at `path` before is unchanged."""
    return _to_file(job.blocks(), path, job.key_save_delay_us, on_keys)


def _to_file(blocks: Blocks, path: Path, delay_us: int, on_keys: Callable[[int], None]) -> tuple[int, int]:
    sink = FileSink(path)
    try:
        return _write(blocks, sink, delay_us, on_keys)
    except BaseException:
        sink.abandon()
        raise


def _write(blocks: Blocks, sink: Sink, delay_us: int, on_keys: Callable[[int], None]) -> tuple[int, int]:
    delay_s = delay_us / 1e6
    written = size = 0
    for block, done in blocks:
        sink.write(block)
        size += len(block)
        if delay_s:
            time.sleep(delay_s * (done - written))
        written = done
        on_keys(done)
    sink.finish()
    return written, size


def _child_main(parent: int, job: Job, blocks: Blocks, target: Target, report_fd: int, niceness: int) -> None:
    """All that the child does; it never returns."""
    code = 1
    reporter = _Reporter(report_fd)
    try:
        _settle_in(parent, report_fd, target)
        _stand_back(niceness)
        if isinstance(target, ToFile):
            keys, size = _to_file(blocks, target.path, job.key_save_delay_us, reporter.keys)
        else:
            sink = _replicas_sink(target, reporter)
            if target.max_bytes_per_s:
                sink = PacedSink(sink, target.max_bytes_per_s, time.monotonic, time.sleep)
            keys, size = _write(blocks, sink, job.key_save_delay_us, reporter.keys)
        reporter.say(f"done {keys} {size}")
        reporter.say(f"cow {_private_bytes()}")
        code = 0
    except NobodyWaits:
        reporter.say("error every replica waiting for the snapshot is gone")
    except OSError as error:
        reporter.say(f"error {error.strerror or error}")
    except BaseException as error:
        reporter.say(f"error {type(error).__name__}: {error}")
    finally:
        os._exit(code)


def _replicas_sink(target: ToReplicas, reporter: _Reporter) -> Sink:
    def lost(fd: int, why: str) -> None:
        reporter.say(f"lost {fd} {why}")

    return ReplicasSink(target.heads, target.mark, target.timeout, lost, time.monotonic)


def _settle_in(parent: int, report_fd: int, target: Target) -> None:
    """Turn the forked process into one that only writes: without the parent's signal handlers and descriptors, and
    without the garbage collector, whose marks in objects would copy the memory shared with the parent."""
    gc.disable()
    signal.set_wakeup_fd(-1)
    libc = _load_libc()
    libc.signal(signal.SIGTERM, signal.SIG_DFL)
    libc.signal(signal.SIGINT, signal.SIG_IGN)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    keep = {0, 1, 2, report_fd}
    if isinstance(target, ToReplicas):
        keep.update(target.heads)
    _close_all_but(keep)


def _stand_back(niceness: int) -> None:
    """Leave the processor to the process that answers clients: with a lower weight, and as a batch process, which does
    not interrupt others when it wakes up because a socket takes bytes again."""
    if niceness:
        with suppress(OSError):
            os.nice(niceness)
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


class _Libc(NamedTuple):
    """The functions that a child calls in libc. Python has no prctl. Python's own `signal` looks up the former handler
    among the members of an enum, which copies 200 KB of the memory shared with the parent."""

    prctl: Callable[[int, int], int]
    signal: Callable[[int, int], int]


@functools.cache
def _load_libc() -> _Libc:
    """The functions of libc. The first call is the parent's, so that the child need not load anything."""
    import ctypes

    libc = ctypes.CDLL(None)
    libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
    return _Libc(libc.prctl, libc.signal)


def _close_all_but(keep: set[int]) -> None:
    low = 0
    for fd in sorted(keep):
        # An empty range at 0 makes CPython 3.11 close everything.
        if low < fd:
            os.closerange(low, fd)
        low = fd + 1
    os.closerange(low, os.sysconf("SC_OPEN_MAX"))


def _private_bytes() -> int:
    """The bytes of memory that this process does not share with its parent: the cost of copy-on-write."""
    with suppress(OSError), open("/proc/self/smaps_rollup", "rb") as rollup:
        for line in rollup:
            if line.startswith(b"Private_Dirty:"):
                return int(line.split()[1]) * 1024
    return 0
