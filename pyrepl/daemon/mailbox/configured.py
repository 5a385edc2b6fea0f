"""What the directives `mailbox-*` say, put together for the machines; refused where it cannot be.

Not here: the directives themselves (pyrepl.config.mailboxes).
"""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Final, NamedTuple

from pyrepl.address import Address
from pyrepl.config.mailbox_kinds import MailboxMember
from pyrepl.config.settings import Settings
from pyrepl.daemon.mailbox.doveadm_program import why_no_one
from pyrepl.daemon.mailbox.files import DiskFiles
from pyrepl.daemon.mailbox.maildirs_place import MaildirsPlace
from pyrepl.errors import ConfigError
from pyrepl.mailbox.acks import AckOptions
from pyrepl.mailbox.mastering import MasteringOptions
from pyrepl.mailbox.members import Member, Members, agreed
from pyrepl.mailbox.root import RootOptions
from pyrepl.mailbox.talk import TalkOptions
from pyrepl.mailbox.tracker import TrackerOptions

DATABASE: Final = "mailbox.db"
MOST_JITTER_S: Final = 0.2
_LEAST_SECRET: Final = 16


class Configured(NamedTuple):
    """This node among the members."""

    name: str
    members: Members
    addresses: dict[str, MailboxMember]
    secret: bytes
    database: Path
    place: MaildirsPlace | None
    """None for who has no Maildirs: a witness, or a node with mailbox-store doveadm."""
    mastering: MasteringOptions
    talk: TalkOptions
    expunge_guard: int | None
    """None where no Dovecot changes what is kept."""
    acks: AckOptions
    exclude: tuple[str, ...]
    gates: bytes | None
    """What becomes of gates without a daemon, as their keeper is told it; None without gates."""
    lmtp: str | tuple[str, int] | None
    """Where Dovecot takes mail by LMTP: a path, or host and port; None without mailbox-lmtp-port."""
    doveadm: tuple[str, ...]
    """The words of mailbox-doveadm; none of a witness."""
    is_kept_by_doveadm: bool
    """mailbox-store doveadm, of a node that is no witness."""

    def why_no_user(self, user: str) -> str:
        """Why no mailbox of a user can be kept here, "" if one can."""
        if self.is_kept_by_doveadm:
            return why_no_one(user)
        return "" if self.place is None else self.place.why_no_user(user)

    @property
    def to_call(self) -> tuple[str, ...]:
        """The members that this node connects to: those before it in the list; the others connect to it."""
        return self.members.names[: self.members.place(self.name) - 1]


def configured(settings: Settings, jitter: float) -> Configured:
    """`jitter`, from 0 to 1, is this start's own: so that not all elect at the same moment. Raises ConfigError."""
    addresses = {member.name: member for member in settings.mailbox_members}
    name = settings.mailbox_node
    if name not in addresses:
        raise ConfigError(f"mailbox-node {name or '(none)'} is none of mailbox-members: name this node among them")
    if len(settings.mailbox_secret) < _LEAST_SECRET:
        raise ConfigError(
            f"mailbox-secret must have {_LEAST_SECRET} bytes or more, the same on all members, as mailbox-port lets in"
            " whoever knows it (openssl rand -hex 32 makes one)"
        )
    listed = tuple(Member(each.name, each.is_witness) for each in settings.mailbox_members)
    members = Members(listed, agreed(settings.mailbox_gap, settings.mailbox_lease))
    folder = Path(settings.mailbox_dir or settings.dir)
    lease_s = settings.mailbox_lease / 1000
    mastering = MasteringOptions(
        RootOptions(lease_s, settings.mailbox_root_timeout / 1000, jitter * MOST_JITTER_S),
        TrackerOptions(
            settings.mailbox_lock_timeout / 1000, settings.mailbox_tenure / 1000, settings.mailbox_apart == "accept"
        ),
        settings.mailbox_gap,
    )
    talk = TalkOptions(settings.mailbox_line_limit, settings.mailbox_text_limit, settings.mailbox_output_buffer_limit)
    is_witness = addresses[name].is_witness
    if is_witness and settings.mailbox_lmtp_port:
        raise ConfigError("mailbox-lmtp-port: a witness takes no mail: set it to 0")
    if settings.mailbox_lmtp_backend and not settings.mailbox_lmtp_port:
        raise ConfigError("mailbox-lmtp-backend needs mailbox-lmtp-port, where mail servers deliver")
    by_doveadm = settings.mailbox_store == "doveadm" and not is_witness
    place = None if is_witness or by_doveadm else _place(settings)
    has_gates = settings.mailbox_gate == "on" and place is not None
    if by_doveadm:
        check_doveadm(settings)
    return Configured(
        *(name, members, addresses, settings.mailbox_secret, folder / DATABASE, place, mastering, talk),
        expunge_guard=settings.mailbox_expunge_guard if has_gates or by_doveadm else None,
        acks=AckOptions(
            settings.mailbox_min_acks, settings.mailbox_ack_timeout / 1000, settings.mailbox_single_copy == "accept"
        ),
        exclude=settings.mailbox_exclude,
        gates=_orphaned(settings, members, name) if has_gates else None,
        lmtp=_backend(settings, has_gates) if settings.mailbox_lmtp_port else None,
        doveadm=() if is_witness else _doveadm(settings, has_gates or by_doveadm),
        is_kept_by_doveadm=by_doveadm,
    )


def _doveadm(settings: Settings, has_gates: bool) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(settings.mailbox_doveadm))
    except ValueError as error:
        raise ConfigError(f"mailbox-doveadm: {error}") from None
    if words and not has_gates:
        raise ConfigError("mailbox-doveadm needs mailbox-gate on, as there is no Dovecot without")
    if words and shutil.which(words[0]) is None:
        raise ConfigError(
            f"mailbox-doveadm {words[0]}: there is no program of this name that may be run: say where the doveadm of"
            " this node's Dovecot is, or install it"
        )
    return words


def check_doveadm(settings: Settings) -> None:
    """Refuse what mailbox-store doveadm cannot do. Raises ConfigError."""
    whys = (
        (not settings.mailbox_doveadm, "needs mailbox-doveadm, the program doveadm of a Dovecot 2.4"),
        (settings.mailbox_gate == "on", "has no gates, which are files of Maildirs: set mailbox-gate off"),
        (settings.mailbox_apart == "refuse", "cannot keep a Dovecot from taking mail: set mailbox-apart accept"),
        (settings.mailbox_lmtp_port > 0, "sees new mail too late for mailbox-lmtp-port: set it to 0"),
        (settings.mailbox_scrub > 0, "cannot mend texts: set mailbox-scrub to 0"),
    )
    for is_so, why in whys:
        if is_so:
            raise ConfigError(f"mailbox-store doveadm {why}")


def _backend(settings: Settings, has_gates: bool) -> str | tuple[str, int]:
    stated = settings.mailbox_lmtp_backend
    if not has_gates:
        raise ConfigError("mailbox-lmtp-port needs mailbox-gate on, as what a Dovecot stores is seen by that")
    if stated.startswith("/"):
        return stated
    try:
        return Address.parse(stated)
    except ValueError:
        raise ConfigError(
            f"mailbox-lmtp-backend {stated or '(none)'} is neither a path nor host:port: it says where the Dovecot of"
            " this node takes mail by LMTP"
        ) from None


def _orphaned(settings: Settings, members: Members, name: str) -> bytes:
    if settings.mailbox_apart == "refuse":
        return b"wait"
    numbers = settings.mailbox_orphan, settings.mailbox_gap, len(members.names), members.place(name)
    return b"apart %d %d %d %d" % numbers


def _place(settings: Settings) -> MaildirsPlace:
    try:
        return MaildirsPlace(DiskFiles(), settings.mailbox_maildir)
    except ValueError as error:
        raise ConfigError(f"mailbox-maildir: {error}") from None
