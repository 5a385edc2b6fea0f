"""What is known of the machine: plain records, filled by `pyrepl.daemon.host`, judged by rules.py.

None stands for what the system does not tell, as in a container without /proc or on another kernel.
"""

from __future__ import annotations

from typing import NamedTuple


class Host(NamedTuple):
    """The machine and the Python that runs here."""

    overcommit: int | None = None
    """vm.overcommit_memory: 0 the kernel guesses, 1 always, 2 never more than CommitLimit."""
    huge_pages: str | None = None
    """Transparent huge pages: always, madvise or never."""
    somaxconn: int | None = None
    """net.core.somaxconn: the most connections that wait to be accepted on one port."""
    open_files: int | None = None
    """The most descriptors that a process of this user may open (the hard limit); None: any number."""
    is_clock_set: bool | None = None
    """Does the kernel know that its clock is kept in time (NTP)?"""
    clock_source: str | None = None
    memory_bytes: int | None = None
    swap_used_bytes: int | None = None
    swap_bytes: int | None = None
    namesake: str | None = None
    """Version of the other package called `pyrepl`, if it is installed beside ours."""
    is_compiled: bool = True
    why_not_compilable: str | None = None
    """Why this Python has no compiled form (`pyrepl.layout`), or None if it could have one."""


class Folder(NamedTuple):
    """The folder that a node keeps its files in (`dir`)."""

    path: str
    trouble: str | None = None
    """Why no file can be made there, as a clause; None if files can be made."""
    free_bytes: int = 0
    snapshot_bytes: int = 0
    """Size of the last snapshot; 0: there is none."""


class Wants(NamedTuple):
    """What a configuration asks of the machine."""

    descriptors: int
    """Without so many `maxclients` is lowered."""
    descriptors_liked: int
    """With so many there is room for its reserve and for handshakes too."""
    tcp_backlog: int
    maxmemory_bytes: int
    """0: no limit."""
    huge_pages: bool
    folder: Folder | None = None
    """None: no configuration was given, so no folder is meant."""
