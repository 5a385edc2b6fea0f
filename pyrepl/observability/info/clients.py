"""INFO clients: connections and what they hold."""

from __future__ import annotations

from typing import Final

from pyrepl.node.node import Node
from pyrepl.observability.info.field import Section, constant, gauge


def _connected(node: Node) -> int:
    """All connections but the replicas', the one to our master included, as Redis counts."""
    return sum(1 for client in node.clients.values() if not client.is_replica)


def _largest_input(node: Node) -> int:
    return max((client.query_buffer_bytes for client in node.clients.values()), default=0)


def _largest_output(node: Node) -> int:
    return max((client.output_bytes for client in node.clients.values()), default=0)


CLIENTS: Final = Section(
    "Clients",
    (
        gauge("connected_clients", _connected, "Connections of clients, without replicas."),
        constant("cluster_connections", 0, "There is no cluster."),
        gauge("maxclients", lambda node: node.settings.maxclients, "Connections that are allowed at once."),
        gauge("client_recent_max_input_buffer", _largest_input, "Largest unfinished request of a client.", "bytes"),
        gauge("client_recent_max_output_buffer", _largest_output, "Most output that waits for one client.", "bytes"),
        gauge(
            "blocked_clients",
            lambda node: sum(client.is_blocked for client in node.clients.values()),
            "Clients that wait for a reply (WAIT, BLPOP).",
        ),
        gauge("tracking_clients", lambda node: node.tracking.clients_count, "Clients with CLIENT TRACKING."),
        gauge(
            "pubsub_clients",
            lambda node: sum(client.subscribed for client in node.clients.values()),
            "Clients with subscriptions.",
        ),
        gauge(
            "watching_clients",
            lambda node: sum(bool(client.watching) for client in node.clients.values()),
            "Clients that WATCH keys.",
        ),
        constant("clients_in_timeout_table", 0, "Always 0: pyrepl has no such table."),
        gauge(
            "total_watched_keys",
            lambda node: len({place for client in node.clients.values() for place in client.watching}),
            "Different keys under WATCH.",
        ),
        gauge("total_blocking_keys", lambda node: node.waiting.key_counts()[0], "Keys that clients wait for."),
        gauge(
            "total_blocking_keys_on_nokey",
            lambda node: node.waiting.key_counts()[1],
            "Keys that clients wait for and whose deletion ends the wait (XREADGROUP).",
        ),
    ),
)
