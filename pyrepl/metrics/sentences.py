"""The sentences of text logs that matter for replication: Redis 6 to 8, Valkey 8 and 9, pyrepl.

One row each: how the line begins, the expression that takes it apart, and the record of the event log that it means.
Named groups are columns of the events table; `plus` are fixed ones. Valkey says PRIMARY and Primary where Redis says
MASTER and Master; both are met by one row. Valkey 9 says before some of them who speaks (SPEAKERS). What is not here
and speaks of replication is in noise.py, or nobody knows it. How lines are found and split is textlines.py.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from pyrepl.metrics.kinds import RDB_VERSION


class Sentence(NamedTuple):
    """`begins` must start the message; `pattern` (RE2) must match it whole, else the next rows are tried.

    `less_one` names groups that the log counts from 1 (first byte wanted), which become cuts.
    """

    begins: str
    pattern: str
    event: str
    plus: dict[str, str | bool]
    less_one: tuple[str, ...] = ()


SPEAKERS: Final = (
    # On two channels this is a step of the sync; without the speaker's name it would be a partial resync.
    (r"^Dual channel replication: PRIMARY (<-> REPLICA sync: Primary accepted)", r"Primary \1"),
    (r"^(?:Dual channel replication|Replica bio thread): ", ""),
)
"""RE2: what may stand before a sentence, and what that becomes."""

_M: Final[dict[str, str | bool]] = {"end": "master"}
_R: Final[dict[str, str | bool]] = {"end": "replica"}
_WHY: Final = r"(?: \(cause: (?P<cause>\w+)(?: \((?P<detail>[^)]*)\))?(?: by (?P<by_bytes>\d+) bytes)?\))?"
_ID: Final = r"[0-9a-f]{40}"


def _down(begins: str, pattern: str, cause: str, phase: str = "") -> Sentence:
    """The replica's link ended."""
    more: dict[str, str | bool] = {"phase": phase} if phase else {}
    return Sentence(begins, pattern, "link_down", {**_R, "cause": cause, **more})


def _both(begins: str, row: Sentence) -> list[Sentence]:
    """A row for Redis's word and one for Valkey's, `begins` and pattern written with Redis's."""
    made = []
    for words in (("MASTER", "Master", "master"), ("PRIMARY", "Primary", "primary")):
        texts = [begins, row.pattern]
        for ours, theirs in zip(("MASTER", "Master", "master"), words):
            texts = [text.replace(ours, theirs) for text in texts]
        made.append(row._replace(begins=texts[0], pattern=texts[1]))
    return made


_REPLICA: Final[list[Sentence]] = [
    Sentence("Connecting to MASTER", r"Connecting to MASTER (?P<peer>\S+)", "link_connecting", _R),
    Sentence("Reconnecting to MASTER", r"Reconnecting to MASTER (?P<peer>\S+).*", "link_connecting", _R),
    Sentence(
        "Partial resynchronization not possible",
        r"Partial resynchronization not possible \(no cached master\)",
        "psync_asked",
        _R,
    ),
    Sentence(
        "Full resync from master",
        rf"Full resync from master: (?P<replid>{_ID}):(?P<snapshot_offset>\d+){_WHY}",
        "psync_decided",
        {**_R, "verdict": "full"},
    ),
    Sentence(
        "Successful partial resynchronization with master",
        r"Successful partial resynchronization with master\.",
        "psync_decided",
        {**_R, "verdict": "continue"},
    ),
    Sentence(
        "MASTER <-> REPLICA sync: Master accepted",
        r"MASTER <-> REPLICA sync: Master accepted a Partial Resynchronization\.",
        "online",
        {**_R, "mode": "continue"},
    ),
    Sentence(
        "Master is currently unable to PSYNC",
        r"Master is currently unable to PSYNC but should be in the future: (?P<error>.*)",
        "psync_decided",
        {**_R, "verdict": "refused", "cause": "not_ready"},
    ),
    Sentence(
        "MASTER <-> REPLICA sync: receiving streamed",
        r"MASTER <-> REPLICA sync: receiving streamed RDB from master with EOF to (?P<detail>\w+)",
        "delivery_started",
        {**_R, "mode": "full_diskless"},
    ),
    Sentence(
        "MASTER <-> REPLICA sync: receiving ",
        r"MASTER <-> REPLICA sync: receiving (?P<total_bytes>\d+) bytes from master to (?P<detail>\w+)",
        "delivery_started",
        {**_R, "mode": "full_disk"},
    ),
    Sentence(
        "MASTER <-> REPLICA sync: Loading DB", r"MASTER <-> REPLICA sync: Loading DB in memory", "load_started", _R
    ),
    Sentence(
        "MASTER <-> REPLICA sync: Finished", r"MASTER <-> REPLICA sync: Finished with success", "online", _R
    ),
    Sentence(
        "MASTER <-> REPLICA sync: Starting to stream",
        r"MASTER <-> REPLICA sync: Starting to stream replication buffer .*\((?P<buffered_bytes>\d+) bytes\)\.",
        "catch_up_started",
        _R,
    ),
    Sentence(
        "MASTER <-> REPLICA sync: Successfully streamed",
        r"MASTER <-> REPLICA sync: Successfully streamed replication buffer into the db "
        r"\((?P<applied_bytes>\d+) bytes in total\)",
        "catch_up_ended",
        _R,
    ),
    Sentence(
        "MASTER <-> REPLICA sync failed in phase",
        rf"MASTER <-> REPLICA sync failed in phase (?P<phase>\w+): (?P<error>.*?){_WHY}",
        "link_down",
        _R,
    ),
    Sentence(
        "Failed trying to load the MASTER synchronization",
        rf"Failed trying to load the MASTER synchronization DB (?P<error>.*?){_WHY}",
        "load_ended",
        {**_R, "ok": False, "cause": "load_failed"},
    ),
    Sentence("Connection with master lost", rf"Connection with master lost\.{_WHY}", "link_down", _R),
    _down("MASTER timeout", r"MASTER timeout: no data nor PING received\.\.\.", "timeout"),
    _down("Timeout receiving bulk data", r"Timeout receiving bulk data from MASTER.*", "timeout", "transfer"),
    _down("Timeout connecting to the MASTER", r"Timeout connecting to the MASTER.*", "connect_failed", "connecting"),
    _down("Unable to connect to MASTER", r"Unable to connect to MASTER: (?P<error>.*)", "connect_failed", "connecting"),
    _down("I/O error trying to sync with MASTER", r"I/O error trying to sync with MASTER: (?P<error>.*)",
          "connection_lost", "transfer"),
    _down("I/O error reading bulk count from MASTER", r"I/O error reading bulk count from MASTER: (?P<error>.*)",
          "connection_lost", "transfer"),
    _down("Master did not respond to", r"(?P<error>Master did not respond to .*)", "connection_lost", "handshake"),
    _down("Master did not reply", r"(?P<error>Master did not reply to PSYNC.*)", "connection_lost", "handshake"),
    _down("MASTER aborted replication", r"MASTER aborted replication with an error: (?P<error>.*)", "refused"),
    _down("Error reply to ", r"Error reply to \S+ from master: '(?P<error>.*)'", "refused", "handshake"),
    _down("I/O error writing to MASTER", r"I/O error writing to MASTER: (?P<error>.*)", "connection_lost"),
    _down("Error reading from master", r"Error reading from master: (?P<error>.*)", "connection_lost"),
    _down("Sending command to master in", r"Sending command to master in .*handshake: (?P<error>.*)",
          "connection_lost", "handshake"),
    _down("Unable to send PSYNC to master", r"Unable to send PSYNC to master: (?P<error>.*)", "connection_lost",
          "handshake"),
    _down("Main channel error while reading", r"Main channel error while reading from master: (?P<error>.*)",
          "connection_lost", "transfer"),
    _down("Provisional master closed", r"(?P<error>Provisional master closed connection)", "connection_lost",
          "transfer"),
    _down("Unable to AUTH to MASTER", r"Unable to AUTH to MASTER: (?P<error>.*)", "refused", "handshake"),
    _down("Bad protocol from MASTER", r"(?P<error>Bad protocol from MASTER.*)", "protocol"),
    Sentence("MASTER MODE enabled", r"(?P<detail>MASTER MODE enabled) .*", "role_changed", {"role": "master"}),
]  # fmt: skip

_OTHERS: Final[list[Sentence]] = [
    Sentence(
        "Trying a partial resynchronization (request",
        rf"Trying a partial resynchronization \(request (?P<asked_replid>{_ID}):(?P<asked_offset>\d+)\)\.",
        "psync_asked",
        _R,
        ("asked_offset",),
    ),
    Sentence(
        "Trying a partial resynchronization using main channel",
        rf"Trying a partial resynchronization using main channel \(request (?P<replid>{_ID}):"
        r"(?P<snapshot_offset>\d+)\)\.",
        "rdb_channel_opened",
        {**_R, "dialect": "valkey"},
        ("snapshot_offset",),
    ),
    Sentence(
        "PSYNC is not possible, initialize RDB channel",
        r"PSYNC is not possible, initialize RDB channel\.(?: \(dialect: (?P<dialect>\w+)\))?",
        "psync_decided",
        {**_R, "verdict": "two_channels"},
    ),
    _down("Aborting ", r"(?P<error>Aborting (?:rdb|dual) channel sync(?:\. .*)?)", "connection_lost", "transfer"),
    _down("Error condition on socket for ", r"Error condition on socket for (?:dual|rdb) channel replication: "
          r"(?P<error>.*)", "connection_lost", "transfer"),
    Sentence("Starting to receive RDB and replication stream", r"Starting to receive RDB .*", "rdb_channel_opened",
             {**_R, "dialect": "redis"}),
    Sentence("Done downloading RDB", r"Done downloading RDB", "delivery_ended", {**_R, "ok": True}),
    Sentence("Done loading RDB", r"Done loading RDB, keys loaded: (?P<keys>\d+), keys expired: \d+.*", "load_ended",
             {**_R, "ok": True}),
    Sentence("Successfully streamed replication data", r"Successfully streamed replication data into memory",
             "catch_up_ended", _R),
    Sentence("Replication buffer limit", r"Replication buffer limit .*", "buffer_full", _R),
    Sentence("Can't handle RDB format version", r"(?P<error>Can't handle RDB format version (?P<version>\d+)).*",
             "load_ended", {**_R, "ok": False, "cause": RDB_VERSION}),
    _down("Error condition on socket for SYNC", r"Error condition on socket for SYNC: (?P<error>.*)", "connect_failed",
          "connecting"),
    _down("Failed to read response from the server", r"Failed to read response from the server: (?P<error>.*)",
          "connection_lost", "handshake"),
    Sentence("REPLICAOF ", r"(?:REPLICAOF|SLAVE OF) (?P<peer>\S+) enabled .*", "role_changed", {"role": "replica"}),
    Sentence("Replica ", r"Replica (?P<peer>\S+) asks for synchronization", "psync_asked", _M),
    Sentence(
        "Full resync requested by replica",
        rf"Full resync requested by replica (?P<peer>\S+)(?: ?|(?: \((?P<dialect>rdb-channel)\))|{_WHY})",
        "psync_decided",
        {**_M, "verdict": "full"},
    ),
    Sentence(
        "Replica ",
        r"Replica (?P<peer>\S+) is capable of (?P<dialect>rdb|dual) channel synchronization.*",
        "psync_decided",
        {**_M, "verdict": "two_channels"},
    ),
    Sentence(
        "Partial resynchronization not accepted: Replication ID",
        r"Partial resynchronization not accepted: Replication ID mismatch \(Replica asked for "
        r"'(?P<asked_replid>[^']*)', my replication IDs are '(?P<replid>[^']*)' and '(?P<replid2>[^']*)'\)",
        "psync_decided",
        {**_M, "verdict": "full", "cause": "id_mismatch"},
    ),
    Sentence(
        "Partial resynchronization not accepted: Requested",
        r"Partial resynchronization not accepted: Requested offset for second ID was (?P<asked_offset>\d+), but I can "
        r"reply up to (?P<fork_offset>\d+)",
        "psync_decided",
        {**_M, "verdict": "full", "cause": "past_fork"},
        ("asked_offset", "fork_offset"),
    ),
    Sentence(
        "Unable to partial resync with replica",
        r"Unable to partial resync with replica (?P<peer>\S+) for lack of backlog \(Replica request was:? "
        rf"(?:(?P<asked_replid>{_ID}):)?(?P<asked_offset>\d+)"
        r"(?:, and I can only reply with the range \[(?P<backlog_start_offset>\d+), \d+\])?\)\.",
        "psync_decided",
        {**_M, "verdict": "full", "cause": "out_of_backlog"},
        ("asked_offset", "backlog_start_offset"),
    ),
    Sentence(
        "Warning: replica ",
        r"Warning: replica (?P<peer>\S+) tried to PSYNC with an offset (?:\(\d+\) )?that is greater .*",
        "psync_decided",
        {**_M, "verdict": "full", "cause": "above_offset"},
    ),
    Sentence(
        "Partial resynchronization request from",
        r"Partial resynchronization request from (?P<peer>\S+) accepted\. Sending (?P<missing_bytes>\d+) bytes of "
        r"backlog starting from offset (?P<asked_offset>\d+)\.",
        "psync_decided",
        {**_M, "verdict": "continue"},
        ("asked_offset",),
    ),
    Sentence("Sync request of replica", r"Sync request of replica (?P<peer>\S+) refused: (?P<error>.*)",
             "psync_decided", {**_M, "verdict": "refused", "cause": "not_ready"}),
    Sentence("Waiting for end of BGSAVE for SYNC", r"Waiting for end of BGSAVE for SYNC", "bgsave_shared", _M),
    Sentence(
        "Starting BGSAVE for SYNC with target: disk",
        r"Starting BGSAVE for SYNC with target: disk(?: using: normal sync)?",
        "bgsave_for_sync",
        {**_M, "target": "disk"},
    ),
    Sentence(
        "Starting BGSAVE for SYNC with target: replicas sockets",
        r"Starting BGSAVE for SYNC with target: replicas sockets"
        r"(?: using: normal sync|(?: \(| using: )(?P<dialect>[\w-]+)\)?)?",
        "bgsave_for_sync",
        {**_M, "target": "socket"},
    ),
    Sentence("Background saving started by pid", r"Background saving started by pid (?P<child_pid>\d+)",
             "snapshot_started", {**_M, "target": "disk"}),
    Sentence("Background RDB transfer started by pid", r"Background RDB transfer started by pid (?P<child_pid>\d+).*",
             "snapshot_started", {**_M, "target": "socket"}),
    Sentence("Background saving terminated with success", r"Background saving terminated with success",
             "snapshot_ended", {**_M, "target": "disk", "ok": True}),
    Sentence("Background RDB transfer terminated with success", r"Background RDB transfer terminated with success",
             "snapshot_ended", {**_M, "target": "socket", "ok": True}),
    Sentence("Background ", r"(?P<error>Background saving (?:error|terminated by signal \d+))", "snapshot_ended",
             {**_M, "target": "disk", "ok": False}),
    Sentence("Background ", r"(?P<error>Background (?:RDB )?transfer (?:error|terminated by signal \d+))",
             "snapshot_ended", {**_M, "target": "socket", "ok": False}),
    Sentence("Fork CoW for RDB", r"Fork CoW for RDB: current \d+ MB, peak (?P<private_bytes>\d+) MB.*", "child_memory",
             _M),
    Sentence("RDB: ", r"RDB: (?P<private_bytes>\d+) MB of memory used by copy-on-write", "child_memory", _M),
    Sentence("Sending to replica", r"Sending to replica (?P<peer>\S+) RDB end offset (?P<snapshot_offset>\d+) .*",
             "rdb_channel_opened", {**_M, "dialect": "valkey"}),
    Sentence("Starting to deliver RDB and replication stream",
             r"Starting to deliver RDB and replication stream to replica: (?P<peer>\S+)", "rdb_channel_opened",
             {**_M, "dialect": "redis"}),
    Sentence("Streamed ", r"Streamed (?:RDB transfer|replica) with replica (?P<peer>\S+) succeeded.*", "delivery_ended",
             {**_M, "ok": True}),
    Sentence("Connection with replica (rdbchannel)", r"Connection with replica \(rdbchannel\) (?P<peer>\S+) lost\.",
             "delivery_ended", _M),
    Sentence("Replica ", r"Replica (?P<peer>\S+) rdb channel disconnected\.", "delivery_ended", _M),
    Sentence("RDB channel of replica ", r"RDB channel of replica (?P<peer>\S+) closed, the whole .*", "delivery_ended",
             {**_M, "ok": True}),
    Sentence("Synchronization with replica", r"Synchronization with replica (?P<peer>\S+) succeeded", "online", _M),
    Sentence("Connection with replica ", rf"Connection with replica (?P<peer>[^\s(]\S*) lost\.{_WHY}", "replica_down",
             _M),
    Sentence("Disconnecting timedout replica", r"Disconnecting timedout replica \((?P<phase>\w+) sync\): (?P<peer>\S+)",
             "replica_down", {**_M, "cause": "timeout"}),
    Sentence(
        "Client id=",
        r"Client id=.* flags=\w*S\w* .* omem=(?P<output_bytes>\d+) .*(?:closed|closed ASAP) for overcoming of output "
        r"buffer limits\.",
        "output_limit",
        {**_M, "cause": "output_buffer"},
    ),
    Sentence(
        "Replication backlog created",
        r"Replication backlog created, my new replication IDs are '(?P<replid>[^']*)' and '(?P<replid2>[^']*)'",
        "backlog_created",
        {},
    ),
    Sentence("Replication backlog freed", r"Replication backlog freed after .*", "backlog_freed", {}),
    Sentence(
        "Setting secondary replication ID",
        rf"Setting secondary replication ID to (?P<replid2>{_ID}), valid up to offset: (?P<fork_offset>-?\d+)\. New "
        rf"replication ID is (?P<replid>{_ID})",
        "replid_changed",
        {},
        ("fork_offset",),
    ),
    *(
        Sentence(f"{word} replication ID", rf"{word} replication ID changed to (?P<replid>{_ID})", "replid_changed", {})
        for word in ("Master", "Primary")
    ),
    *(
        Sentence(f"{name} version=", rf"{name} version=(?P<version>[\w.-]+), .*pid=(?P<pid>\d+), just started",
                 "node_started", {"detail": name.lower()})
        for name in ("Redis", "Valkey", "pyrepl")
    ),
    Sentence("Running mode=", r"Running mode=\w+, port=(?P<port>\d+)\.", "node_ready", {}),
    Sentence("User requested shutdown", r"User requested shutdown.*", "stopping", {}),
    Sentence("Received ", r"Received SIG(?:TERM|INT) scheduling shutdown\.\.\.", "stopping", {}),
    *(
        Sentence(f"{name} is now ready to exit", rf"{name} is now ready to exit.*", "node_stopped", {})
        for name in ("Redis", "Valkey", "pyrepl")
    ),
    Sentence("FAILOVER requested to", r"FAILOVER requested to (?P<peer>.*)\.", "failover_step", {"step": "requested"}),
    Sentence("Failover target", r"Failover target (?P<peer>\S+) is synced, failing over\.", "failover_step",
             {"step": "begun"}),
    Sentence("Failover request ", r"Failover request .*", "failover_step", {"step": "taken_over"}),
]  # fmt: skip

SENTENCES: Final[tuple[Sentence, ...]] = (
    *(made for row in _REPLICA for made in _both(row.begins, row)),
    *_OTHERS,
)
"""All rows, in the order in which they are tried."""
