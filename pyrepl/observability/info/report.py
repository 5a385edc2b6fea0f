"""INFO as a whole: which sections there are, which of them a request means, in which order they are printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyrepl.node.node import Node
from pyrepl.observability.info.clients import CLIENTS
from pyrepl.observability.info.commandstats import COMMANDSTATS, ERRORSTATS, LATENCYSTATS
from pyrepl.observability.info.cpu import CPU
from pyrepl.observability.info.field import Section
from pyrepl.observability.info.keyspace import CLUSTER, KEYSPACE, MODULES
from pyrepl.observability.info.mailboxes import MAILBOXES
from pyrepl.observability.info.memory import MEMORY
from pyrepl.observability.info.persistence import PERSISTENCE
from pyrepl.observability.info.replication import REPLICATION
from pyrepl.observability.info.server import SERVER
from pyrepl.observability.info.stats import STATS
from pyrepl.observability.info.streams import STREAMS

SECTIONS: Final[tuple[Section, ...]] = (
    SERVER,
    CLIENTS,
    MEMORY,
    PERSISTENCE,
    STATS,
    REPLICATION,
    CPU,
    MODULES,
    COMMANDSTATS,
    ERRORSTATS,
    LATENCYSTATS,
    CLUSTER,
    KEYSPACE,
    STREAMS,
    MAILBOXES,
)
"""In the order in which Redis 8.2 prints them, whatever the order they are asked in; ours behind."""


def info_text(node: Node, names: Sequence[str] = ()) -> bytes:
    """The sections with these names (lower case), or the usual ones; `all` and `everything` mean every one.

    Names that are none are passed over, as in Redis. Sections are separated by an empty line.
    """
    chosen = [section.text(node) for section in SECTIONS if _is_meant(section, names)]
    return "\r\n".join(chosen).encode("utf-8", "surrogateescape")


def _is_meant(section: Section, names: Sequence[str]) -> bool:
    if "all" in names or "everything" in names or section.name in names:
        return True
    return section.usual and (not names or "default" in names)
