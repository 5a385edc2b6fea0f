"""Parts of a node that are off unless a directive asks for them: each is imported only on nodes that have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyrepl.commands.engine.dispatch import Dispatcher
from pyrepl.daemon.clients.clients import Clients
from pyrepl.daemon.clients.turns import Turns
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.eventlog.event_log import EventLog
from pyrepl.daemon.faults import Faults
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.mailbox import off as mailboxes_off
from pyrepl.daemon.performer import Deeds
from pyrepl.daemon.randomness import Randomness
from pyrepl.daemon.wires.handshakes import Handshakes
from pyrepl.daemon.wires.tls import Tls
from pyrepl.node.node import Node

if TYPE_CHECKING:
    from pyrepl.daemon.changes.server import StreamServer
    from pyrepl.daemon.mailbox.server import MailboxServer


def stream_server(
    node: Node,
    dispatcher: Dispatcher,
    clients: Clients,
    turns: Turns,
    event_log: EventLog,
    faults: Faults,
    handshakes: Handshakes,
    clock: Clock,
    log: Log,
) -> StreamServer | None:
    """The stream port, if `stream-port` is set. Raises ConfigError."""
    if not node.settings.stream_port:
        return None
    from pyrepl.daemon.changes.server import StreamServer

    return StreamServer(node, dispatcher, clients, turns, event_log, faults, handshakes, clock, log)


def mailbox_server(
    node: Node,
    tls: Tls,
    handshakes: Handshakes,
    clock: Clock,
    randomness: Randomness,
    log: Log,
    event_log: EventLog,
    streams: StreamServer | None,
) -> MailboxServer | None:
    """What keeps mailboxes, if `mailbox-port` is set, and tells what becomes of them by `streams`. Raises
    ConfigError."""
    if not node.settings.mailbox_port:
        return None
    from pyrepl.daemon.mailbox.server import MailboxServer

    tell = None if streams is None else streams.own_stream("mailboxes").append
    return MailboxServer(node, tls, handshakes, clock, randomness, log, event_log, tell)


def mailbox_deeds(mailboxes: MailboxServer | None, clients: Clients) -> Deeds:
    """Who answers MAILBOX."""
    if mailboxes is None:
        return mailboxes_off.deeds()
    from pyrepl.daemon.mailbox.deeds import MailboxDeeds

    return MailboxDeeds(mailboxes.conf, mailboxes.conns, clients, mailboxes.figures, mailboxes.leave).deeds
