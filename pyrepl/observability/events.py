"""All that may be logged: one record per event, worded as Redis 8.2 words it where Redis has it.

Operators' alerts and our own log reader look for these sentences, so their beginnings stay as they are; what we know
beyond Redis stands behind them in brackets. Form, levels and lines are in event.py. `replica` is `ip:port` with the
port it announced, `master` is `host:port`, `client` a line of CLIENT LIST, offsets are the wire's numbers where Redis
prints those.
"""

from __future__ import annotations

from typing import ClassVar, Final, final

from pyrepl.observability.event import Event, Level

# --- the process ---------------------------------------------------------------------------------------------------


@final
class Starting(Event):
    version: str
    pid: int
    TEXT: ClassVar[str] = "pyrepl version={version}, bits=64, pid={pid}, just started"


@final
class ConfigurationLoaded(Event):
    TEXT: ClassVar[str] = "Configuration loaded"


@final
class NoConfigurationFile(Event):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Warning: no config file specified, using the default config."


@final
class ConfigurationNotice(Event):
    """Directives that were accepted and have no effect: one notice for all of them."""

    notice: str
    TEXT: ClassVar[str] = "{notice}"


@final
class ModeRunning(Event):
    port: int
    TEXT: ClassVar[str] = "Running mode=standalone, port={port}."


@final
class ServerInitialized(Event):
    TEXT: ClassVar[str] = "Server initialized"


@final
class ReadyToAcceptConnections(Event):
    """`listener` is tcp, tls or unix."""

    listener: str
    TEXT: ClassVar[str] = "Ready to accept connections {listener}"


@final
class ListeningFailed(Event):
    """At the start; the error that ends the process says why."""

    port: int
    listener: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Failed listening on port {port} ({listener}), aborting."


@final
class CannotStart(Event):
    """The last line before exit 1: what is wrong and what to do."""

    error: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Fatal error, can't start: {error}"


@final
class TooFewFileDescriptors(Event):
    wanted: int
    granted: int
    maxclients: int
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "You requested more file descriptors ({wanted}) than the system allows ({granted}): maxclients has been "
        "reduced to {maxclients}. If you need higher maxclients increase 'ulimit -n'."
    )


@final
class SignalReceived(Event):
    signal: str
    TEXT: ClassVar[str] = "Received {signal} scheduling shutdown..."


@final
class SecondSignalReceived(Event):
    signal: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "You insist... exiting now. (second {signal})"


@final
class ShutdownRequested(Event):
    TEXT: ClassVar[str] = "User requested shutdown..."


@final
class WaitingForReplicas(Event):
    TEXT: ClassVar[str] = "Waiting for replicas before shutting down."


@final
class LaggingReplica(Event):
    replica: str
    behind_bytes: int
    lag_s: int
    state: str
    TEXT: ClassVar[str] = (
        "Lagging replica {replica} reported offset {behind_bytes} behind master, lag={lag_s}, state={state}."
    )


@final
class ReplicasInSyncAtShutdown(Event):
    in_sync: int
    replicas: int
    TEXT: ClassVar[str] = "{in_sync} of {replicas} replicas are in sync when shutting down."


@final
class ShutdownAborted(Event):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Shutdown manually aborted."


@final
class SavingBeforeExit(Event):
    TEXT: ClassVar[str] = "Saving the final RDB snapshot before exiting."


@final
class CannotSaveBeforeExit(Event):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Error trying to save the DB, can't exit."


@final
class CannotShutDown(Event):
    """The first half is Redis's."""

    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Errors trying to shut down the server. Check the logs for more information. The node goes on: mend what keeps "
        "the snapshot from being written, or end it without one by SHUTDOWN NOSAVE."
    )


@final
class SavingBeforeExitFailed(Event):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Error trying to save the DB, exiting anyway."


@final
class PidFileRemoved(Event):
    TEXT: ClassVar[str] = "Removing the pid file."


@final
class PidFileFailed(Event):
    path: str
    error: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Failed to write PID file {path}: {error}"


@final
class SupervisorMissing(Event):
    """Type=notify is missing in the unit, or somebody else than systemd has started us."""

    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "systemd supervision requested, but NOTIFY_SOCKET not found: is it Type=notify?"


@final
class ByeBye(Event):
    """The very last line: Redis's sentence, under our name as the first line has it."""

    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "pyrepl is now ready to exit, bye bye..."


@final
class InternalError(Event):
    """A defect of ours that was survived; `where` names what was being done, `error` the exception."""

    where: str
    error: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Internal error while {where}: {error} (please report it)"


@final
class ConfigSet(Event):
    names: str
    LEVEL: ClassVar[Level] = Level.VERBOSE
    TEXT: ClassVar[str] = "CONFIG SET changed {names}"


@final
class ConfigRewritten(Event):
    TEXT: ClassVar[str] = "CONFIG REWRITE executed with success."


@final
class UserIsOff(Event):
    user: str
    TEXT: ClassVar[str] = (
        "The user '{user}' is disabled (there is no 'on' modifier in the user description). Make sure this is not a "
        "configuration error."
    )


@final
class UsersNotSaved(Event):
    path: str
    error: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Writing ACL file for ACL SAVE: {error} [{path} holds the users as they were before]"


@final
class ConfigRewriteFailed(Event):
    error: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "CONFIG REWRITE failed: {error}"


@final
class SlowScript(Event):
    """`command` ends the script or function `script`: SCRIPT KILL or FUNCTION KILL."""

    elapsed_ms: int
    command: str
    script: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Slow script detected: still in execution after {elapsed_ms} milliseconds. You can try killing the script "
        "using the {command} command. Script name is: {script}."
    )


@final
class ScriptDebug(Event):
    """What a script has given to redis.log, and so the next three."""

    text_given: str
    LEVEL: ClassVar[Level] = Level.DEBUG
    TEXT: ClassVar[str] = "{text_given}"


@final
class ScriptVerbose(Event):
    text_given: str
    LEVEL: ClassVar[Level] = Level.VERBOSE
    TEXT: ClassVar[str] = "{text_given}"


@final
class ScriptNotice(Event):
    text_given: str
    TEXT: ClassVar[str] = "{text_given}"


@final
class ScriptWarning(Event):
    text_given: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "{text_given}"


@final
class DebugLog(Event):
    message: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "DEBUG LOG: {message}"


@final
class EventLogFailed(Event):
    """What happened meanwhile waits, as much as there is room for."""

    error: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "The event log cannot be written: {error}. Its lines wait in memory, 4 MB of them at most, and are"
        " tried again each second. Make room on the disk, or check the file's permissions; the node itself"
        " goes on."
    )


@final
class EventLogRecovered(Event):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "The event log is written again, and has the lines that waited."


@final
class EventLogDrops(Event):
    """Once for a row of drops; how many there were stands in the event log and in INFO."""

    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "The event log drops lines: the disk takes none and 4 MB wait already. INFO's event_log_dropped counts them."
    )


@final
class EventLogIncomplete(Event):
    dropped: int
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "{dropped} lines of this run are missing in the event log, as the disk did not take them."


# --- clients -------------------------------------------------------------------------------------------------------


@final
class ClientIdle(Event):
    client: str
    LEVEL: ClassVar[Level] = Level.VERBOSE
    TEXT: ClassVar[str] = "Closing idle client {client}"


@final
class TlsHandshakeFailed(Event):
    """Not more than one a second; `others` tells of those that have no line."""

    addr: str
    why: str
    others: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "TLS handshake with {addr} failed: {why}{others}"


@final
class TlsOnPlainPort(Event):
    addr: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Client {addr} speaks TLS to a port without TLS, so it was closed: let it connect to tls-port, or without TLS."
    )


@final
class MadeRoom(Event):
    """Not more than one a second."""

    addr: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "maxclients is reached: connections that have not logged in are closed for new ones, first the oldest of the"
        " address that has most of them, as {addr}."
    )


@final
class TlsFilesRenewed(Event):
    TEXT: ClassVar[str] = "The files of TLS have changed. New connections use them; those that exist go on."


@final
class TlsFilesUnusable(Event):
    error: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "The files of TLS have changed and cannot be used, so the former ones stay in use: {error}"


@final
class ClientProtocolError(Event):
    client: str
    error: str
    LEVEL: ClassVar[Level] = Level.VERBOSE
    TEXT: ClassVar[str] = "Protocol error ({error}) from client: {client}"


@final
class QueryBufferExceeded(Event):
    client: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Closing client that reached max query buffer length: {client}"


@final
class OutputBufferExceeded(Event):
    """Any client, replicas included, over its client-output-buffer-limit."""

    client: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Client {client} scheduled to be closed ASAP for overcoming of output buffer limits."


@final
class ClientEvicted(Event):
    """One of those that took most, above maxmemory-clients."""

    client: str
    TEXT: ClassVar[str] = "Evicting client: {client}"


@final
class MaxmemorySmallerThanUsed(Event):
    """CONFIG SET maxmemory below what is in use."""

    limit_bytes: int
    used_bytes: int
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "WARNING: the new maxmemory value set via CONFIG SET ({limit_bytes}) is smaller than the current memory usage "
        "({used_bytes}). This will result in key eviction and/or the inability to accept new write commands depending "
        "on the maxmemory-policy."
    )


@final
class SecurityAttack(Event):
    """An HTTP request on our port (Redis: POST and Host: are not commands)."""

    addr: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Possible SECURITY ATTACK detected. It looks like somebody is sending POST or Host: commands to Redis. This is "
        "likely due to an attacker attempting to use Cross Protocol Scripting to compromise your Redis instance. "
        "Connection from {addr} aborted."
    )


# --- snapshots -----------------------------------------------------------------------------------------------------


@final
class SavePointReached(Event):
    changes: int
    seconds: int
    TEXT: ClassVar[str] = "{changes} changes in {seconds} seconds. Saving..."


@final
class SavingStarted(Event):
    pid: int
    TEXT: ClassVar[str] = "Background saving started by pid {pid}"


@final
class SavedOnDisk(Event):
    TEXT: ClassVar[str] = "DB saved on disk"


@final
class SavingSucceeded(Event):
    TEXT: ClassVar[str] = "Background saving terminated with success"


@final
class SavingFailed(Event):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Background saving error"


@final
class SavingKilled(Event):
    signal: int
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Background saving terminated by signal {signal}"


@final
class CannotWriteSnapshot(Event):
    step: str
    error: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Write error saving DB on disk({step}): {error}"


@final
class CannotFork(Event):
    error: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Can't save in background: fork: {error}"


@final
class KillingSnapshotChild(Event):
    pid: int
    TEXT: ClassVar[str] = "Killing running RDB child: {pid}"


@final
class NobodyWaitsForSnapshot(Event):
    TEXT: ClassVar[str] = "Diskless rdb transfer, last replica dropped, killing fork child."


@final
class SyncSnapshotStarting(Event):
    """`target` is `disk` or `replicas sockets`."""

    target: str
    TEXT: ClassVar[str] = "Starting BGSAVE for SYNC with target: {target}"


@final
class TransferStarted(Event):
    pid: int
    TEXT: ClassVar[str] = "Background RDB transfer started by pid {pid}"


@final
class TransferSucceeded(Event):
    TEXT: ClassVar[str] = "Background RDB transfer terminated with success"


@final
class TransferFailed(Event):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Background transfer error"


@final
class TransferKilled(Event):
    signal: int
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Background transfer terminated by signal {signal}"


@final
class TransferReadOut(Event):
    """The child is done; `replicas` have the whole snapshot."""

    replicas: int
    TEXT: ClassVar[str] = "Diskless rdb transfer, done reading from pipe, {replicas} replicas still up."


@final
class SyncDelayed(Event):
    TEXT: ClassVar[str] = "Delay next BGSAVE for diskless SYNC"


@final
class SyncShares(Event):
    TEXT: ClassVar[str] = "Waiting for end of BGSAVE for SYNC"


@final
class SyncAfterTransfer(Event):
    TEXT: ClassVar[str] = "Current BGSAVE has socket target. Waiting for next BGSAVE for SYNC"


@final
class SyncAfterSnapshot(Event):
    TEXT: ClassVar[str] = "Can't attach the replica to the current BGSAVE. Waiting for next BGSAVE for SYNC"


@final
class SyncAfterOtherChild(Event):
    TEXT: ClassVar[str] = "No BGSAVE in progress, but another BG operation is active. BGSAVE for replication delayed"


@final
class SyncSnapshotFailed(Event):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "SYNC failed. BGSAVE child returned an error"


@final
class SnapshotVersionChosen(Event):
    """Which RDB version a replica is sent, and what made it so."""

    replica: str
    version: int
    why: str
    TEXT: ClassVar[str] = "Sending RDB version {version} to replica {replica} ({why})"


@final
class IdempotencyIdsLeftOut(Event):
    """A replica that does not say that it reads RDB 13, as a Redis 8.6 need not, would refuse the whole snapshot."""

    replica: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Sending replica {replica} the streams without their idempotency ids (XADD IDMP), as it did not say that it"
        " reads RDB version 13. Once it is promoted, a message added before this sync may be added again. If all"
        " replicas are Redis 8.6 or pyrepl: CONFIG SET rdb-version 13"
    )


# --- loading -------------------------------------------------------------------------------------------------------


@final
class SnapshotLoaded(Event):
    keys: int
    expired_keys: int
    TEXT: ClassVar[str] = "Done loading RDB, keys loaded: {keys}, keys expired: {expired_keys}."


@final
class LoadedFromDisk(Event):
    seconds: float
    TEXT: ClassVar[str] = "DB loaded from disk: {seconds:.3f} seconds"


@final
class LoadFailed(Event):
    """`source` is a path or `MASTER`; `error` says what was expected, what came and at which byte."""

    source: str
    error: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Failed loading RDB from {source}: {error}"


@final
class LoadWarning(Event):
    """Something in a snapshot was skipped: a module's value, an unknown AUX field of weight."""

    warning: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Loading RDB: {warning}"


@final
class Reloaded(Event):
    TEXT: ClassVar[str] = "DB reloaded by DEBUG RELOAD"


# --- the master's end of replication -------------------------------------------------------------------------------


@final
class ReplicaAsksForSync(Event):
    replica: str
    TEXT: ClassVar[str] = "Replica {replica} asks for synchronization"


@final
class ReplicaAsksWithWrongOffset(Event):
    replica: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Replica {replica} asks for synchronization but with a wrong offset"


@final
class FullResyncRequested(Event):
    """`cause` is the code of INFO's sync_full_<cause>, with by how much where that is known."""

    replica: str
    cause: str
    TEXT: ClassVar[str] = "Full resync requested by replica {replica} (cause: {cause})"


@final
class RdbChannelGranted(Event):
    replica: str
    TEXT: ClassVar[str] = (
        "Replica {replica} is capable of rdb channel synchronization, and partial sync isn't possible. Full sync will "
        "continue with dedicated rdb channel."
    )


@final
class RdbChannelAsksForSync(Event):
    replica: str
    TEXT: ClassVar[str] = "Full resync requested by replica {replica} (rdb-channel)"


@final
class DeliveringBoth(Event):
    replica: str
    TEXT: ClassVar[str] = "Starting to deliver RDB and replication stream to replica: {replica}"


@final
class RdbOnlyDone(Event):
    replica: str
    TEXT: ClassVar[str] = "RDB transfer completed, rdb only replica ({replica}) should be disconnected asap"


@final
class RdbChannelDone(Event):
    replica: str
    TEXT: ClassVar[str] = "RDB channel of replica {replica} closed, the whole snapshot was sent over it."


@final
class RdbChannelLost(Event):
    replica: str
    TEXT: ClassVar[str] = "Connection with replica (rdbchannel) {replica} lost."


@final
class PsyncWaitOver(Event):
    """Valkey's dialect: the replica took the snapshot and did not ask for the stream behind it in time."""

    client_id: int
    cause: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "The replica of client {client_id} took its snapshot and never asked for the stream behind it (cause: {cause})"
    )


@final
class PartialRefusedById(Event):
    asked_replid: str
    replid: str
    replid2: str
    TEXT: ClassVar[str] = (
        "Partial resynchronization not accepted: Replication ID mismatch (Replica asked for '{asked_replid}', my "
        "replication IDs are '{replid}' and '{replid2}')"
    )


@final
class PartialRefusedByFork(Event):
    asked_offset: int
    second_offset: int
    TEXT: ClassVar[str] = (
        "Partial resynchronization not accepted: Requested offset for second ID was {asked_offset}, but I can reply up "
        "to {second_offset}"
    )


@final
class PartialRefusedByBacklog(Event):
    replica: str
    asked_offset: int
    TEXT: ClassVar[str] = (
        "Unable to partial resync with replica {replica} for lack of backlog (Replica request was: {asked_offset})."
    )


@final
class ReplicaAheadOfUs(Event):
    replica: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Warning: replica {replica} tried to PSYNC with an offset that is greater than the master replication offset."
    )


@final
class PartialResyncAccepted(Event):
    replica: str
    backlog_bytes: int
    offset: int
    """The first byte sent, numbered from 1 as in PSYNC."""
    TEXT: ClassVar[str] = (
        "Partial resynchronization request from {replica} accepted. Sending {backlog_bytes} bytes of backlog starting "
        "from offset {offset}."
    )


@final
class BacklogCreated(Event):
    replid: str
    replid2: str
    TEXT: ClassVar[str] = "Replication backlog created, my new replication IDs are '{replid}' and '{replid2}'"


@final
class BacklogResized(Event):
    before_bytes: int
    size_bytes: int
    LEVEL: ClassVar[Level] = Level.VERBOSE
    TEXT: ClassVar[str] = "Replication backlog resized from {before_bytes} to {size_bytes} bytes"


@final
class BacklogFreed(Event):
    seconds: int
    TEXT: ClassVar[str] = "Replication backlog freed after {seconds} seconds without connected replicas."


@final
class ReplicaWaitsForAck(Event):
    replica: str
    TEXT: ClassVar[str] = (
        "Streamed replica with replica {replica} succeeded (socket). Waiting for REPLCONF ACK from replica to enable "
        "streaming"
    )


@final
class ReplicaSynchronized(Event):
    replica: str
    TEXT: ClassVar[str] = "Synchronization with replica {replica} succeeded"


@final
class ReplicaLost(Event):
    """`cause` is one of the codes of psync.Cause."""

    replica: str
    cause: str
    TEXT: ClassVar[str] = "Connection with replica {replica} lost. (cause: {cause})"


@final
class ReplicaTimedOut(Event):
    """`phase` is `streaming sync` or `full sync`."""

    replica: str
    phase: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Disconnecting timedout replica ({phase}): {replica}"


@final
class ReplicaCut(Event):
    """What a replica sent cannot be: `client` is its line of CLIENT LIST."""

    error: str
    client: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "{error}, disconnecting it: {client}"


@final
class CannotSendSnapshot(Event):
    replica: str
    error: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Write error sending DB to replica {replica}: {error}"


# --- the replica's end of replication ------------------------------------------------------------------------------


@final
class ConnectingToMaster(Event):
    master: str
    TEXT: ClassVar[str] = "Connecting to MASTER {master}"


@final
class SyncStarted(Event):
    TEXT: ClassVar[str] = "MASTER <-> REPLICA sync started"


@final
class ConnectedToMaster(Event):
    TEXT: ClassVar[str] = "Non blocking connect for SYNC fired the event."


@final
class CannotConnectToMaster(Event):
    error: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Error condition on socket for SYNC: {error}"


@final
class MasterRepliedToPing(Event):
    TEXT: ClassVar[str] = "Master replied to PING, replication can continue..."


@final
class HandshakeRefused(Event):
    """`step` is the command of ours that the master answered with an error which ends the handshake."""

    step: str
    error: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Error reply to {step} from master: '{error}'"


@final
class MasterWantsPassword(Event):
    """Its answer to PING, and we have none: what follows will be refused, too."""

    error: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Master answers PING with '-{error}', and no password is set for it here: set masterauth"


@final
class MasterRefusedPassword(Event):
    error: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Unable to AUTH to MASTER: {error}"


@final
class UnexpectedReplyToPsync(Event):
    error: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Unexpected reply to PSYNC from master: {error}"


@final
class NoAnswerInHandshake(Event):
    """The connection ended before PSYNC was sent."""

    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Master did not respond to command during SYNC handshake"


@final
class NoAnswerToPsync(Event):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Master did not reply to PSYNC, will try later"


@final
class SnapshotConnectionLost(Event):
    error: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "I/O error trying to sync with MASTER: {error}"


@final
class ReplconfNotUnderstood(Event):
    option: str
    error: str
    TEXT: ClassVar[str] = "(Non critical) Master does not understand REPLCONF {option}: {error}"


@final
class PartialResyncTried(Event):
    """`offset` is the first byte wanted, numbered from 1."""

    replid: str
    offset: int
    TEXT: ClassVar[str] = "Trying a partial resynchronization (request {replid}:{offset})."


@final
class NothingToContinue(Event):
    TEXT: ClassVar[str] = "Partial resynchronization not possible (no cached master)"


@final
class FullResyncFromMaster(Event):
    replid: str
    offset: int
    cause: str
    TEXT: ClassVar[str] = "Full resync from master: {replid}:{offset} (cause: {cause})"


@final
class RdbChannelOpened(Event):
    """`dialect` is redis or valkey."""

    dialect: str
    TEXT: ClassVar[str] = "PSYNC is not possible, initialize RDB channel. (dialect: {dialect})"


@final
class ProcessStops(Event):
    TEXT: ClassVar[str] = "Process is about to stop."


@final
class ProcessContinued(Event):
    TEXT: ClassVar[str] = "Process has been continued."


@final
class ReceivingBoth(Event):
    TEXT: ClassVar[str] = "Starting to receive RDB and replication stream in parallel."


@final
class SyncBufferFull(Event):
    limit_bytes: int
    TEXT: ClassVar[str] = (
        "Replication buffer limit has been reached ({limit_bytes} bytes), stopped buffering replication stream. "
        "Further accumulation may occur on master side."
    )


@final
class CatchUpStarted(Event):
    buffered_bytes: int
    TEXT: ClassVar[str] = (
        "MASTER <-> REPLICA sync: Starting to stream replication buffer into the db ({buffered_bytes} bytes)."
    )


@final
class CatchUpFinished(Event):
    applied_bytes: int
    TEXT: ClassVar[str] = (
        "MASTER <-> REPLICA sync: Successfully streamed replication buffer into the db ({applied_bytes} bytes in total)"
    )


@final
class PartialResyncSucceeded(Event):
    TEXT: ClassVar[str] = "Successful partial resynchronization with master."


@final
class MasterIdChanged(Event):
    replid: str
    TEXT: ClassVar[str] = "Master replication ID changed to {replid}"


@final
class MasterAcceptedPartial(Event):
    TEXT: ClassVar[str] = "MASTER <-> REPLICA sync: Master accepted a Partial Resynchronization."


@final
class MasterNotReady(Event):
    error: str
    TEXT: ClassVar[str] = "Master is currently unable to PSYNC but should be in the future: {error}"


@final
class ReceivingSnapshot(Event):
    """`target` is `disk` or `parser`."""

    total_bytes: int
    target: str
    TEXT: ClassVar[str] = "MASTER <-> REPLICA sync: receiving {total_bytes} bytes from master to {target}"


@final
class ReceivingStreamedSnapshot(Event):
    target: str
    TEXT: ClassVar[str] = "MASTER <-> REPLICA sync: receiving streamed RDB from master with EOF to {target}"


@final
class SyncProgress(Event):
    """Now and then in a long transfer; `total_bytes`, `percent` and `left_s` are 0 when the size is not known."""

    read_bytes: int
    total_bytes: int
    percent: float
    bytes_per_s: int
    left_s: int
    TEXT: ClassVar[str] = (
        "MASTER <-> REPLICA sync: {read_bytes} of {total_bytes} bytes ({percent:.1f}%), {bytes_per_s} bytes/s, about "
        "{left_s} s left"
    )


@final
class FlushingOldData(Event):
    TEXT: ClassVar[str] = "MASTER <-> REPLICA sync: Flushing old data"


@final
class SyncLoading(Event):
    TEXT: ClassVar[str] = "MASTER <-> REPLICA sync: Loading DB in memory"


@final
class SwappingDatabases(Event):
    TEXT: ClassVar[str] = "MASTER <-> REPLICA sync: Swapping active DB with loaded DB"


@final
class SyncFinished(Event):
    TEXT: ClassVar[str] = "MASTER <-> REPLICA sync: Finished with success"


@final
class SyncLoadFailed(Event):
    """`cause` is load_failed with its detail: rdb_version, corrupt, memory."""

    error: str
    cause: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Failed trying to load the MASTER synchronization DB from socket, check server logs. {error} (cause: {cause})"
    )


@final
class SyncFailed(Event):
    """A link that ended before the stream began. `cause` is one of the codes of psync.Cause."""

    phase: str
    error: str
    cause: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "MASTER <-> REPLICA sync failed in phase {phase}: {error} (cause: {cause})"


@final
class SyncAbortedWhileLoading(Event):
    """Two channels: the main connection is gone, the snapshot is here."""

    error: str
    cause: str
    TEXT: ClassVar[str] = "Aborting rdb channel sync while loading the RDB. ({error}, cause: {cause})"


@final
class WillContinueAfterLoading(Event):
    TEXT: ClassVar[str] = "After loading RDB, replica will try psync with master."


@final
class MasterTimedOut(Event):
    """In the stream: neither data nor PING for repl-timeout."""

    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "MASTER timeout: no data nor PING received..."


@final
class MasterConnectTimedOut(Event):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Timeout connecting to the MASTER..."


@final
class SnapshotTimedOut(Event):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Timeout receiving bulk data from MASTER... If the problem persists try to set the 'repl-timeout' parameter in "
        "redis.conf to a larger value."
    )


@final
class MasterLost(Event):
    cause: str
    TEXT: ClassVar[str] = "Connection with master lost. (cause: {cause})"


@final
class MasterStateCached(Event):
    TEXT: ClassVar[str] = "Caching the disconnected master state."


@final
class NextTry(Event):
    """After a failure: when we ask again, with backoff and jitter."""

    master: str
    seconds: float
    tries: int
    error: str
    TEXT: ClassVar[str] = "Trying MASTER {master} again in {seconds:.1f} s (failed {tries} times: {error})"


@final
class UnknownStreamCommand(Event):
    """A command of the master's stream that we do not have; `offset` is the cut before it."""

    command: str
    offset: int
    skipped: bool
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Master sent the unknown command '{command}' at offset {offset}: "

    def text(self) -> str:
        skipped = "skipped, as replica-ignore-unknown-commands says; the data may now differ from the master's"
        stopped = "the link is stopped so that the data cannot diverge; set replica-ignore-unknown-commands yes to skip"
        return Event.text(self) + (skipped if self.skipped else stopped)


@final
class ForeignStreamCommand(Event):
    """A command of the master's stream that we have, and that no master sends; `offset` is the cut before it."""

    command: str
    offset: int
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Master sent the command '{command}' at offset {offset}, which no master puts into its stream: it"
        " is not executed, the link is ended before it and tried again with growing pauses. Check which"
        " server listens at the master's address. If it is the right one, restart it: a full resync leads"
        " past the command."
    )


@final
class StreamCommandFailed(Event):
    """A command of the master's stream that failed here though it succeeded there."""

    command: str
    error: str
    offset: int
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "== CRITICAL == This replica is sending an error to its master: '{error}' after processing the command "
        "'{command}' (at offset {offset})"
    )


@final
class StreamPanic(Event):
    """propagation-error-behavior asks us to stop."""

    command: str
    error: str
    offset: int
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "This replica panicked sending an error to its master: '{error}' after processing the command '{command}' (at "
        "offset {offset}). Its data differs from the master's. It exits now, as propagation-error-behavior asks, and "
        "nothing of that command is on disk. Remove its snapshot and append-only files for a full resync, or start it "
        "with propagation-error-behavior ignore."
    )


@final
class AofCommandFailed(Event):
    """A command of the append-only file that fails when it is loaded, though it succeeded once."""

    command: str
    error: str
    path: str
    end: int
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "== CRITICAL == This server is sending an error to its AOF-loading-client: '{error}' after processing the "
        "command '{command}' ({path}, before byte {end})"
    )


# --- roles ---------------------------------------------------------------------------------------------------------


@final
class SecondaryIdSet(Event):
    """`offset` is the wire's second_repl_offset."""

    replid2: str
    offset: int
    replid: str
    TEXT: ClassVar[str] = (
        "Setting secondary replication ID to {replid2}, valid up to offset: {offset}. New replication ID is {replid}"
    )


@final
class ReplicationIdsChanged(Event):
    TEXT: ClassVar[str] = "Changing replication IDs after receiving change-repl-id"


@final
class MasterModeEnabled(Event):
    client: str
    TEXT: ClassVar[str] = "MASTER MODE enabled (user request from '{client}')"


@final
class ReplicaOfEnabled(Event):
    master: str
    client: str
    TEXT: ClassVar[str] = "REPLICAOF {master} enabled (user request from '{client}')"


@final
class AlreadyFollowing(Event):
    TEXT: ClassVar[str] = (
        "REPLICAOF would result into synchronization with the master we are already connected with. No operation "
        "performed."
    )


@final
class FailoverRequested(Event):
    """`target` is the replica's address, or `any replica`."""

    target: str
    TEXT: ClassVar[str] = "FAILOVER requested to {target}."


@final
class FailoverBegins(Event):
    target: str
    forced: bool
    TEXT: ClassVar[str] = "Failover target {target} is synced, failing over."

    def text(self) -> str:
        if self.forced:
            return f"Failover to {self.target} time out exceeded, failing over."
        return Event.text(self)


@final
class FailoverDone(Event):
    TEXT: ClassVar[str] = "Failover finished: the former replica is the master now, writes are refused here."


@final
class FailoverGivenUp(Event):
    reason: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Failover aborted: {reason}. This node stays the master, writes go on."


@final
class FailoverAsked(Event):
    """The replica's end: our master asks us to take over."""

    master: str
    TEXT: ClassVar[str] = "Failover request was received from master {master}, taking over."


@final
class OwnStreamOffered(Event):
    TEXT: ClassVar[str] = (
        "Before turning into a replica, using my own master parameters to synthesize a cached master: I may be able to "
        "synchronize with the new master with just a partial transfer."
    )


@final
class AofLoaded(Event):
    seconds: float
    TEXT: ClassVar[str] = "DB loaded from append only file: {seconds:.3f} seconds"


@final
class AofTruncated(Event):
    path: str
    offset: int
    lost_bytes: int
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "!!! Warning: short read while loading the AOF file {path}: the last whole command ends at byte {offset}; "
        "truncated there, {lost_bytes} bytes of an unfinished one are gone !!!"
    )


@final
class AofFromSnapshot(Event):
    path: str
    TEXT: ClassVar[str] = "There is no append only file yet: it begins with the data of {path}"


@final
class AofPlaceFound(Event):
    replid: str
    offset: int
    TEXT: ClassVar[str] = "The append only file ends at offset {offset} of the stream {replid}: it can be continued"


@final
class AofRewriteStarted(Event):
    child_pid: int
    TEXT: ClassVar[str] = "Background append only file rewriting started by pid {child_pid}"


@final
class AofRewriteSucceeded(Event):
    TEXT: ClassVar[str] = "Background AOF rewrite finished successfully"


@final
class AofRewriteFailed(Event):
    error: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Background AOF rewrite failed, the files so far stay in use: {error}"


@final
class AofAutoRewrite(Event):
    percent: int
    TEXT: ClassVar[str] = "Starting automatic rewriting of AOF on {percent}% growth"


@final
class AofWriteFailed(Event):
    error: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Error writing to the AOF file: {error}. Writes are refused until it can be written again"


@final
class AofWriteRecovered(Event):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "AOF write error looks solved, the node can write again."


@final
class AofFellBehind(Event):
    lacking_bytes: int
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "The append only file lacks {lacking_bytes} bytes of the stream, as the disk takes no more: the"
        " file is left as it is, and a rewrite makes a new one once there is room. Until then a restart"
        " loads older data. Free disk space."
    )


@final
class AofFatal(Event):
    error: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Can't recover from AOF write error when the AOF fsync policy is 'always': {error}. Exiting, so that nothing "
        "is acknowledged that is not on disk. Free disk space and start again."
    )


# --- change streams ------------------------------------------------------------------------------------------------


@final
class StreamPortOpened(Event):
    port: int
    TEXT: ClassVar[str] = "Change streams can be followed on port {port}"


@final
class StreamTableFailed(Event):
    error: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "The table of application streams cannot be used: {error}. Until it can, STREAMS commands fail and"
        " subscribers get no news. Check stream-facts and the database; the node tries again every 5 s."
    )


@final
class StreamTableRecovered(Event):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "The table of application streams can be used again"


@final
class StreamFollowed(Event):
    """`client` is `ip:port`, `name` what it calls itself."""

    client: str
    name: str
    stream: str
    token: int
    LEVEL: ClassVar[Level] = Level.VERBOSE
    TEXT: ClassVar[str] = "Subscriber {client} {name} follows the stream {stream} from token {token}"


@final
class StreamClientLeft(Event):
    client: str
    name: str
    LEVEL: ClassVar[Level] = Level.VERBOSE
    TEXT: ClassVar[str] = "Subscriber {client} {name} closed its connection"


@final
class StreamClientRefused(Event):
    client: str
    name: str
    reason: str
    TEXT: ClassVar[str] = "Subscriber {client} {name} got an ERROR and was closed: {reason}"


class MailboxWord(Event):
    """What becomes of mailboxes, under a word of its own: the text log begins with it, `Mailboxes: WORD`, and the event
    log has it as the cause of mailbox_noted. docs/mailbox-words.md is made of them all.

    TEXT says what it means, and TO_DO, the end of the line, what an operator is to do about it; empty: nothing.
    """

    WORD: ClassVar[str] = ""
    TO_DO: ClassVar[str] = ""

    @classmethod
    def word(cls) -> str:
        return cls.WORD

    @classmethod
    def sentence(cls) -> str:
        return f"Mailboxes: {cls.word()}. {cls.TEXT}{cls._advice()}"

    @classmethod
    def meaning(cls) -> str:
        """What it means, without the word and what it is about."""
        return cls.TEXT

    @classmethod
    def _advice(cls) -> str:
        return f". {cls.TO_DO}" if cls.TO_DO else ""


@final
class MailboxPortOpened(Event):
    port: int
    node: str
    members: int
    TEXT: ClassVar[str] = "Mailboxes are kept as the node {node}, one of {members}, on port {port}"


@final
class MailboxLmtpOpened(Event):
    port: int
    backend: str
    TEXT: ClassVar[str] = "Mail for the Dovecot at {backend} is taken by LMTP on port {port}"


@final
class MailboxLmtpUnreachable(MailboxWord):
    """The reason is told once, until it changes; each delivery tries it again."""

    backend: str
    reason: str
    WORD: ClassVar[str] = "lmtp_unreachable"
    TO_DO: ClassVar[str] = "Start that Dovecot, or mend mailbox-lmtp-backend"
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "The Dovecot at {backend} (mailbox-lmtp-backend) cannot be reached, so mail servers that deliver are told to"
        " come again: {reason}"
    )


@final
class MailboxMemberUnreachable(Event):
    """The reason is told once, until it changes; it is tried again all the time."""

    node: str
    address: str
    reason: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "The mailbox node {node} at {address} cannot be reached: {reason}"


@final
class MailboxLinkUp(Event):
    node: str
    address: str
    TEXT: ClassVar[str] = "The mailbox node {node} at {address} is connected"


@final
class MailboxLinkInClear(MailboxWord):
    node: str
    address: str
    WORD: ClassVar[str] = "link_in_clear"
    TO_DO: ClassVar[str] = "Set tls-mailbox yes on all members, or put the link into a tunnel"
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "The mailbox node {node} at {address} is in no private network, and what passes is not encrypted: who is on"
        " the way can read all mail"
    )


@final
class MailboxTlsUnwanted(MailboxWord):
    client: str
    WORD: ClassVar[str] = "tls_unwanted"
    TO_DO: ClassVar[str] = "Set tls-mailbox alike on all members: yes or no"
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "{client} speaks TLS to mailbox-port, and tls-mailbox of this node is no. It is not let in"


@final
class MailboxLinkLost(Event):
    node: str
    address: str
    reason: str
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "The connection with the mailbox node {node} at {address} is over: {reason}"


@final
class MailboxClientRefused(Event):
    client: str
    reason: str
    TEXT: ClassVar[str] = "The connection from {client} to mailbox-port or mailbox-socket was closed: {reason}"


class MailboxNotice(MailboxWord):
    """What the machine of mailboxes noticed. TEXT begins by its word: `Mailboxes: WORD {about}`.

    `about` names the user and the mailbox, the node, or the op.
    """

    about: str

    @classmethod
    def word(cls) -> str:
        """The machine's word, as it stands in TEXT."""
        return cls.TEXT.split()[1]

    @classmethod
    def sentence(cls) -> str:
        return f"{cls.TEXT}{cls._advice()}"

    @classmethod
    def meaning(cls) -> str:
        return cls.TEXT.partition("{about}")[2].lstrip(":., ")


@final
class MailboxApart(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: apart {about}: this node sees no majority of the members, and does with new mail as mailbox-apart"
        " says"
    )
    TO_DO: ClassVar[str] = (
        "MAILBOX STATUS shows who is not linked: bring so many of them back that there is a majority. If they run, see"
        " whether each has its own name (mailbox-node) and all the same mailbox-members in the same order, and what the"
        " log of each says of its links. If they are lost"
        " for good, see docs/mailboxes-operation.md"
    )


@final
class MailboxRootForced(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: root_forced {about}: this node is the root without a majority, as an operator has said that the"
        " others are dead (MAILBOX ROOT FORCE). It is so until it starts again or meets a majority"
    )
    TO_DO: ClassVar[str] = "Bring a majority of the members back, as docs/mailboxes-operation.md says"


@final
class MailboxTogether(MailboxNotice):
    TEXT: ClassVar[str] = "Mailboxes: together {about}: this node sees a majority of the members again"


@final
class MailboxSingleCopy(MailboxNotice):
    TEXT: ClassVar[str] = "Mailboxes: single_copy {about}: no other member has this change yet"
    TO_DO: ClassVar[str] = "If more follow, see by MAILBOX STATUS who is not linked or lags"


@final
class MailboxGuidClash(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: guid_clash {about}: two different mails had this GUID. Both are there, with GUIDs and UIDs of their"
        " own"
    )
    TO_DO: ClassVar[str] = "The hosts of two Dovecots have one name: give each host a name of its own"


@final
class MailboxOpsLost(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: ops_lost {about}: a disk was lost while what it alone had came here. What has come stays, and all"
        " members take it from this node"
    )
    TO_DO: ClassVar[str] = "Mail that was on that disk alone is lost: look for it in a backup"


@final
class MailboxUidBurned(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Mailboxes: uid_burned {about}: two messages had this UID, so one of them gets another"
    TO_DO: ClassVar[str] = "That must not be: report it, with the logs of all members"


@final
class MailboxUidsRunOut(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Mailboxes: uids_run_out {about}: no UIDs are left here"
    TO_DO: ClassVar[str] = "Say MAILBOX RENEW for it, which begins again with 1; clients load the mailbox anew then"


@final
class MailboxUidsRunShort(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: uids_run_short {about}: less than a tenth of the UIDs is left, and without one no mail can be saved"
    )
    TO_DO: ClassVar[str] = (
        "Say MAILBOX RENEW for it at a quiet hour, which begins again with 1; clients load the mailbox anew then"
    )


@final
class MailboxKeywordsNotReplicated(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: keywords_not_replicated {about}: a keyword is not on all nodes. Another node has set a 27th one, or"
        " one that is no keyword of IMAP: a Maildir has letters for 26, so all nodes know it, and the Dovecot of this"
        " node does not show it. Or dovecot-keywords in this Maildir has a name with blanks, brackets or bytes that are"
        " no UTF-8: other nodes do not get it"
    )
    TO_DO: ClassVar[str] = "Have mail programs give these mails another keyword"


@final
class MailboxMailUnreadable(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: mail_unreadable {about}: no other node gets this mail, which the Dovecot of this node may show"
    )
    TO_DO: ClassVar[str] = (
        "Give the file to the user whom pyrepl runs as, or take away what is no mail: a folder, a link. It is read"
        " again when something changes in the mailbox"
    )


@final
class MailboxChangeUnsayable(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: change_unsayable {about}: a mail program did this, and other nodes could not read it, so it stays"
        " on this node"
    )
    TO_DO: ClassVar[str] = "Save the mail anew, or give it fewer keywords; and please report this"


@final
class MailboxMailNameless(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: mail_nameless {about}: no line of dovecot-uidlist can name this file, as its name has the end of a"
        " line in it, or nothing before the colon. No client sees it, and no other node gets it"
    )
    TO_DO: ClassVar[str] = "Give the file another name"


@final
class MailboxExpungeGuard(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: expunge_guard {about}: so many messages are missing from the Maildir at once, and none of them"
        " counts as expunged"
    )
    TO_DO: ClassVar[str] = "Put their files back, or say MAILBOX ALLOW"


@final
class MailboxUidsAnew(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: uids_anew {about}: so many messages have another UID in dovecot-uidlist than this node knows, as if"
        " their lines had been lost: a list that was cut in half, removed or put back. No mail is lost; clients on all"
        " nodes load these messages again"
    )
    TO_DO: ClassVar[str] = "Look at the disk of the Maildirs, and whether anything but Dovecot and pyrepl writes there"


@final
class MailboxFlagsDiffer(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: flags_differ {about}: so many messages have other flags in the Maildir than this node knows. Its"
        " clients see those of the Maildir, and no other node hears of them, as it may be an accident: letters that a"
        " copy of the files lost"
    )
    TO_DO: ClassVar[str] = (
        "If it is one say MAILBOX DENY, and the Maildir gets the flags that this node knows; if mail programs changed"
        " them say MAILBOX ALLOW"
    )


@final
class MailboxWatchesRunOut(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: watches_run_out {about}: the kernel does not watch these, as it has no more watches for this user."
        " Their gates are shut, and one of them is opened each mailbox-poll milliseconds: clients wait that long"
    )
    TO_DO: ClassVar[str] = "Raise fs.inotify.max_user_watches (sysctl), and start again"


@final
class MailboxGateFailed(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Mailboxes: gate_failed {about}: the gate could not be moved, and it is tried again"
    TO_DO: ClassVar[str] = (
        "If it stays so, mend what the reason says; until then the Dovecot of this node cannot write there. The other"
        " nodes wait for this mailbox for some ten seconds, if its UIDs were given out here, and then go on"
    )


@final
class MailboxLookFailed(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: look_failed {about}: what is in this mailbox cannot be asked of Dovecot (mailbox-store doveadm),"
        " and it is tried again"
    )
    TO_DO: ClassVar[str] = (
        "If it stays so, mend what the reason says; until then the other nodes do not hear what clients of this node do"
        " there, and clients go on"
    )


@final
class MailboxGateLost(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: gate_lost {about}: somebody removed dovecot-uidlist.lock, or put another Maildir in the place of"
        " this one, while another node gives out the UIDs. It is shut again; mail that Dovecot took in between gets"
        " other UIDs if its own are taken"
    )
    TO_DO: ClassVar[str] = "Leave that file alone, and put no older Maildir in the place of one that is kept"


@final
class MailboxGatesOpen(MailboxWord):
    seconds: float
    why: str
    WORD: ClassVar[str] = "gates_open"
    TO_DO: ClassVar[str] = "See what else the log says: the rights, or the disk of these users"
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "For {seconds:.0f} s nothing went on ({why}), so systemd starts Dovecot all the same. In mailboxes whose gates"
        " are not shut yet it may give out UIDs that another node gives out too; of two mails with one UID, one gets"
        " another"
    )


@final
class MailboxStoreStuck(MailboxWord):
    seconds: float
    WORD: ClassVar[str] = "store_stuck"
    TO_DO: ClassVar[str] = "Look at the disk"
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "For {seconds:.0f} s the disk of the Maildirs, or doveadm, has not done what it was asked for. This node begins"
        " again, or opens its gates for good, when that is done; if the process ends before, the gates stay shut until"
        " pyrepl is started, or mailbox-orphan is over"
    )


@final
class MailboxFaultyMailProcess(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Mailboxes: faulty_mail_process {about}: a mail process did what it may not"
    TO_DO: ClassVar[str] = (
        "Mend the program: it saves under UIDs without holding the mailbox's lock, or saves and waits for no answer"
    )


@final
class MailboxTextMissing(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: text_missing {about}: the text of this message is gone from the Maildir. Another member is asked"
        " for it"
    )
    TO_DO: ClassVar[str] = "Find out who removes files there, if more follow"


@final
class MailboxTextDamaged(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: text_damaged {about}. This text is damaged or cannot be read, and another member is asked for it"
    )
    TO_DO: ClassVar[str] = "Look at the disk if more follow"


@final
class MailboxTextMended(MailboxNotice):
    TEXT: ClassVar[str] = "Mailboxes: text_mended {about}: the text of this message is another member's now"


@final
class MailboxNotAligned(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: not_aligned {about}. The session of this user begins all the same: a client that comes from another"
        " node may miss changes of flags until this works"
    )
    TO_DO: ClassVar[str] = "Try what mailbox-doveadm says, as the user whom pyrepl runs as, and see how long it takes"


@final
class MailboxTextLost(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: text_lost {about}: this message was copied from one that was expunged or removed before its text"
        " was copied too. All members have said two times that they have no text of it, so it is expunged"
    )
    TO_DO: ClassVar[str] = "If it was not to go, take its text from a backup and store it as a new message"


@final
class MailboxTextUnmended(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: text_unmended {about}: no member that can be reached has the text of this message. All are asked"
        " again each minute"
    )
    TO_DO: ClassVar[str] = (
        "Bring the other members back; if none has it, take it from a backup or expunge the message. A copy of which no"
        " member has a text is expunged a minute after all have said so"
    )


@final
class MailboxTextWrong(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: text_wrong {about}. This text is not taken, and another member is asked for it. If none has it,"
        " what follows this message waits"
    )
    TO_DO: ClassVar[str] = "Say MAILBOX SCRUB on the member that sent it, or expunge the message there"


@final
class MailboxScrubDone(MailboxNotice):
    TEXT: ClassVar[str] = "Mailboxes: scrub_done {about}: all stored messages were read again"


@final
class MailboxMissing(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = "Mailboxes: mailbox_missing {about}: the Maildir does not have this mailbox"
    TO_DO: ClassVar[str] = "Put its folder back, or delete the mailbox by a mail program"


@final
class MailboxUnknown(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: mailbox_unknown {about}: the Maildir has this mailbox, and this node does not know it. It is left"
        " alone"
    )
    TO_DO: ClassVar[str] = "If its mail is wanted, save it by a mail process and move the folder away"


@final
class MailboxMailMissing(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: mail_missing {about}: so many messages are missing from the Maildir, or have no line in its"
        " dovecot-uidlist"
    )
    TO_DO: ClassVar[str] = (
        "Put their files back, or the list; without mailbox-gate on nothing else is done about it, and with it a"
        " message without a file counts as expunged"
    )


@final
class MailboxMailUnknown(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: mail_unknown {about}: so many messages in the Maildir are not known to this node. They are left"
        " alone"
    )
    TO_DO: ClassVar[str] = "If they are wanted, save them by a mail process; move their files away"


@final
class MailboxStaleGive(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.VERBOSE
    TEXT: ClassVar[str] = "Mailboxes: stale_give {about}: a mastership came too late, and is void"


@final
class MailboxMastershipLost(MailboxNotice):
    TEXT: ClassVar[str] = (
        "Mailboxes: mastership_lost {about}: nobody gives this mastership. A new epoch begins, in which the root has it"
    )


@final
class MailboxResyncByState(MailboxNotice):
    TEXT: ClassVar[str] = (
        "Mailboxes: resync_by_state {about}: the journal of this member does not reach back far enough, so all"
        " mailboxes are compared with its own"
    )
    TO_DO: ClassVar[str] = "If that happens often, raise mailbox-journal-size"


@final
class MailboxResyncByStateDone(MailboxNotice):
    TEXT: ClassVar[str] = "Mailboxes: resync_by_state_done {about}: all that this member knew is here"


@final
class MailboxResyncDone(MailboxNotice):
    TEXT: ClassVar[str] = "Mailboxes: resync_done {about}: that was compared, as an operator wanted"


@final
class MailboxFresh(MailboxNotice):
    TEXT: ClassVar[str] = (
        "Mailboxes: fresh {about}: this node has no data yet. It votes for no root before it has the data of another"
        " member, and has reached so many that every majority has one of them (with two members the other one, with"
        " three both others); or sees that a majority of the members is new"
    )
    TO_DO: ClassVar[str] = "Start the other members, if some are off"


@final
class MailboxResyncByStateSilent(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: resync_by_state_silent {about}: this member is linked and answers nothing, so another one is asked,"
        " or this one again in a minute"
    )
    TO_DO: ClassVar[str] = "If it stays silent, restart that member"


@final
class MailboxFreshOver(MailboxNotice):
    TEXT: ClassVar[str] = "Mailboxes: fresh_over {about}: from now on this node votes for who is the root"


@final
class MailboxUnited(MailboxNotice):
    TEXT: ClassVar[str] = "Mailboxes: united {about}: two mailboxes of this name are one now"


@final
class MailboxJoined(MailboxNotice):
    TEXT: ClassVar[str] = "Mailboxes: joined {about}: MAILBOX JOIN * is done"
    TO_DO: ClassVar[str] = (
        "If some failed, MAILBOX STATUS names them: say MAILBOX JOIN for each; the answer has the reason"
    )


@final
class MailboxJoinFailed(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: join_failed {about}. The user's folders cannot be listed, so nothing of this user is kept"
    )
    TO_DO: ClassVar[str] = "Mend that, and say MAILBOX JOIN again"


@final
class MailboxDatabaseIsOld(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: database_is_old {about}: mailbox.db is older than what other members know, so nothing is taken from"
        " them by comparing"
    )
    TO_DO: ClassVar[str] = (
        "Stop Dovecot and pyrepl here, move mailbox.db and the mail below mailbox-maildir away, and start both: with"
        " its old mail the node would bring back what was expunged since (docs/mailboxes-operation.md)"
    )


@final
class MailboxPutBack(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: put_back {about}: this node was put back from an older state, and mail was changed here before it"
        " met the others. Its changes and theirs have the same numbers, so it is not linked with them"
    )
    TO_DO: ClassVar[str] = (
        "Stop this node, copy away the mail that came since it was put back, move mailbox.db and the Maildirs away, and"
        " start it: all else comes from the other nodes"
    )


@final
class MailboxFoldersGuard(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: folders_guard {about}: INBOX is missing, or so many folders that most of the user's mail would be"
        " lost with them, and none of them counts as deleted"
    )
    TO_DO: ClassVar[str] = "Put them back, or say MAILBOX ALLOW for each"


@final
class MailboxFoldersFailed(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: folders_failed {about}. The user's folders cannot be listed, and it is tried again"
    )
    TO_DO: ClassVar[str] = "If it stays so, mend what the reason says: the rights, or the disk of this Maildir"


@final
class MailboxFolderUnnamed(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: folder_unnamed {about}: no mailbox can have this name, so its mail is on this node alone"
    )
    TO_DO: ClassVar[str] = "Rename the folder if it is to be kept"


@final
class MailboxFolderCopied(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: folder_copied {about}: this folder has the GUID of another mailbox, as a copy of its folder has, so"
        " its mail is on this node alone"
    )
    TO_DO: ClassVar[str] = (
        "If it is to be a mailbox of its own, remove dovecot-uidlist and dovecot.index* from it: Dovecot gives it a new"
        " GUID. Else remove the folder"
    )


@final
class MailboxFolderOfOther(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: folder_of_other {about}: this mailbox is kept as the one of the other user who is named, so it is"
        " not kept as this user's too"
    )
    TO_DO: ClassVar[str] = (
        "If both are one person, whom Dovecot knows by two names, have mail programs use the other name, and remove"
        " nothing: there is one mailbox. If it is shared, leave it out by mailbox-exclude. If it is a copy of that"
        " user's folder in a Maildir, remove dovecot-uidlist and dovecot.index* from the copy: Dovecot gives it a new"
        " GUID"
    )


@final
class MailboxNameNotStorable(MailboxNotice):
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Mailboxes: name_not_storable {about}: mailbox-layout of this node cannot store the first name, so the folder"
        " here has the second one, which clients of this node see; others see the first"
    )
    TO_DO: ClassVar[str] = "Rename the mailbox if that is not wanted"


@final
class MailboxNoticed(Event):
    """What has no line of its own."""

    kind: str
    about: str
    TEXT: ClassVar[str] = "Mailboxes: {kind} {about}"


@final
class MailboxesRefused(MailboxWord):
    """It is tried each second until the disk takes something; told again each minute, and when the reason changes."""

    reason: str
    WORD: ClassVar[str] = "refused"
    TO_DO: ClassVar[str] = "Mount the disk, or make room on it; all else follows by itself"
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "The disk of all Maildirs refuses: {reason}. Until it can be used, this node does nothing to its mailboxes: its"
        " links and mail processes are closed, Dovecots wait at its gates, and the other nodes go on without this one"
    )


@final
class MailboxesKeptAgain(MailboxWord):
    seconds: float
    WORD: ClassVar[str] = "kept_again"
    TEXT: ClassVar[str] = (
        "Mailboxes are kept again, after {seconds:.0f} s: what is on disk was compared, and the other nodes tell what"
        " was done meanwhile"
    )


@final
class MailboxUserStopped(MailboxWord):
    """Told again when the reason changes. What is owed is tried again after a pause, which doubles up to a minute."""

    user: str
    reason: str
    WORD: ClassVar[str] = "user_stopped"
    TO_DO: ClassVar[str] = "Mend what the reason says (docs/mailboxes-operation.md); it goes on by itself then"
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "The mailboxes of {user} stand still here: {reason}. Changes of other nodes wait, and are tried"
        " again and again until the disk takes them; all other users go on"
    )


@final
class MailboxUserResumed(MailboxWord):
    user: str
    WORD: ClassVar[str] = "user_resumed"
    TEXT: ClassVar[str] = "The mailboxes of {user} go on: all that waited is written"


@final
class MailboxesLeft(MailboxWord):
    node: str
    WORD: ClassVar[str] = "left"
    TO_DO: ClassVar[str] = "Take mailbox-port out of its configuration, or the next start brings it back"
    TEXT: ClassVar[str] = "Mailboxes are not kept any more: {node} has left, and its Maildirs are ordinary ones"


@final
class MailboxBegunAgain(MailboxWord):
    error: str
    WORD: ClassVar[str] = "begun_again"
    TO_DO: ClassVar[str] = (
        "Mend the disk if the reason names one; if it comes again and again for another reason, report it"
    )
    LEVEL: ClassVar[Level] = Level.WARNING
    TEXT: ClassVar[str] = (
        "Keeping mailboxes failed ({error}). Their connections are closed and it begins again from what is on disk"
    )


EVENTS: Final[tuple[type[Event], ...]] = tuple(
    kind
    for kind in list(globals().values())
    if isinstance(kind, type) and issubclass(kind, Event) and kind not in (Event, MailboxWord, MailboxNotice)
)
"""Every record above, in order."""
