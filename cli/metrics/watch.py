"""What `pyrepl metrics` is doing, on standard error: a bar on a terminal, elsewhere a line now and then.

Whoever redirects standard error reads it later, or over somebody's shoulder: a line as each step begins, and one every
_LINE_S while it lasts.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from typing import Final, Protocol, TextIO, final

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from pyrepl.analysis.progress import Tasks

_LOOK_S: Final = 0.2
_LINE_S: Final = 10.0


class _Shown(Protocol):
    """One way to show it. For one thread at a time."""

    def start(self) -> None: ...
    def step(self, name: str) -> None:
        """Another step begins."""
        ...

    def detail(self, done: int, total: int, text: str) -> None:
        """How far the step is."""
        ...

    def look(self, now: float) -> None:
        """Time passes; monotonic seconds."""
        ...

    def stop(self) -> None:
        """Nothing of it stays that would be in the way of what is printed next."""
        ...


@final
class Watch:
    """Shows the step, and the tasks of Spark's present stages: a Progress (pyrepl.analysis.progress).

    Invariant: nothing is shown before `__enter__`, and nothing after `stop`.
    """

    def __init__(self, *, quiet: bool) -> None:
        # A line of its own to standard error, which is turned aside while Spark starts.
        self._file = os.fdopen(os.dup(2), "w")
        console = Console(file=self._file)
        self._shown: _Shown | None = None
        if not quiet:
            self._shown = _Bar(console) if console.is_terminal else Lines(self._file)
        self._tasks: Callable[[], Tasks] | None = None
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="metrics-progress", daemon=True)

    def __enter__(self) -> Watch:
        if self._shown is not None:
            self._shown.start()
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
        with contextlib.suppress(OSError):
            self._file.close()

    def stop(self) -> None:
        """There is something better to see from now on."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        with self._lock:
            shown, self._shown = self._shown, None
            if shown is not None:
                shown.stop()

    def step(self, name: str) -> None:
        """Another step begins."""
        with self._lock:
            if self._shown is not None:
                self._shown.step(name)

    def ask(self, tasks: Callable[[], Tasks] | None) -> None:
        """Ask this for Spark's tasks from now on."""
        self._tasks = tasks

    def _detail(self, done: int, total: int, text: str) -> None:
        with self._lock:
            if self._shown is not None:
                self._shown.detail(done, total, text)

    def _look(self) -> None:
        while not self._over.wait(_LOOK_S):
            tasks = self._tasks
            if tasks is not None:
                with contextlib.suppress(Exception):
                    # A session that is just being stopped answers with whatever error it likes.
                    done, total, stages = tasks()
                    if total:
                        text = f"{done}/{total} tasks in {stages} stage{'' if stages == 1 else 's'}"
                        self._detail(done, total, text)
            with self._lock:
                if self._shown is not None:
                    self._shown.look(time.monotonic())


@final
class _Bar:
    """On a terminal; gone without a trace when it stops."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[tasks]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._task: TaskID | None = None

    def start(self) -> None:
        self._progress.start()

    def step(self, name: str) -> None:
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(name, total=None, tasks="")

    def detail(self, done: int, total: int, text: str) -> None:
        if self._task is not None:
            self._progress.update(self._task, completed=done, total=total, tasks=text)

    def look(self, now: float) -> None:
        """The bar moves by itself."""

    def stop(self) -> None:
        self._progress.stop()


@final
class Lines:
    """In a file or a pipe. Whoever has closed it does not want to know."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._name = ""
        self._detail = ""
        self._since: float | None = None
        self._told_at = 0.0

    def start(self) -> None:
        """The first step says that we have begun."""

    def step(self, name: str) -> None:
        self._name, self._detail, self._since = name, "", None
        self._say(name)

    def detail(self, done: int, total: int, text: str) -> None:
        self._detail = text

    def look(self, now: float) -> None:
        if self._since is None:
            self._since = self._told_at = now
        elif now - self._told_at >= _LINE_S:
            self._told_at = now
            detail = f", {self._detail}" if self._detail else ""
            self._say(f"{self._name}{detail}, for {now - self._since:.0f} s now")

    def stop(self) -> None:
        """Lines stay."""

    def _say(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self._file.write(f"pyrepl metrics: {text}\n")
            self._file.flush()
