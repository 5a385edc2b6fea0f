"""INFO streams: the stream port and each of its subscribers. Not in Redis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pyrepl.node.node import Node
from pyrepl.node.streams import Subscriber
from pyrepl.observability.info.field import Rows, Section, counter, gauge, text
from pyrepl.observability.subscriber_line import subscriber_fields


def _subscribers(node: Node) -> Iterator[tuple[str, str]]:
    for number, one in enumerate(node.streams.subscribers.values()):
        yield f"stream_client{number}", _line(one, node.process.now)


def _line(one: Subscriber, now: float) -> str:
    subscription = one.subscription
    followed = "|".join(
        f"{stream}/{subscription.token(stream, writer)}{'' if subscription.is_live(stream, writer) else '*'}"
        for stream, writer in subscription.followed
    )
    return ",".join([*subscriber_fields(one, now), f"streams={followed}"])


STREAMS: Final = Section(
    "Streams",
    (
        gauge("stream_port", lambda node: node.streams.port, "TCP port of change streams; 0 for none."),
        text("stream_name", lambda node: node.streams.name, "The name of this node on its stream port."),
        gauge("stream_clients", lambda node: len(node.streams.subscribers), "Subscribers that are connected."),
        counter(
            "stream_total_connections",
            lambda node: node.streams.total_connections,
            "Subscribers that connected since the start.",
        ),
        counter(
            "stream_rejected_connections",
            lambda node: node.streams.rejected_connections,
            "Subscribers that were not let in.",
        ),
        counter("stream_rows_sent", lambda node: node.streams.rows_sent, "Rows sent to all subscribers."),
        counter(
            "stream_errors_sent",
            lambda node: node.streams.errors_sent,
            "Subscribers that got an ERROR and were closed.",
        ),
        counter(
            "stream_output_limit_disconnections",
            lambda node: node.streams.cut_for_output,
            "Subscribers that got an ERROR and were closed, as they did not read.",
        ),
        gauge(
            "stream_output_bytes",
            lambda node: node.streams.output_bytes,
            "Bytes that wait until subscribers read them.",
            "bytes",
        ),
        Rows(
            "stream_client<n>",
            _subscribers,
            "Per subscriber: each of its streams with its token, and * while it catches up.",
        ),
    ),
)
