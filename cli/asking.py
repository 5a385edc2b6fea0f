"""Asks nodes for their INFO, all at the same time, each within a time-out.

What INFO means is in pyrepl.topology. Each question has a connection of its own: nodes may be of any kind and version,
and they may be at other addresses at the next look.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl
import time
from collections.abc import Sequence
from typing import Final, NamedTuple, final

from pyrepl.address import Address
from pyrepl.errors import CommandError, PeerError, PyreplError
from pyrepl.resp.encoder import encode_command
from pyrepl.resp.replies_in import ReplyParser
from pyrepl.resp.reply import Reply, Verbatim
from pyrepl.topology.facts import facts_of
from pyrepl.topology.walk import Answer, Walk

from .tls_options import TRY_A_CERTIFICATE, TRY_TLS, why_no_tls

MOST_INFO_BYTES: Final = 4 * 1024 * 1024
"""The longest reply that is taken, inclusive: a peer must not fill our memory."""
_READ_BYTES: Final = 64 * 1024
_NO_PASSWORD_THERE: Final = "ERR AUTH <password> called without any password configured"


class Credentials(NamedTuple):
    """User and password for AUTH, which is not sent when the password is empty. `repr` hides the password."""

    user: str
    password: str

    def __repr__(self) -> str:
        return f"Credentials({self.user!r}, ...)"

    def command(self) -> list[bytes]:
        words = [b"AUTH", self.user.encode(), self.password.encode("utf-8", "surrogateescape")]
        return words if self.user else [words[0], words[2]]


class Way(NamedTuple):
    """How nodes are asked: as whom, and by TLS if there is a context for it."""

    credentials: Credentials
    tls: ssl.SSLContext | None = None


@final
class Unreachable(Exception):
    """The node cannot be asked; the text says why, for people, and holds no secret. `refused`: it answered, and said
    no."""

    def __init__(self, text: str, *, refused: bool = False) -> None:
        super().__init__(text)
        self.refused: Final = refused


async def look(start: Address, way: Way, timeout_s: float) -> Walk:
    """Ask the first node, and then all nodes that the answers name, until no new ones are named.

    Takes at most timeout_s for each step away from the first node.
    """
    walk = Walk(start)
    while addresses := walk.to_ask():
        for address, found in (await ask_all(addresses, way, timeout_s)).items():
            if isinstance(found, Answer):
                walk.answered(address, found.facts, found.at)
            else:
                walk.failed(address, str(found), refused=found.refused)
    return walk


async def ask_all(addresses: Sequence[Address], way: Way, timeout_s: float) -> dict[Address, Answer | Unreachable]:
    """Ask all these nodes at the same time; address -> what the node says, or why it could not be asked."""
    found = await asyncio.gather(*(_ask(address, way, timeout_s) for address in addresses))
    return dict(zip(addresses, found, strict=True))


async def _ask(address: Address, way: Way, timeout_s: float) -> Answer | Unreachable:
    try:
        text = await info_of(address, way, timeout_s)
    except Unreachable as error:
        return error
    return Answer(facts_of(text), time.monotonic())


async def info_of(address: Address, way: Way, timeout_s: float) -> str:
    """The node's INFO. Raises Unreachable."""
    info = await reply_of(address, way, timeout_s, b"INFO")
    if isinstance(info, Verbatim):
        info = info.text
    if not isinstance(info, bytes):
        raise Unreachable(f"it does not speak the Redis protocol: expected a text from INFO, got {type(info).__name__}")
    return info.decode("utf-8", "replace")


async def reply_of(address: Address, way: Way, timeout_s: float, *command: bytes) -> Reply:
    """The node's reply to one command, which is no error. Raises Unreachable."""
    try:
        async with asyncio.timeout(timeout_s):
            return await _converse(address, way, command)
    except TimeoutError:
        raise Unreachable(f"no answer within {timeout_s:g} s") from None
    except (OSError, UnicodeError) as error:
        raise Unreachable(words_of(error, way.tls)) from None
    except PeerError as error:
        raise Unreachable(f"it does not speak the Redis protocol: {error}") from None
    except CommandError as error:
        raise Unreachable(_advice(str(error)), refused=True) from None


async def _converse(address: Address, way: Way, command: Sequence[bytes]) -> Reply:
    """Connect, log in if there is a password, and ask. Raises OSError, PyreplError."""
    credentials = way.credentials
    reader, writer = await connected(address, way.tls)
    try:
        commands = [credentials.command()] if credentials.password else []
        commands.append([*command])
        writer.write(b"".join(map(encode_command, commands)))
        *auth, reply = await _replies(reader, len(commands))
        if isinstance(reply, CommandError):
            # Why the password was refused says more than that there was none.
            raise auth[0] if auth and isinstance(auth[0], CommandError) and not _needs_none(auth[0]) else reply
        return reply
    finally:
        writer.close()


async def connected(
    address: Address, tls: ssl.SSLContext | None, most_line_bytes: int = _READ_BYTES
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to the first address of the host's name that takes a connection. Raises OSError, UnicodeError.

    asyncio would try them too, but people can't read its error for several addresses.
    """
    found = await asyncio.get_running_loop().getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    failure = OSError("the name of the host has no address")
    for *_, where in found:
        try:
            name = None if tls is None else address.host
            return await asyncio.open_connection(
                str(where[0]), address.port, ssl=tls, server_hostname=name, limit=most_line_bytes
            )
        except OSError as error:
            failure = error
    raise failure


async def _replies(reader: asyncio.StreamReader, count: int) -> list[Reply]:
    parser = ReplyParser(MOST_INFO_BYTES)
    replies: list[Reply] = []
    while len(replies) < count:
        data = await reader.read(_READ_BYTES)
        if not data:
            # Protected mode answers the connection, not the command, and closes.
            if replies and isinstance(replies[0], CommandError):
                raise replies[0]
            raise ConnectionError(f"the node closed the connection without an answer; {TRY_TLS}")
        replies += parser.feed(data)
    return replies


def _needs_none(error: PyreplError) -> bool:
    return str(error).startswith(_NO_PASSWORD_THERE)


def words_of(error: OSError | UnicodeError, tls: ssl.SSLContext | None) -> str:
    """The system's text for an error, as asyncio's repeats the address."""
    if isinstance(error, ssl.SSLError):
        return why_no_tls(error)
    if isinstance(error, ConnectionResetError):
        return f"{os.strerror(error.errno or errno.ECONNRESET)}; {TRY_TLS if tls is None else TRY_A_CERTIFICATE}"
    if isinstance(error, socket.gaierror):
        return f"unknown host: {error.strerror}"
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    return "not a host name" if isinstance(error, UnicodeError) else str(error)


def _advice(error: str) -> str:
    """The text of a server's error; if the password is the reason, with what to do."""
    if error.startswith("NOAUTH"):
        return f"{error.rstrip('.')}: set PYREPL_PASSWORD, or give --password"
    if error.startswith("WRONGPASS"):
        return f"{error.rstrip('.')}: see PYREPL_PASSWORD, --password and --user"
    return error.partition("\n")[0][:200]
