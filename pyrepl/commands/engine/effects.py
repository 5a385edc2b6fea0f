"""The effects: what commands ask the daemon to do. Each docstring begins with the command and ends with the reply.

A command that needs a file, a connection or time returns an effect in place of a reply. The dispatcher hands it to the
daemon's `perform`, which acts and returns the reply. No effect is needed where a command only changes state that the
daemon looks at after the command: QUIT and CLIENT KILL of oneself (`Client.closing`), MONITOR (`Node.monitors`), CLIENT
REPLY, SELECT, RESET, CONFIG RESETSTAT, DEBUG DIGEST, POPULATE, SET-ACTIVE-EXPIRE, REPLICATE, CHANGE-REPL-ID.

"Later" marks an effect whose reply may be sent later: `perform` returns NO_REPLY, serves no further command of that
client, and sends the reply when it is known. Inside EXEC (`call.is_nested`) nothing may wait: the reply is given
at once, from what is true then.
"""

from __future__ import annotations

import enum
from typing import final

from pyrepl.commands.engine.effect import Effect
from pyrepl.commands.engine.slices import Job
from pyrepl.observability.event import Event
from pyrepl.resp.reply import NULL_ARRAY, OK, Reply, Simple


class SaveMode(enum.Enum):
    """What SHUTDOWN does about the data set."""

    DEFAULT = "default"
    """Save if save points are configured."""
    SAVE = "save"
    NOSAVE = "nosave"


@final
class Shutdown(Effect):
    """SHUTDOWN [NOSAVE|SAVE] [NOW] [FORCE].

    Later: waits up to shutdown-timeout for the replicas unless `now`; then the process ends without a reply.
    `-ERR Errors trying to SHUTDOWN. Check logs.` when the final save failed and not `force`.
    """

    mode: SaveMode = SaveMode.DEFAULT
    now: bool = False
    """Do not wait for replicas that lag."""
    force: bool = False
    """End even if saving fails."""


@final
class AbortShutdown(Effect):
    """SHUTDOWN ABORT: +OK, or `-ERR No shutdown in progress.`"""


@final
class Save(Effect):
    """SAVE: write a snapshot. +OK when it is on disk, `-ERR` when it could not be written.

    The command has checked that no child process is writing one.
    """


@final
class Flushed(Effect):
    """FLUSHALL has emptied the databases. A snapshot that a child is writing is out of date and is given up; with save
    points an empty one is written at once. +OK."""


@final
class BgSave(Effect):
    """BGSAVE: start a child process that writes a snapshot. `+Background saving started`, or `-ERR` when it cannot be
    started. The command has checked that no child is writing one."""


@final
class ScheduleBgSave(Effect):
    """BGSAVE inside EXEC: start a child as soon as the transaction is over. `+Background saving scheduled`."""


@final
class ReplicaOf(Effect):
    """REPLICAOF: follow the master at `host`:`port` from now on; +OK. Not used when the node follows it already."""

    host: str
    port: int


@final
class Failover(Effect):
    """FAILOVER: hand the role of master over to a replica; +OK.

    `target` is the replica's (host, port); None means the replica that first has the whole stream. Used only on a
    master. CommandError, with Redis's text, when the failover cannot begin.
    """

    target: tuple[str, int] | None
    force: bool
    timeout_ms: int | None


@final
class AbortFailover(Effect):
    """FAILOVER ABORT: +OK, or `-ERR No failover in progress.`"""


@final
class HurryLink(Effect):
    """REPLICAOF of the master that the node follows already: if the link waits before its next attempt to connect, let
    it connect now. `reply` is sent."""

    reply: Simple


@final
class Promote(Effect):
    """REPLICAOF NO ONE: become a master; +OK. Used only on a replica."""


@final
class Wait(Effect):
    """WAIT: how many replicas have acked `call.client.write_cut`, an integer.

    Later: as soon as at least `replicas` have, or after `timeout_ms` (0: no limit). Ask for ACKs (REPLCONF GETACK *)
    when fewer have acked now.
    """

    replicas: int
    timeout_ms: int


@final
class WaitForKeys(Effect):
    """BLPOP and its like have found nothing at `keys` of the client's database: try the command `argv` again when one
    of them becomes ready. Asked only where `call.may_wait`.

    Later: the reply of the command that found something, `late_reply` after `timeout_ms` (0: no limit).
    """

    keys: tuple[bytes, ...]
    type_name: str
    """What is waited for, as TYPE names it: list, zset or stream."""
    timeout_ms: int
    argv: tuple[bytes, ...]
    late_reply: Reply = NULL_ARRAY
    on_any_type: bool = False
    """Try again too when a key is deleted or gets another type (XREADGROUP, which then fails)."""


@final
class Replconf(Effect):
    """REPLCONF of a replica; `argv` is the whole command. The reply is that of its session: +OK, an error, NO_REPLY for
    ACK."""

    argv: tuple[bytes, ...]


@final
class Sync(Effect):
    """PSYNC or SYNC; `argv` is the whole command: the connection becomes that of a replica. NO_REPLY, or an error when
    it is refused."""

    argv: tuple[bytes, ...]


@final
class UnblockClient(Effect):
    """CLIENT UNBLOCK: end the wait of this client, as if its time were over, or with an error. The reply is 1, or 0 if
    it does not wait (any more)."""

    client_id: int
    with_error: bool


@final
class KillClients(Effect):
    """CLIENT KILL: close these connections at once. `reply` is sent as it is.

    A replica's or the master's connection is among them when its client is. The caller's own connection never is: it
    has `closing` set, so that it still gets the reply.
    """

    client_ids: tuple[int, ...]
    reply: Simple | int
    """OK (the old form), or how many were killed, the caller's own included."""


@final
class PauseChanged(Effect):
    """CLIENT PAUSE or UNPAUSE has changed `node.pause`: hold or release clients accordingly. +OK."""


@final
class SettingsChanged(Effect):
    """CONFIG SET has changed these directives (canonical names): apply them to what runs (listener, log, timers). +OK.

    They are in `node.settings` already. CommandError `ERR CONFIG SET failed (possibly related to argument '<name>') -
    <reason>` when one cannot be applied (a port in use): then the daemon puts `previous` back by
    `node.change_settings`.
    """

    names: tuple[str, ...]
    previous: tuple[object, ...]
    """The values before, in the order of `names`."""


@final
class MakePassword(Effect):
    """ACL GENPASS: the reply is a password of so many hexadecimal digits, which nobody can guess."""

    digits: int


@final
class LoadUsers(Effect):
    """ACL LOAD: read the users from `aclfile`, and close the connections of users that are gone. +OK, or -ERR with all
    that is wrong in the file; then nothing has changed. The command has checked that there is a file."""


@final
class SaveUsers(Effect):
    """ACL SAVE: write the users to `aclfile`. +OK, or -ERR. The command has checked that there is a file."""


@final
class RewriteConfig(Effect):
    """CONFIG REWRITE: write the configuration file. +OK, or `-ERR Rewriting config file: <reason>`. The command has
    checked that there is a file."""


@final
class DebugSleep(Effect):
    """DEBUG SLEEP: serve no client for `seconds`; +OK."""

    seconds: float


@final
class DebugReload(Effect):
    """DEBUG RELOAD: save (unless NOSAVE), empty the databases (unless NOFLUSH), load dump.rdb. +OK.

    `-ERR Error trying to load the RDB dump, check server logs.` when it cannot be loaded.
    """

    save: bool = True
    flush: bool = True
    merge: bool = False
    """Keys in the file replace those in memory instead of being an error."""


@final
class RewriteAof(Effect):
    """BGREWRITEAOF: start a child process that rewrites the AOF. `+Background append only file rewriting started`, or
    `... scheduled` while another child runs, or -ERR when the child cannot be started. The command has checked that no
    rewrite is running."""


@final
class WaitAof(Effect):
    """WAITAOF. The reply: [1 if `call.client.write_cut` is fsynced here else 0, how many replicas have fsynced it].

    Later: as soon as at least `local` and `replicas` are reached, or after `timeout_ms` (0: no limit).
    """

    local: int
    replicas: int
    timeout_ms: int


@final
class DebugLoadAof(Effect):
    """DEBUG LOADAOF: write out the AOF, empty the databases, load it again. +OK, or -ERR when there is no AOF."""


@final
class InSlices(Effect):
    """A job that is done in slices (`slices`), such as KEYS of many keys. Its reply comes later, but inside EXEC at
    once."""

    job: Job


@final
class RefuseLater(Effect):
    """AUTH and HELLO have failed, and others from the same address before them: the reply `-<error>` comes after
    `delay_s`, and what the client has sent behind it waits. Inside EXEC the reply comes at once."""

    error: str
    delay_s: float


class ReplPausePoint(enum.Enum):
    """Where DEBUG REPL-PAUSE makes the process stop (Redis 8.2)."""

    CLEAR = "clear"
    """Nowhere any more."""
    AFTER_FORK = "after-fork"
    """On a master, when the child that makes a snapshot for replicas was started."""
    BEFORE_RDB_CHANNEL = "before-rdb-channel"
    """On a replica, before it asks for the snapshot on its second connection."""
    ON_STREAMING_REPL_BUF = "on-streaming-repl-buf"
    """On a replica, at each piece that it applies of the stream that came beside the snapshot."""


@final
class ReplPause(Effect):
    """DEBUG REPL-PAUSE: stop the process at this point of a sync, each time until SIGCONT; +OK. CLEAR ends that."""

    point: ReplPausePoint


@final
class Log(Effect):
    """Write this event to the logs; `reply` is sent as it is."""

    event: Event
    reply: Simple = OK


class FactDeed(enum.Enum):
    """What STREAMS.* asks for."""

    RESERVE = "reserve"
    COMPLETE = "complete"
    APPEND = "append"
    POSITION = "position"
    LIST = "list"


@final
class WriteFact(Effect):
    """STREAMS.*: a fact of an application's stream, or a question about the streams.

    Later, where the facts are in a database. RESERVE: the id, or an array of `number` of them if it is not 0. COMPLETE
    of the id `number`: this node's current id; `-ERR` if it is not reserved. APPEND: the id. POSITION: [linear id,
    [writer, id, ...]]. LIST: the names.
    """

    deed: FactDeed
    stream: str = ""
    number: int = 0
    rows: tuple[str, ...] = ()


class MailboxQuestion(enum.Enum):
    """What MAILBOX asks for."""

    STATUS = "status"
    INFO = "info"
    MASTER = "master"
    CHECK = "check"
    FORCE = "force"
    ALLOW = "allow"
    DENY = "deny"
    RENEW = "renew"
    JOIN = "join"
    LEAVE = "leave"
    LEAVE_FORCE = "leave force"
    USERS = "users"
    MESSAGES = "messages"
    SCRUB = "scrub"
    RESYNC = "resync"


@final
class AskMailboxes(Effect):
    """MAILBOX: a question about the mailboxes that this node keeps with others; always answered later.

    STATUS: a map. INFO of `user`, and of `box` if it is not empty: an array of maps. MASTER: the node that gives out
    UIDs in `box`. CHECK: +OK when all is everywhere, `-ERR` after 5 s. FORCE: +OK, this node is the root. ALLOW, DENY,
    RENEW, JOIN, LEAVE, SCRUB: +OK. USERS: an array of names. MESSAGES: an array of maps, at most `count` of those in
    `box` behind the UID `after`. RESYNC: a map.
    """

    question: MailboxQuestion
    user: str = ""
    box: str = ""
    after: int = 0
    count: int = 0
