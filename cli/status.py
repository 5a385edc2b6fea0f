"""`pyrepl status`: asks the nodes, and shows the tree on the screen or as JSON, once or every second.

What the tree says is decided in pyrepl.topology; how nodes are asked is in asking.py.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from itertools import compress
from typing import Final, NamedTuple, final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from pyrepl.address import Address
from pyrepl.topology.document import document_of
from pyrepl.topology.problems import problems_in
from pyrepl.topology.rows import COLUMNS, complaints, lines_of, summary
from pyrepl.topology.tree import Tree, build
from pyrepl.topology.walk import Answer, write_rates

from .asking import Way, ask_all, look
from .pages import OK, TROUBLE, UNREACHABLE

_EVERY_S: Final = 1.0
_RATE_OVER_S: Final = 0.5
_COLOURS: Final = {"good": "", "busy": "yellow", "bad": "red"}
_TO_THE_RIGHT: Final = ("offset", "lag", "survives a cut of", "writes")
_WIDE: Final = 105
_LEFT_OUT: Final = ("writes", "software")
"""Columns that are left out on a screen of fewer than _WIDE columns."""


class Options(NamedTuple):
    """What the command line asked for."""

    start: Address
    way: Way
    timeout_s: float
    max_lag_s: int
    as_json: bool


def show(options: Options) -> int:
    """Look once and print; the exit status."""
    tree = asyncio.run(_look_once(options))
    if options.as_json:
        print(json.dumps(document_of(tree, options.max_lag_s), indent=2))
    else:
        console = _console()
        console.print(picture(tree, options.max_lag_s, console.width))
    return exit_status(tree, options.max_lag_s)


def watch(options: Options) -> int:
    """Look every second until Ctrl-C; the exit status is that of the last look."""
    watching = _Watching(options)
    try:
        asyncio.run(watching.go_on())
    except KeyboardInterrupt:
        pass
    except BrokenPipeError:
        # Whoever read along (`| head`) has gone; Python must not stumble over that again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return watching.status


def exit_status(tree: Tree, max_lag_s: int) -> int:
    """0: all is in sync; 1: something is not; 2: the first node cannot be asked."""
    if tree.start_failure:
        return UNREACHABLE
    return TROUBLE if problems_in(tree, max_lag_s) else OK


async def _look_once(options: Options) -> Tree:
    """Ask all nodes, and the masters once more after a moment: from the two answers follows how fast they write."""
    walk = await look(options.start, options.way, options.timeout_s)
    tops = [node.address for node in build(walk).tops if node.facts is not None]
    if not tops:
        return build(walk)
    seen_at = max(walk.answers[key].at for key in tops)
    await asyncio.sleep(max(0.0, seen_at + _RATE_OVER_S - time.monotonic()))
    again = await ask_all(tops, options.way, options.timeout_s)
    later = {key: answer for key, answer in again.items() if isinstance(answer, Answer)}
    return build(walk, write_rates(walk.answers, later))


@final
class _Watching:
    """Looks every second; the write rates are those since the look before. `status` is the last look's exit status."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._before: dict[Address, Answer] = {}
        self.status = UNREACHABLE

    async def go_on(self) -> None:
        """Look and show until cancelled."""
        if self._options.as_json:
            while True:
                # One document a line, for whoever reads line by line.
                print(json.dumps(document_of(await self._look(), self._options.max_lag_s)), flush=True)
                await asyncio.sleep(_EVERY_S)
        console = _console()
        with Live(console=console, auto_refresh=False, screen=console.is_terminal) as live:
            while True:
                tree = await self._look()
                live.update(picture(tree, self._options.max_lag_s, console.width), refresh=True)
                await asyncio.sleep(_EVERY_S)

    async def _look(self) -> Tree:
        options = self._options
        walk = await look(options.start, options.way, options.timeout_s)
        tree = build(walk, write_rates(self._before, walk.answers))
        self._before = walk.answers
        self.status = exit_status(tree, options.max_lag_s)
        return tree


def _console() -> Console:
    """Where the picture is printed. When that is no terminal, lines must not be broken at 80 columns."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=240)


def picture(tree: Tree, max_lag_s: int, width: int) -> RenderableType:
    """The tree, what is wrong, and all of it in a line; on a narrow screen without the columns that matter least."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    shown = [name not in _LEFT_OUT or width >= _WIDE for name in COLUMNS]
    for name in compress(COLUMNS, shown):
        table.add_column(name, justify="right" if name in _TO_THE_RIGHT else "left", no_wrap=True)
    for line in lines_of(tree, max_lag_s):
        table.add_row(*(Text(cell) for cell in compress(line.cells, shown)), style=_COLOURS[line.mood])
    hidden = [name for name, is_shown in zip(COLUMNS, shown) if not is_shown]
    hint = (
        [Text(f"left out at {width} columns: {', '.join(hidden)} ({_WIDE} show them)", style="dim")] if hidden else []
    )
    wrong = [Text(f"! {text}", style="yellow") for text in complaints(tree, max_lag_s)]
    last = Text(summary(tree, max_lag_s), style="bold red" if wrong else "bold green")
    return Group(table, *hint, "", *wrong, last)
