"""Which part of a node hears of which signal of another, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyrepl.daemon.aof.keeper import AofKeeper
from pyrepl.daemon.clients.clients import Clients
from pyrepl.daemon.failovers import Failovers
from pyrepl.daemon.feeding.replicas import Replicas
from pyrepl.daemon.roles import Roles
from pyrepl.daemon.signals import Signals

if TYPE_CHECKING:
    from pyrepl.daemon.changes.server import StreamServer


def subscribe(
    signals: Signals,
    clients: Clients,
    replicas: Replicas,
    roles: Roles,
    failovers: Failovers,
    aof: AofKeeper,
    streams: StreamServer | None,
) -> None:
    """Subscribe the parts to signals; of each signal they hear in the order that stands here."""
    clients.lost.subscribe(replicas.lost)
    signals.deliveries.subscribe(clients.deliver)
    signals.stream_grew.subscribe(replicas.plan_pump, aof.tail.plan)
    signals.stream_ends.subscribe(aof.stream_ends)
    signals.stream_begins.subscribe(aof.stream_begins)
    signals.before_replies.subscribe(aof.tail.flush)
    signals.before_feed.subscribe(aof.tail.flush)
    # A failover may end what clients wait for, so they are told before it hears of an ACK.
    signals.acked.subscribe(clients.waits.acked, failovers.acked)
    signals.fsynced.subscribe(clients.waits.fsynced)
    signals.role_changes.subscribe(clients.waits.role_changed)
    signals.take_over.subscribe(roles.take_over)
    signals.handed_over.subscribe(failovers.handed_over)
    signals.other_child.subscribe(replicas.other_child)
    if streams is not None:
        signals.stream_grew.subscribe(streams.plan)
        signals.stream_ends.subscribe(streams.stream_ends)
        signals.stream_begins.subscribe(streams.stream_begins)
