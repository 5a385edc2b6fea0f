"""What a replica told its master about itself by REPLCONF, before it asked to sync.

The session hands each option in; the roster, the pairs and INFO read the facts.

Not here: the options that pair two connections (session.py, pairs.py), ACKs (session.py), how one value is read
(replconf.py). What a replica says is in handshake.py.
"""

from __future__ import annotations

from typing import final

from pyrepl.replication.dialects import ABOUT_SNAPSHOTS, Capability, capability_of_version, decode_capability
from pyrepl.replication.dialects import no_compression as capability_of_no_compression
from pyrepl.replication.replconf import Exclusion, address_of, exclusion_of, flag_of, number_of


@final
class Told:
    """The facts of one connection. Invariant: `capabilities` only grow."""

    __slots__ = ("announced_ip", "capabilities", "excluded", "listening_port", "rdb_only", "version")

    def __init__(self) -> None:
        self.listening_port = 0
        """The port where clients reach the replica; 0 if it told none, as redis-cli tells none."""
        self.announced_ip = ""
        """The address to show for the replica; empty if it told none, and its connection's address counts."""
        self.capabilities = Capability.NONE
        self.version = ""
        """The Valkey version in `REPLCONF version`; empty for a pyrepl, which is none (see `receive`)."""
        self.rdb_only = False
        """The replica wants the snapshot and no stream (redis-cli --rdb)."""
        self.excluded = Exclusion.NONE
        """What the replica's snapshot leaves out (redis-cli --functions-rdb, --replica)."""

    def receive(self, option: bytes, value: bytes) -> bool:
        """Take one option, its name in lower case; False if we do not know it. Raises CommandError for a bad value."""
        if option == b"capa":
            self.capabilities |= decode_capability(value)
        elif option == b"listening-port":
            self.listening_port = number_of(value)
        elif option == b"ip-address":
            self.announced_ip = address_of(value)
        elif option == b"version":
            # A pyrepl names the Valkey whose files it reads, for masters that are Valkeys. We must not take it for that
            # Valkey; its `capa rdb-version-N`, which came before, shows that it is a pyrepl.
            told = b"" if Capability.READS_13 in self.capabilities else value[:64]
            self.version = told.decode("utf-8", "backslashreplace")
            self.capabilities |= capability_of_version(self.version)
        elif option == b"rdb-no-compress":
            self.capabilities |= capability_of_no_compression(flag_of(value))
        elif option == b"rdb-only":
            self.rdb_only = flag_of(value)
        elif option == b"rdb-filter-only":
            self.excluded = exclusion_of(value)
        else:
            return False
        return True

    def learn(self, version: str, capabilities: Capability) -> None:
        """The main connection of the pair told these: they count for the snapshot that this RDB connection takes."""
        self.version = self.version or version
        self.capabilities |= capabilities & ABOUT_SNAPSHOTS
