"""A client as CLIENT LIST prints it, one line of `field=value`; the log names clients by the same line.

Fields, order and flags are those of Redis 8.2. What has no meaning here is shown as a node without it would: io-thread
0, no reply buffer of fixed size (rbs, rbp).
"""

from __future__ import annotations

from typing import Final

from pyrepl.acl.addresses import is_unix
from pyrepl.node.client import Client

CLIENT_BYTES: Final = 2600
"""Measured: what CPython and uvloop spend on a connection that is idle, buffers aside (64-bit, CPython 3.11)."""


def client_line(client: Client, now: float) -> bytes:
    """The line of one client, without a line end; `now` is monotonic seconds."""
    queued_bytes = queue_bytes(client)
    head = b"id=%d addr=%b laddr=%b fd=%d name=%b age=%d idle=%d flags=%b db=%d" % (
        client.id,
        client.addr.encode(),
        client.laddr.encode(),
        client.fd,
        client.name,
        max(0, now - client.created_at),
        max(0, now - client.last_seen_at),
        client_flags(client),
        client.db_index,
    )
    sizes = b"sub=%d psub=%d ssub=%d multi=%d watch=%d qbuf=%d qbuf-free=0 argv-mem=%d multi-mem=%d" % (
        len(client.channels),
        len(client.patterns),
        len(client.shard_channels),
        -1 if client.queue is None else len(client.queue),
        len(client.watching),
        client.query_buffer_bytes,
        client.argv_bytes,
        queued_bytes,
    )
    output = b"rbs=0 rbp=0 obl=0 oll=%d omem=%d tot-mem=%d events=%b" % (
        client.output_bytes > 0,
        client.output_bytes,
        memory_bytes(client),
        b"rw" if client.output_bytes else b"r",
    )
    tail = b"cmd=%b user=%b redir=%d resp=%d lib-name=%b lib-ver=%b io-thread=0 tot-net-in=%d tot-net-out=%d" % (
        client.last_command.encode(),
        client.identity.name,
        -1 if client.tracking is None else client.tracking.redirect,
        client.proto,
        client.lib_name,
        client.lib_ver,
        client.total_in_bytes,
        client.total_out_bytes,
    )
    return b"%b %b %b %b tot-cmds=%d" % (head, sizes, output, tail, client.total_commands)


def client_flags(client: Client) -> bytes:
    """The letters of `flags=`, in Redis's order; N for a plain client."""
    tracking = client.tracking
    letters = (
        (client.is_monitor, b"O"),
        (client.is_replica, b"S"),
        (client.is_rdb_channel, b"C"),
        (client.is_master_link, b"M"),
        (client.subscribed, b"P"),
        (client.queue is not None, b"x"),
        (client.is_blocked, b"b"),
        (tracking is not None, b"t"),
        (tracking is not None and tracking.is_broken, b"R"),
        (tracking is not None and tracking.bcast, b"B"),
        (client.dirty_cas, b"d"),
        (client.closing, b"c"),
        (is_unix(client.addr), b"U"),
        (client.no_evict, b"e"),
        (client.no_touch, b"T"),
    )
    return b"".join(letter for shown, letter in letters if shown) or b"N"


def queue_bytes(client: Client) -> int:
    """What the commands queued since MULTI hold."""
    return sum(len(raw) for _, raw in client.queue) if client.queue else 0


def memory_bytes(client: Client) -> int:
    """About what one client costs, buffers included: tot-mem and the sums of INFO memory."""
    buffers = client.query_buffer_bytes + client.argv_bytes + client.output_bytes + queue_bytes(client)
    return CLIENT_BYTES + len(client.name) + buffers
