"""pyrepl: a replication daemon that speaks Redis's PSYNC, as master and as replica.

Bytes come in on a socket, a pure protocol core decides what they mean, the keyspace changes, the same bytes go to the
backlog, and every replica is fed from there.

The floors; who stands higher may import who stands lower, neighbours on a floor do not know each other:

    cli                                   the command line (installed as pyrepl_cli)
    daemon                                the process: loop, sockets, files, children, clocks, randomness; its rooms:
                                          wires (what carries bytes), clients, feeding (our replicas), following (our
                                          master), disk, aof, memory, eventlog, changes (the stream port),
                                          mailbox (the service that keeps mailboxes, and its files)
    analysis                              neighbour of daemon: the process around the metrics, with Java and Spark
    capture                               neighbour of daemon: a change stream in files
    commands | metrics                    one row per command, rooms: engine (table, dispatcher), keys, strings,
                                          collections, zsets, geo, vectors, xstreams, scripts, session, node, describe
                                          | what syncs cost, by Spark from logs
    observability | topology | host       events and their words, INFO and its fields | many nodes, as INFO shows them
                                          | the machine that a node runs on, and what that means for the node
    node                                  the state of one node, put together
    replication | changes | mailbox       PSYNC, pure: history, backlog, link, session, roster, role | change streams
                                          | mailboxes that several nodes keep: the protocol and its machines;
                                          rooms: maildir (formats of its files)
    keyspace | aof | scripting            databases, value types, expiry, digest | the append-only file, its parts
                                          | Lua: the interpreter, its sandbox and libraries
    store                                 tables of keys: what one must do, and the plain one, of dictionaries
    resp | rdb | config                   the wire, the snapshot format, the directives
    acl                                   users and what each may do, who a connection is, and where it comes from
    units | glob | kernels | frozen | machines | temporary
                                          kernels: whether the hot modules run compiled | records that never change |
                                          a machine's table of moves | files in the making
    layout                                which interpreters the compiled form fits
    errors

Everything below `daemon`, `analysis` and `capture` is a function of bytes and `now`: no socket, no clock, no
randomness, no log.

Where do I add ...?
    a command          one @command function in its family, in a room of commands/: it parses, calls a verb and shapes
                       the reply
    a verb             one function in keyspace/list_verbs.py and its like, which alone know how a value is kept
    a directive        one row in config/directives.py, or in the files of rows beside it
    an INFO field      one row in observability/info/<section>.py
    an RDB type        one pair in rdb/types/
    an RDB version     one row in rdb/versions.py, and its number in the directive rdb-version
    a log line         one record in observability/events.py
    an event's record  one record in observability/eventlog/records.py, made in observability/telling
    a metric           one column in metrics/results.py, and its expression beside its table's others
    a reply to master or replica
                       replication/handshake.py, conversation.py (replica's end), session.py, roster.py (master's)

Words: an offset is a cut, the count of stream bytes to its left; ranges are half-open. `held` is what a replica has,
`replid` names a stream, `replid2` and `fork` the stream before it and where the two part. `now` is monotonic seconds,
`_ms` Unix time. Numbers from 1, as Redis counts bytes, exist only at the codec's edge and in INFO.
"""

from pyrepl import layout as _layout

VERSION = "0.1.0"


def _is_compiled() -> bool:
    from pyrepl import kernels

    return kernels.form() == kernels.COMPILED


_layout.refuse_compiled(_layout.running(), _is_compiled)
