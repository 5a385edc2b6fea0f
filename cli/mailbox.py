"""`pyrepl mailbox`: how the nodes are that keep mailboxes together, and whether all of them have everything.

The answers are the nodes': by `MAILBOX` commands on the Redis port, and by CHECK on `mailbox-socket`; or those of the
IMAP server beside a node.
"""

from __future__ import annotations

import json
import ssl
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click

from .addresses import EXPECTED, Target, parse_imap, parse_target
from .helping import TaskGroup
from .login_options import login_options
from .pages import INTERRUPTED, OK, TROUBLE, UNREACHABLE
from .seconds import Seconds
from .tls_options import context_of, tls_options

if TYPE_CHECKING:
    from .asking import Way
    from .imap.mail import ImapMail
    from .mailbox_compare import Mail

_LISTS = frozenset({"failed"})
"""What MAILBOX STATUS has as lists of texts, which look like maps."""


@click.group(cls=TaskGroup)
def mailbox() -> None:
    """Look at mailboxes that several nodes keep."""


@mailbox.command()
@click.argument("address", metavar="HOST:PORT")
@click.option("--json", "as_json", is_flag=True, help="A JSON document.")
@login_options
@click.option(
    "--timeout",
    "timeout_s",
    type=Seconds(0.05, 600),
    default=3.0,
    show_default=True,
    help="Seconds to wait for the node.",
)
@click.option(
    "--max-lag",
    "most_lag_s",
    type=Seconds(0),
    default=10.0,
    show_default=True,
    help="Seconds for which a change may wait for a member before that counts as trouble.",
)
@tls_options
def status(
    address: str,
    as_json: bool,
    user: str,
    password: str,
    timeout_s: float,
    most_lag_s: float,
    tls: ssl.SSLContext | None,
) -> NoReturn:
    """Show how the members are, as the node with the Redis port HOST:PORT sees them.

    Exit status 0: all is well; 1: the node sees no majority, a member is not linked or lags for longer than --max-lag,
    a user's mailboxes stand still, a failure or a guard of a mailbox or of a user's folders lasts, or the node is
    closed, as the disk of all Maildirs refuses; 2: the node cannot be asked.
    """
    import asyncio

    from .asking import Unreachable, reply_of

    target = parse_target(address)
    if target is None:
        raise click.BadParameter(EXPECTED, param_hint="HOST:PORT")
    asked = reply_of(target.address, _way(target, user, password, tls), timeout_s, b"MAILBOX", b"STATUS")
    try:
        found = _document(asyncio.run(asked))
    except Unreachable as error:
        click.echo(f"{target.address}: {error}", err=True)
        sys.exit(UNREACHABLE)
    click.echo(json.dumps(found, indent=2) if as_json else _table(found))
    sys.exit(TROUBLE if _is_in_trouble(found, most_lag_s * 1000) else OK)


@mailbox.command()
@click.argument("user")
@click.option("--socket", "socket_path", required=True, help="The mailbox-socket of the node on this machine.")
@click.option(
    "--timeout",
    "timeout_s",
    type=Seconds(0.05, 600),
    default=2.0,
    show_default=True,
    help="Seconds to wait until all nodes that can be reached have all changes.",
)
@click.option(
    "--login",
    is_flag=True,
    help="Also bring the modseqs of this node's Dovecot in line with the other nodes', for clients of USER that come"
    " from there (mailbox-doveadm).",
)
def check(user: str, socket_path: str, timeout_s: float, login: bool) -> NoReturn:
    """Wait until all nodes that can be reached have all changes to the mailboxes of USER.

    Exit status 0: they have; 1: not in time, or the node refuses; 2: the node cannot be asked.
    """
    from pyrepl.mailbox.client import MailboxClient, MailboxError

    try:
        user.encode()
    except UnicodeEncodeError:
        raise click.BadParameter(f"{user!r} is no UTF-8", param_hint="USER") from None
    try:
        with MailboxClient(socket_path, name="pyrepl-mailbox-check", timeout_s=timeout_s) as mail:
            mail.check(user, login=login)
    except (MailboxError, TimeoutError) as error:
        click.echo(f"the mailboxes of {user} cannot be checked: {error}", err=True)
        sys.exit(TROUBLE)
    except OSError as error:
        click.echo(f"{socket_path}: {error.strerror or error}", err=True)
        sys.exit(UNREACHABLE)
    sys.exit(OK)


@mailbox.command()
@click.argument("one", metavar="ADDRESS")
@click.argument("other", metavar="ADDRESS")
@click.option(
    "--only",
    "only",
    default="",
    metavar="USER",
    help="Only the mailboxes of this user; without it those of all users, by IMAP those of the user who logs in.",
)
@login_options
@click.option(
    "--timeout",
    "timeout_s",
    type=Seconds(0.05, 600),
    default=10.0,
    show_default=True,
    help="Seconds to wait for an answer of a node.",
)
@tls_options
def compare(
    one: str, other: str, only: str, user: str, password: str, timeout_s: float, tls: ssl.SSLContext | None
) -> NoReturn:
    """Print what differs between the mailboxes of two nodes.

    A node is asked by its Redis port, HOST:PORT, what it knows; or by its Dovecot, imap://USER@HOST, what a mail
    program of USER would see (imaps: by TLS; imap: with --tls by STARTTLS). Each may be compared with each. Compared
    are messages, their UIDs and flags, and the names and properties of mailboxes. Changes that are under way show as
    differences too: run `pyrepl mailbox check` before. By IMAP --only names another user than the one who logs in,
    who is a master user of Dovecot then. --user and --password are for addresses that do not say them. Of a node and a
    Dovecot, all options are for the Dovecot.
    """
    import asyncio

    from .asking import Unreachable
    from .mailbox_compare import compared

    mails = _mails([one, other], only, user, password, timeout_s, tls)
    shown = {mail.user for mail in mails if mail.user}
    if len(shown) > 1:
        raise click.UsageError(
            f"the addresses name two users, {' and '.join(sorted(shown))}: --only names one for both"
        )
    try:
        found = asyncio.run(compared(mails[0], mails[1], only or "".join(shown), click.echo))
    except Unreachable as error:
        click.echo(f"the mailboxes cannot be compared: {error}", err=True)
        sys.exit(UNREACHABLE)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    sys.exit(TROUBLE if found else OK)


def _mails(
    addresses: list[str], only: str, user: str, password: str, timeout_s: float, tls: ssl.SSLContext | None
) -> list[Mail]:
    """The mailboxes at each address. Raises what click shows."""
    from .mailbox_compare import NodeMail

    imap = [parse_imap(text) for text in addresses]
    mails: list[Mail] = []
    for text, dovecot in zip(addresses, imap, strict=True):
        if dovecot is not None:
            mails.append(_imap_mail(dovecot, only, user, password, timeout_s, tls))
            continue
        node = parse_target(text)
        if node is None:
            raise click.BadParameter(f"{EXPECTED}; or imap://USER@HOST", param_hint="ADDRESS")
        # Beside a Dovecot options are for that: who logs in there has mail, and is no user of the node.
        way = _way(node, "", "", tls if node.tls else None) if any(imap) else _way(node, user, password, tls)
        mails.append(NodeMail(node.address, way, timeout_s))
    return mails


def _imap_mail(
    target: Target, only: str, user: str, password: str, timeout_s: float, tls: ssl.SSLContext | None
) -> ImapMail:
    """Raises UsageError where it is not clear who logs in."""
    from .imap.mail import ImapMail

    way, address = _way(target, user, password, tls), target.address
    name = way.credentials.user
    if not name:
        raise click.UsageError(f"{address}: whose mailboxes are compared? imap://USER@HOST says so, or --user")
    if user and name != user:
        raise click.UsageError(f"{address}: {name} by the address and {user} by --user: who is to log in?")
    if "\0" in name + only + way.credentials.password:
        raise click.UsageError(f"{address}: users and passwords have no NUL bytes")
    return ImapMail(address, way, timeout_s, only or name, is_tls=target.tls)


def _way(target: Target, user: str, password: str, tls: ssl.SSLContext | None) -> Way:
    """How it is asked: its URL says it, and where that does not, options."""
    from .asking import Credentials, Way

    credentials = Credentials(target.user or user, target.password or password)
    return Way(credentials, context_of(target, tls))


def _document(reply: Any, name: str = "") -> Any:
    """A reply as JSON can have it: maps come as arrays of names and values, but for what is called as in _LISTS."""
    if isinstance(reply, bytes):
        return reply.decode("utf-8", "replace")
    is_map = isinstance(reply, list) and bool(reply) and len(reply) % 2 == 0 and name not in _LISTS
    if is_map and all(isinstance(each, bytes) for each in reply[::2]):
        names = [each.decode() for each in reply[::2]]
        return {name: _document(value, name) for name, value in zip(names, reply[1::2], strict=True)}
    return [_document(each) for each in reply] if isinstance(reply, list) else reply


def _is_in_trouble(found: dict[str, Any], most_lag_ms: float) -> bool:
    """Changes that are on their way are no trouble: a node that is in use always has some."""
    members = found["members"]
    return bool(found["apart"] or found["stopped"] or found.get("troubled") or _why_closed(found)) or any(
        each["link"] == "down" or each.get("lag-ms", 0) > most_lag_ms for each in members
    )


def _why_closed(found: dict[str, Any]) -> str:
    """Why the node does nothing to its mailboxes; one of an older version does not say it."""
    why: str = found.get("closed", {}).get("why", "")
    return why


def _closed(found: dict[str, Any]) -> list[str]:
    if not _why_closed(found):
        return []
    return [f"CLOSED for {found['closed']['seconds']} s, nothing is done to mailboxes here: {_why_closed(found)}"]


def _apart(found: dict[str, Any]) -> str:
    return f", APART for {found.get('apart-seconds', 0)} s" if found["apart"] else ""


def _failed(found: dict[str, Any]) -> list[str]:
    """Users whom MAILBOX JOIN * did not join."""
    users = found.get("join", {}).get("failed", [])
    return [f"JOIN failed for {' '.join(users)}: MAILBOX JOIN of each says why"] if users else []


def _table(found: dict[str, Any]) -> str:
    """For people."""
    head = (
        f"node {found['node']}, root {found['root'] or 'unknown'} of epoch {found['epoch']}"
        f"{_apart(found)}; {found['ops']} ops, {found['ops-waiting']} wait,"
        f" {found['mail-processes']} mail processes"
    )
    lines = [("member", "address", "link", "lag in ops", "in ms")]
    for each in found["members"]:
        kind = f"{each['name']} (witness)" if each["witness"] else each["name"]
        lags = (str(each.get(name, "-")) for name in ("lag-ops", "lag-ms"))
        lines.append((kind, each["address"], each["link"], *lags))
    widths = [max(len(line[place]) for line in lines) for place in range(5)]
    stopped = [
        f"{each['user']} stands still, {each['works-owed']} works are owed: {each['why']}" for each in found["stopped"]
    ]
    return "\n".join(
        [
            head,
            *_closed(found),
            *stopped,
            *(f"{each['user']}: {each['why']}" for each in found.get("troubled", [])),
            *_failed(found),
            *("  ".join(word.ljust(width) for word, width in zip(line, widths)).rstrip() for line in lines),
        ]
    )
