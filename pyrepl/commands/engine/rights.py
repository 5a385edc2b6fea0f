"""May this client's user run this command? Asked by `gates` for clients that are limited, and by EXEC and scripts for
the commands that they run. What is refused is noted in the log of ACL LOG.

`acl` knows users and their rules; this module tells it what the keys and channels of a command are. Most commands are
allowed by what is kept of the user and the command (`acl.quick`); the rest is asked in full. Compiled.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pyrepl.acl.denial import Denial, Refused
from pyrepl.acl.log import Context
from pyrepl.acl.quick import Quick, all_match
from pyrepl.acl.selector import READ, WRITE, Words
from pyrepl.acl.user import User
from pyrepl.commands.describe.key_specs import keys_with_flags, specs_of
from pyrepl.commands.engine.table import NO_AUTH, Command
from pyrepl.node.client import Client
from pyrepl.node.node import Node
from pyrepl.observability.client_line import client_line

_ACCESS_OF: Final = {"access": READ, "insert": WRITE, "delete": WRITE, "update": WRITE}
_CHANNELS: Final = {
    "PUBLISH": (1, 2, False),
    "SPUBLISH": (1, 2, False),
    "SUBSCRIBE": (1, None, False),
    "SSUBSCRIBE": (1, None, False),
    "PSUBSCRIBE": (1, None, True),
}
"""Command -> (first, behind the last, are they patterns) of the channels among its words. Who stops listening needs no
right."""
NOPERM: Final = "NOPERM "
IN_EXEC: Final = (
    "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This command is "
    "no longer allowed for the following reason: "
)
IN_SCRIPT: Final = "ERR ACL failure in script: "


def words_of(row: Command, argv: list[bytes], *, with_keys: bool = True) -> Words:
    """A command as the selectors of a user look at it. One with a wrong number of words has no keys."""
    keys: list[tuple[int, int]] = []
    if with_keys and not row.keys.is_empty and row.why_not_arity(len(argv)) is None:
        for position, flags in keys_with_flags(row, argv, row.keys.positions(argv)):
            keys.append((position, _access_of(flags)))
    is_pattern = _CHANNELS.get(row.name, (0, 0, False))[2]
    channels = [(position, is_pattern) for position in _channels_of(row, argv)]
    return Words(row.name.lower(), bool(row.flags & NO_AUTH), argv, keys, channels)


def why_denied(user: User | None, row: Command, argv: list[bytes]) -> Denial | None:
    """What of a whole command is refused to a user; None if nothing is. Nothing is noted."""
    if user is None or is_allowed_at_once(user, row, argv):
        return None
    return user.why_not(words_of(row, argv, with_keys=user.limits_keys))


def is_allowed_at_once(user: User | None, row: Command, argv: list[bytes]) -> bool:
    """Is what is known of the user and the command enough to allow it? If not, it has to be asked in full."""
    if user is None:
        return True
    ways = user.quick.get(row.name)
    if ways is None:
        ways = user.quick[row.name] = _ways(user, row)
    for way in ways:
        keys, channels = way.keys, way.channels
        if keys is not None and not all_match(keys, argv, row.keys.positions(argv)):
            continue
        if channels is None or all_match(channels, argv, _channels_of(row, argv)):
            return True
    return False


def _ways(user: User, row: Command) -> list[Quick]:
    """The ways in which a user may run a command, whatever it does to its keys."""
    if row.flags & NO_AUTH:
        return [Quick(None, None)]
    specs = specs_of(row)
    access = 0 if specs else READ | WRITE
    for spec in specs:
        access |= _access_of(spec.flags)
    is_about_channels = row.name in _CHANNELS
    found: list[Quick] = []
    for selector in user.selectors:
        way = selector.quick(row.name.lower(), access)
        if way is None or (is_about_channels and way.channels is not None and _CHANNELS[row.name][2]):
            continue
        keys = None if row.keys.is_empty else way.keys
        found.append(Quick(keys, way.channels if is_about_channels else None))
    return found


def _access_of(flags: Iterable[str]) -> int:
    access = 0
    for flag in flags:
        access |= _ACCESS_OF.get(flag, 0)
    return access


def _channels_of(row: Command, argv: list[bytes]) -> list[int]:
    """Which words of a command are channels."""
    first, end, _ = _CHANNELS.get(row.name, (0, 0, False))
    return list(range(len(argv))[first:end])


def why_not_allowed(node: Node, client: Client, row: Command, argv: list[bytes]) -> str | None:
    """The error text when a command that a client sends is refused to its user, or None."""
    denial = _noted(node, client, row, argv, Context.TOPLEVEL if client.queue is None else Context.MULTI)
    return None if denial is None else NOPERM + _text(client, denial, row, argv)


def why_not_in_exec(node: Node, client: Client, row: Command, argv: list[bytes]) -> str | None:
    """As `why_not_allowed`, for a command that was queued: the user's rights may have changed since then."""
    denial = _noted(node, client, row, argv, Context.MULTI)
    return None if denial is None else IN_EXEC + denial.text_in_exec()


def why_not_in_script(node: Node, client: Client, row: Command, argv: list[bytes]) -> str | None:
    """As `why_not_allowed`, for a command of a script that the client has called."""
    denial = _noted(node, client, row, argv, Context.LUA)
    return None if denial is None else IN_SCRIPT + _text(client, denial, row, argv)


def may_read_any_key(client: Client, row: Command, argv: list[bytes]) -> bool:
    """May the client run this command, and read keys of any name besides? SORT asks this for BY and GET."""
    user = client.identity.user
    return user is None or user.may_reach_any_key(words_of(row, argv), READ)


def note_failed_login(node: Node, client: Client, user: bytes, name: bytes) -> None:
    """A client has tried to be `user` with a wrong password, by the command called `name`."""
    context = Context.TOPLEVEL if client.queue is None else Context.MULTI
    line = client_line(client, node.process.now)
    node.acl_log.add(Refused.AUTH, context, name, user, line, node.keyspace.now_ms)


def note_unknown_certificate(node: Node, client: Client, name: bytes) -> None:
    """A client has connected with a certificate that names a user we do not have, or one that is off."""
    line = client_line(client, node.process.now)
    node.acl_log.add(Refused.TLS_CERT, Context.TOPLEVEL, b"", name, line, node.keyspace.now_ms)


def _noted(node: Node, client: Client, row: Command, argv: list[bytes], context: Context) -> Denial | None:
    """What is refused, noted in the log."""
    denial = why_denied(client.identity.user, row, argv)
    if denial is not None:
        name = argv[denial.position] if denial.position else row.wire_name.encode()
        line = client_line(client, node.process.now)
        node.acl_log.add(denial.reason, context, name, client.identity.name, line, node.keyspace.now_ms)
    return denial


def _text(client: Client, denial: Denial, row: Command, argv: list[bytes]) -> str:
    return denial.text(client.identity.name, row.wire_name, argv)
