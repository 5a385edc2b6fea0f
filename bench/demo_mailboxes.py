"""`make demo-mailboxes`: three nodes keep one mailbox, two programs write to it, a node is pulled out and put back.

As `make demo` it drives real processes and prints for people. The nodes run on free loopback ports in a temporary
folder, which is removed at the end; it ends by itself, with 1 if the Maildirs differ.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.panel import Panel

from tests.fault.mailbox_cluster import USER, MailboxCluster, Writer
from tests.peers.lab import Lab

MAILS: Final = 150


def run(cluster: MailboxCluster, console: Console) -> bool:
    """All of it; are the Maildirs equal, and is every mail there that was answered?"""
    console.print("\n[bold cyan]1.[/] Three nodes, each with Maildirs of its own, and an empty INBOX.")
    cluster.start(*cluster.names)
    cluster.client("a").create(USER, "INBOX")
    console.print(f"   mailbox-members {cluster.members}", highlight=False)
    console.print(f"\n[bold cyan]2.[/] Two programs save {MAILS} mails each, at a and at b, into the same INBOX.")
    writers = [Writer(cluster.client(name), name, MAILS) for name in ("a", "b")]
    began = time.monotonic()
    writers[0].half()
    console.print("\n[bold cyan]3.[/] Meanwhile c is pulled out (kill -9); the writers go on.")
    cluster.nodes["c"].kill()
    for writer in writers:
        writer.join()
    took = time.monotonic() - began
    kept = sum(len(writer.kept) for writer in writers)
    console.print(f"   {kept} mails in {took:.1f} s, each on the disks of two nodes before its program heard of it")
    console.print("\n[bold cyan]4.[/] c is put back, and gets what it missed.")
    began = time.monotonic()
    cluster.start("c")
    shown = cluster.wait_equal()
    console.print(f"   equal after {time.monotonic() - began:.1f} s, its start included")
    for name in cluster.names:
        view = cluster.view(name)
        console.print(f"   {name}: {len(view)} mails, UIDs {min(view)} to {max(view)}")
    return sorted(text for _, text in shown.values()) == sorted(text for writer in writers for text in writer.kept)


def main() -> None:
    """Run it; exit status 1 when something is missing."""
    console = Console()
    console.print(Panel("pyrepl: one mailbox on three nodes", expand=False))
    with tempfile.TemporaryDirectory() as folder, Lab(Path(folder)) as lab:
        is_well = run(MailboxCluster(lab), console)
    verdict = "[bold green]The same Maildirs on all.[/]" if is_well else "[bold red]They differ: this is a defect.[/]"
    console.print(f"\n{verdict}")
    sys.exit(not is_well)


if __name__ == "__main__":
    main()
