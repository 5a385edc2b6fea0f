"""`make demo`: a master under load, a replica attached, the link cut and healed, and the proof that both hold the same.

It stands beside the benchmarks because, like them, it drives real processes and prints for people; it needs nothing but
pyrepl and its runtime dependencies. It ends by itself, with 1 if the proof fails. Two real nodes run on free loopback
ports in a temporary folder, which is removed at the end.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.panel import Panel
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.peers import compare, dataset
from tests.peers.lab import Lab, Node, command_line, wait_until
from tests.peers.ports import HOST
from tests.peers.proxy import Proxy
from tests.peers.writer import Writer

MIXED_KEYS: Final = 20_000
PLAIN_KEYS: Final = 200_000
BACKLOG: Final = {"repl-backlog-size": "64mb"}
SHOWN_FIELDS: Final = (
    "role",
    "connected_slaves",
    "slave0",
    "master_host",
    "master_port",
    "master_link_status",
    "master_replid",
    "master_repl_offset",
    "slave_repl_offset",
    "repl_backlog_first_byte_offset",
    "repl_backlog_histlen",
)


class Demo:
    """The steps, in order; each says what it does before it does it."""

    proxy: Proxy
    """Stands between the two, to be the network that fails."""

    def __init__(self, lab: Lab, console: Console) -> None:
        self.lab = lab
        self.console = console
        self._numbers = itertools.count(1)

    def run(self) -> bool:
        """All of it; was the proof good?"""
        master = self.start_master()
        with Proxy(master.port) as self.proxy, Writer(master) as writer:
            self.say("A client writes to it all the time: about 4,000 commands a second, every type, transactions too.")
            time.sleep(1)
            replica = self.attach(master)
            time.sleep(1)
            self.cut(master, replica)
            time.sleep(1)
            writer.stop()
            compare.settle(master, replica)
            self.say(f"The client stops after {writer.written:,} commands. INFO replication of both:")
            self.show_info(master, replica)
            return self.prove(master, replica)

    def say(self, text: str) -> None:
        """The next step's line."""
        self.console.print(f"\n[bold cyan]{next(self._numbers)}.[/] {text}")

    def start_master(self) -> Node:
        """A node with a data set of every type and encoding, and many plain strings."""
        self.say(f"A master, and {MIXED_KEYS + PLAIN_KEYS:,} keys: every type and encoding, and plain strings.")
        master = self.lab.start("pyrepl", directives={**BACKLOG, "repl-diskless-sync": "no"})
        self.command(master, None)
        dataset.fill(master, dataset.commands(MIXED_KEYS))
        with master.connect(timeout_s=300) as wire:
            wire.call("DEBUG", "POPULATE", PLAIN_KEYS, "plain", 100)
        self.console.print(f"   DBSIZE {master.call('DBSIZE'):,} in database 0, and more in 1 and 15")
        return master

    def attach(self, master: Node) -> Node:
        """A replica behind a proxy, and its full resync as its own INFO tells it."""
        self.say("A replica. Its first sync is a full one, while the client goes on writing:")
        replica = self.lab.start("pyrepl", self.proxy.port, BACKLOG)
        self.command(replica, master)
        began = time.monotonic()
        columns = (TextColumn("   {task.description:10}"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self.console) as progress:
            bars = {name: progress.add_task(name, total=None) for name in ("receiving", "loading")}
            while not replica.link_is_up():
                for name, (done, total) in _transfer(replica.info()).items():
                    progress.update(bars[name], completed=done, total=total)
                time.sleep(0.02)
            for task in progress.tasks:
                progress.update(task.id, completed=task.total or task.completed or 1, total=task.total or 1)
        took = time.monotonic() - began
        self.console.print(f"   up after {took:.1f} s; sync_full on the master: {_stat(master, 'full')}")
        return replica

    def cut(self, master: Node, replica: Node) -> None:
        """The network fails for two seconds under load; a partial resync."""
        self.say("The network between them fails for two seconds, while the client goes on writing:")
        partial, full = _stat(master, "partial_ok"), _stat(master, "full")
        self.proxy.refuse()
        wait_until("the replica notices", lambda: not replica.link_is_up())
        self.console.print(f"   master_link_status:{replica.info('replication')['master_link_status']}")
        time.sleep(2)
        self.proxy.heal()
        wait_until("the replica is back", replica.link_is_up)
        self.console.print(
            f"   back, with only the bytes that were missing: sync_partial_ok {partial} -> "
            f"{_stat(master, 'partial_ok')}, sync_full {full} -> {_stat(master, 'full')}; in the master's log:"
        )
        for line in master.log().splitlines():
            if "Partial resynchronization request" in line:
                self.console.print(f"   [dim]{line}[/]", highlight=False)

    def show_info(self, master: Node, replica: Node) -> None:
        """The fields of INFO replication that tell the most, side by side."""
        ours, theirs = master.info("replication"), replica.info("replication")
        table = Table()
        for heading in ("field", "master", "replica"):
            table.add_column(heading, overflow="fold")
        for name in SHOWN_FIELDS:
            if name in ours or name in theirs:
                table.add_row(name, ours.get(name, ""), theirs.get(name, ""))
        self.console.print(table)

    def prove(self, master: Node, replica: Node) -> bool:
        """Equal digests, and equal in a walk over every key."""
        self.say("Do both hold the same? DEBUG DIGEST over all data, and a walk over every key, type and time to live:")
        digests = compare.digest(master), compare.digest(replica)
        differing = compare.differences(master, replica)
        self.console.print(f"   master  {digests[0]}\n   replica {digests[1]}\n   keys that differ: {len(differing)}")
        for line in differing[:10]:
            self.console.print(f"   [red]{line}[/]")
        return digests[0] == digests[1] and not differing

    def command(self, node: Node, master: Node | None) -> None:
        """How a person starts such a node."""
        words = command_line("pyrepl", self.proxy.port if master else None, {"port": str(node.port)})
        self.console.print(f"   $ {Path(words[0]).name} {' '.join(words[1:])}", highlight=False)


def _transfer(info: dict[str, str]) -> dict[str, tuple[int, int | None]]:
    """Bytes done and in all (None while unknown) of the two steps of a full resync, as far as INFO tells them."""
    steps = {
        "receiving": ("master_sync_read_bytes", "master_sync_total_bytes"),
        "loading": ("loading_loaded_bytes", "loading_total_bytes"),
    }
    return {
        name: (int(info[done]), int(info[total]) if int(info.get(total, 0)) > 0 else None)
        for name, (done, total) in steps.items()
        if done in info
    }


def _stat(node: Node, which: str) -> int:
    return node.stat(f"sync_{which}")


def main() -> None:
    """Run it; exit status 1 when the two differ."""
    console = Console()
    began = time.monotonic()
    console.print(Panel(f"pyrepl: a master and a replica on {HOST}", expand=False))
    with tempfile.TemporaryDirectory() as folder, Lab(Path(folder)) as lab:
        equal = Demo(lab, console).run()
    verdict = "[bold green]The same, to the last byte.[/]" if equal else "[bold red]They differ: this is a defect.[/]"
    console.print(f"\n{verdict} {time.monotonic() - began:.0f} s.")
    sys.exit(not equal)


if __name__ == "__main__":
    main()
