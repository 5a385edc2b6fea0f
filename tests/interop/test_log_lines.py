"""Lines of a master's log that operators search for: real Redis and pyrepl say them at the same moment."""

from __future__ import annotations

import pytest

from tests.peers.lab import Lab
from tests.peers.wire import encode

SLOW: dict[str, str] = {"repl-diskless-sync": "no", "rdb-key-save-delay": "1000000", "shutdown-timeout": "1"}
"""A snapshot takes a second for each key."""


@pytest.mark.parametrize("kind", ["redis8", "pyrepl"])
def test_a_replica_that_comes_during_a_save_cannot_be_attached_and_is_not_in_sync(lab: Lab, kind: str) -> None:
    master = lab.start(kind, directives=SLOW)
    for number in range(60):
        master.call("SET", f"key:{number}", "v")
    master.call("BGSAVE")
    with master.connect() as replica:
        replica.call("REPLCONF", "capa", "eof", "capa", "psync2")
        replica.send(encode(("PSYNC", "?", "-1")))
        master.wait_log("Can't attach the replica to the current BGSAVE. Waiting for next BGSAVE for SYNC")
        master.call("SET", "more", "of the stream")
        assert master.terminate() == 0
    assert ", lag=0, state=wait_bgsave." in master.log()
    assert "0 of 1 replicas are in sync when shutting down." in master.log()
