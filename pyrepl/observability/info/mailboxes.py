"""INFO mailboxes: those that this node keeps with others. Not in Redis; on a node without `mailbox-port` one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from pyrepl.node.mailboxes import MailboxFigures
from pyrepl.node.node import Node
from pyrepl.observability.info.field import Field, Kind, Rows, Section, Value, gauge


def _has_figures(node: Node) -> bool:
    return node.mailboxes is not None


def _line(name: str, kind: Kind, read: Callable[[MailboxFigures], Value], help: str, unit: str = "") -> Field:
    """A line that is there where mailboxes are kept."""

    def value(node: Node) -> Value:
        figures = node.mailboxes
        return 0 if figures is None else read(figures)

    return Field(name, kind, value, help, unit, when=_has_figures)


def _port(node: Node) -> int:
    figures = node.mailboxes
    return 0 if figures is None else figures.port


def _members(node: Node) -> Iterator[tuple[str, str]]:
    figures = node.mailboxes
    for number, one in enumerate([] if figures is None else figures.members):
        line = f"name={one.name},address={one.address},link={one.link},lag_ops={one.lag_ops},lag_ms={one.lag_ms}"
        yield f"mailbox_member{number}", line


_COUNTER: Final = Kind.COUNTER
_GAUGE: Final = Kind.GAUGE

MAILBOXES: Final = Section(
    "Mailboxes",
    (
        gauge("mailbox_port", _port, "TCP port for the other members; 0: this node keeps no mailboxes."),
        _line("mailbox_node", Kind.TEXT, lambda f: f.name, "The name of this node among the members."),
        _line("mailbox_ready", Kind.FLAG, lambda f: f.is_ready, "All mailboxes are open, and mail is taken."),
        _line("mailbox_root", Kind.TEXT, lambda f: f.root, "The member that is the root; empty while there is none."),
        _line(
            "mailbox_epoch",
            _GAUGE,
            lambda f: f.epoch,
            "Number of the election that chose the root; it grows with each election.",
        ),
        _line("mailbox_apart", Kind.FLAG, lambda f: f.is_apart, "This node sees no majority of the members."),
        _line(
            "mailbox_apart_seconds",
            _COUNTER,
            lambda f: f.apart_s,
            "For how long this node saw no majority, in all.",
            "s",
        ),
        _line("mailbox_boxes", _GAUGE, lambda f: f.boxes, "Mailboxes of all users."),
        _line("mailbox_messages", _GAUGE, lambda f: f.messages, "Messages in all mailboxes."),
        _line(
            "mailbox_journal_bytes",
            _GAUGE,
            lambda f: f.journal_bytes,
            "Size of the journal; at most mailbox-journal-size.",
            "bytes",
        ),
        _line("mailbox_processes", _GAUGE, lambda f: f.mail_processes, "Mail processes that are connected."),
        _line(
            "mailbox_users_stopped", _GAUGE, lambda f: f.users_stopped, "Users whose disk refuses: see MAILBOX STATUS."
        ),
        _line(
            "mailbox_troubled",
            _GAUGE,
            lambda f: f.troubled,
            "Mailboxes and users with a failure or a guard that lasts: see MAILBOX STATUS.",
        ),
        _line("mailbox_ops_sent", _COUNTER, lambda f: f.ops_sent, "Changes that were sent to other members."),
        _line(
            "mailbox_ops_applied",
            _COUNTER,
            lambda f: f.ops_applied,
            "Changes of other members that were made here too.",
        ),
        _line(
            "mailbox_ops_waiting",
            _GAUGE,
            lambda f: f.ops_waiting,
            "Changes that wait here, as a change that they build on has not come yet.",
        ),
        _line(
            "mailbox_lag_ms",
            _GAUGE,
            lambda f: max((one.lag_ms for one in f.members), default=0),
            "For how long the oldest change made here has waited for the member that is furthest behind.",
            "ms",
        ),
        _line("mailbox_moves", _COUNTER, lambda f: f.moves, "Masterships of mailboxes that came to this node."),
        _line("mailbox_renumbered", _COUNTER, lambda f: f.renumbered, "Messages that got another UID here."),
        _line("mailbox_burned", _COUNTER, lambda f: f.burned, "UIDs that two messages had; more than 0 is a defect."),
        _line("mailbox_single_copy", _COUNTER, lambda f: f.single_copy, "Changes that no other member had in time."),
        _line("mailbox_gate_waits", _COUNTER, lambda f: f.gate_waits, "How often a Dovecot waited at a gate."),
        _line(
            "mailbox_gate_wait_ms",
            _COUNTER,
            lambda f: f.gate_wait_ms,
            "How long Dovecots waited at gates, in all.",
            "ms",
        ),
        _line(
            "mailbox_scrubbed_bytes",
            _COUNTER,
            lambda f: f.scrubbed_bytes,
            "Bytes of stored mail that were read again and compared with their checksums.",
            "bytes",
        ),
        _line("mailbox_texts_damaged", _COUNTER, lambda f: f.texts_damaged, "Stored messages that were found damaged."),
        _line(
            "mailbox_texts_mended",
            _COUNTER,
            lambda f: f.texts_mended,
            "Damaged messages that were replaced by the text of another member.",
        ),
        Rows("mailbox_member<n>", _members, "Per member: where it is, whether it is linked, and how far behind it is."),
    ),
)
