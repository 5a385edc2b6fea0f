"""Commands on the connection itself: PING, ECHO, QUIT, AUTH, HELLO, SELECT, RESET. CLIENT is in `client_admin`.

`pyrepl.acl.users` decides whether a password is right, and as which user the client then acts.
"""

from __future__ import annotations

from typing import Final

from pyrepl.acl.user import DEFAULT_USER
from pyrepl.commands.engine.arguments import database_argument, ranged_integer_argument
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.effects import RefuseLater
from pyrepl.commands.engine.rights import note_failed_login
from pyrepl.commands.engine.table import (
    ALLOW_BUSY,
    FAST,
    IN_STREAM,
    LOADING,
    NO_AUTH,
    NOSCRIPT,
    NOW_IN_MULTI,
    STALE,
    command,
)
from pyrepl.commands.session.transactions import discard_queue
from pyrepl.errors import CommandError
from pyrepl.node.node import REDACTED
from pyrepl.observability.version import REDIS_VERSION
from pyrepl.resp.numbers import INT64_MAX, INT64_MIN
from pyrepl.resp.reply import OK, PONG, Reply, Simple

RESET_REPLY: Final = Simple(b"RESET")
WRONG_PASSWORD: Final = "WRONGPASS invalid username-password pair or user is disabled."
TOO_MANY_GUESSES: Final = "ERR too many failed logins from your address: wait some seconds"
NO_PASSWORD_SET: Final = (
    "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration "
    "is correct?"
)
HELLO_NEEDS_AUTH: Final = (
    "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> "
    "option can be used to authenticate the client and select the RESP protocol version at the same time"
)
_BEFORE_AUTH: Final = NOSCRIPT | LOADING | STALE | FAST | NO_AUTH | ALLOW_BUSY
"""The flags of commands that a client may send before it has authenticated."""


@command("PING", arity=-1, flags=FAST | IN_STREAM, group="connection")
def ping(call: Call, *message: bytes) -> Reply:
    """Answer PONG, or the message if there is one"""
    if len(message) > 1:
        raise CommandError("ERR wrong number of arguments for 'ping' command")
    client = call.client
    if client.proto == 2 and client.subscribed:
        return [b"pong", message[0] if message else b""]
    return message[0] if message else PONG


@command("ECHO", arity=2, flags=LOADING | STALE | FAST, group="connection")
def echo(call: Call, message: bytes) -> bytes:
    """Answer the message"""
    return message


@command("QUIT", arity=-1, flags=_BEFORE_AUTH | NOW_IN_MULTI, group="connection")
def quit_(call: Call, *ignored: bytes) -> Simple:
    """Close the connection after the replies that are due"""
    call.client.close_after_reply()
    return OK


@command("AUTH", arity=-2, flags=_BEFORE_AUTH, group="connection")
def auth(call: Call, *words: bytes) -> Simple | RefuseLater:
    """Authenticate the connection with a password, or a user's name and password"""
    redact(call, *range(1, len(words) + 1))
    if len(words) > 2:
        raise CommandError("ERR syntax error")
    if len(words) == 1:
        if call.node.users.is_open:
            raise CommandError(NO_PASSWORD_SET)
        return authenticate(call, DEFAULT_USER, words[0]) or OK
    return authenticate(call, words[0], words[1]) or OK


@command("HELLO", arity=-1, flags=_BEFORE_AUTH, group="connection", since="6.0.0")
def hello(call: Call, *words: bytes) -> dict[Reply, Reply] | RefuseLater:
    """Choose the protocol version, optionally authenticate and name the connection; answer facts about this node"""
    client = call.client
    # Also of a HELLO that is refused.
    redact(call, *(at + 2 + after for at, word in enumerate(words) if word.upper() == b"AUTH" for after in (0, 1)))
    proto = _protocol_version(words[0]) if words else client.proto
    user, password, name = _hello_options(words[1:])
    if user is not None and password is not None:
        refusal = authenticate(call, user, password)
        if refusal is not None:
            return refusal
    if not client.authenticated:
        raise CommandError(HELLO_NEEDS_AUTH)
    if name is not None:
        client.name = name
    client.speak(proto)
    return {
        b"server": b"redis",
        b"version": REDIS_VERSION.encode(),
        b"proto": proto,
        b"id": client.id,
        b"mode": b"standalone",
        b"role": call.node.replication.role.name.encode(),
        b"modules": [],
    }


def _protocol_version(word: bytes) -> int:
    """2 or 3, from HELLO's first argument. Raises CommandError, NOPROTO for another number."""
    version = ranged_integer_argument(
        word, INT64_MIN, INT64_MAX, "ERR Protocol version is not an integer or out of range"
    )
    if version not in (2, 3):
        raise CommandError("NOPROTO unsupported protocol version")
    return version


def _hello_options(words: tuple[bytes, ...]) -> tuple[bytes | None, bytes | None, bytes | None]:
    """(user, password, name) of `AUTH user password` and `SETNAME name`, the words after HELLO's version.

    Each is None when its option is not given. Raises CommandError.
    """
    user = password = name = None
    i = 0
    while i < len(words):
        option = words[i].upper()
        if option == b"AUTH" and i + 2 < len(words):
            user, password = words[i + 1 : i + 3]
            i += 3
        elif option == b"SETNAME" and i + 1 < len(words):
            name = words[i + 1]
            check_plain("Client names", name)
            i += 2
        else:
            shown = words[i][:128].decode("utf-8", "replace")
            raise CommandError(f"ERR Syntax error in HELLO option '{shown}'")
    return user, password, name


@command("SELECT", arity=2, flags=LOADING | STALE | FAST | IN_STREAM, group="connection")
def select(call: Call, index: bytes) -> Simple:
    """Choose the database for the commands that follow"""
    databases = call.keyspace.databases
    select_database(call, database_argument(index, len(databases)))
    return OK


@command("RESET", arity=1, flags=_BEFORE_AUTH | NOW_IN_MULTI, group="connection", since="6.2.0")
def reset(call: Call) -> Simple:
    """Bring the connection back to the state it had when it was new"""
    client = call.client
    if client.is_replica or client.is_master_link:
        raise CommandError("ERR can only reset normal client connections")
    node = call.node
    if client.is_monitor:
        node.end_monitor(client)
        node.deliveries[:] = [delivery for delivery in node.deliveries if delivery[0] != client.id]
    discard_queue(client, call.keyspace)
    node.pubsub.drop(client)
    node.tracking.end(client)
    select_database(call, 0)
    client.begin_anew(node.users.newcomer())
    return RESET_REPLY


def authenticate(call: Call, user: bytes, password: bytes) -> RefuseLater | None:
    """Let the client act as `user` from now on.

    Raises CommandError WRONGPASS for a wrong name or password, or returns what says so later, where many logins from
    the client's address have failed (`acl.guessing`). The client then stays the user that it was before.
    """
    node, client = call.node, call.client
    now = node.process.now
    if node.guesses.are_too_many(client.addr, now):
        raise CommandError(TOO_MANY_GUESSES)
    identity = node.users.log_in(user, password)
    if identity is not None:
        client.identify(identity)
        return None
    note_failed_login(node, client, user, call.argv[0])
    delay_s = node.guesses.failed(client.addr, now)
    if delay_s:
        return RefuseLater(WRONG_PASSWORD, delay_s)
    raise CommandError(WRONG_PASSWORD)


def redact(call: Call, *positions: int) -> None:
    """Replace the words at these positions of `call.argv`, which are secrets, by REDACTED.

    The slow log and MONITOR show `argv`. The command itself has its arguments already, so it is not affected. Positions
    behind the end are passed over.
    """
    for position in positions:
        if position < len(call.argv):
            call.argv[position] = REDACTED


def select_database(call: Call, index: int) -> None:
    """Make database `index` the one that the client's commands work on. The database must exist."""
    call.client.db_index = index
    call.db = call.keyspace.databases[index]


def check_plain(what: str, word: bytes) -> None:
    """Raise CommandError unless `word` is printable ASCII without spaces. `what` names the word in the error's text."""
    if not all(0x21 <= byte <= 0x7E for byte in word):
        raise CommandError(f"ERR {what} cannot contain spaces, newlines or special characters.")
