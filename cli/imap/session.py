"""A connection with an IMAP server: greeting, TLS, login and questions. Each answer has a time and a size.

Not here: what is asked (mail.py), and what the words of an answer mean.
"""

from __future__ import annotations

import asyncio
import base64
import secrets
import ssl
from typing import Final, final

from pyrepl.address import Address

from ..asking import Way, connected
from .answers import ImapError, Words, literal_size, words_of

MOST_ANSWER_BYTES: Final = 4 * 1024 * 1024
"""The longest answer to one command, inclusive: a server must not fill our memory."""
MOST_LINE_BYTES: Final = 1024 * 1024
"""The longest line of it, inclusive."""


@final
class ImapSession:
    """A connection. Its methods raise OSError, TimeoutError (`timeout_s` seconds, for an answer as a whole), ImapError.
    After any of them but Refused nothing may be asked any more."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, timeout_s: float) -> None:
        self._reader: Final = reader
        self._writer: Final = writer
        self._timeout_s: Final = timeout_s
        self._left = 0

    @classmethod
    async def begin(
        cls, address: Address, tls: ssl.SSLContext | None, timeout_s: float, *, is_tls: bool
    ) -> ImapSession:
        """Connect, by TLS from the first byte (`is_tls`), by STARTTLS, or without `tls`."""
        async with asyncio.timeout(timeout_s):
            reader, writer = await connected(address, tls if is_tls else None, MOST_LINE_BYTES)
        session = cls(reader, writer, timeout_s)
        try:
            await session._greeting()
            if tls is not None and not is_tls:
                await session._start_tls(tls, address.host)
        except BaseException:
            session.close()
            raise
        return session

    async def log_in(self, way: Way, user: str) -> None:
        """By AUTHENTICATE PLAIN, for the mailboxes of `user`."""
        able = {word for words in await self.ask(b"CAPABILITY") for word in words if isinstance(word, bytes)}
        if b"LOGINDISABLED" in able:
            raise ImapError("it takes no password without TLS: give --tls, or imaps:// in place of imap://")
        if b"AUTH=PLAIN" not in able:
            raise ImapError("it takes no password by AUTHENTICATE PLAIN")
        name, password = way.credentials
        proof = password.encode("utf-8", "surrogateescape")
        said = f"{user if user != name else ''}\0{name}\0".encode("utf-8", "surrogateescape") + proof
        answer = base64.b64encode(said)
        try:
            await self.ask(b"AUTHENTICATE PLAIN", answer)
        except Refused as error:
            # A server may say again what it heard.
            is_secret = (proof and proof in error.line) or answer in error.line
            why = "for a reason that has the password in it" if is_secret else str(error)
            raise ImapError(f"it does not let {name} in: {why}") from None

    async def ask(self, command: bytes, more: bytes | None = None) -> list[Words]:
        """What is answered to a command, but for the line that ends it. `more` is for a server that asks for it."""
        tag = secrets.token_hex(6).encode()
        async with asyncio.timeout(self._timeout_s):
            self._left = MOST_ANSWER_BYTES
            await self._say(tag + b" " + command)
            found: list[Words] = []
            while True:
                pieces = await self._answer()
                if pieces[0].startswith(b"* "):
                    found.append(_told(pieces))
                elif pieces[0].startswith(b"+") and more is not None:
                    await self._say(more)
                    more = None
                else:
                    _check(pieces[0], tag)
                    return found

    def close(self) -> None:
        """Say goodbye, and wait for no answer."""
        self._writer.write(b"end LOGOUT\r\n")
        self._writer.close()

    async def _greeting(self) -> None:
        async with asyncio.timeout(self._timeout_s):
            self._left = MOST_ANSWER_BYTES
            line = (await self._answer())[0]
        if not line.upper().startswith(b"* OK"):
            raise ImapError(f"expected an IMAP server's greeting, got {_shown(line)}")

    async def _start_tls(self, tls: ssl.SSLContext, host: str) -> None:
        try:
            await self.ask(b"STARTTLS")
        except Refused as error:
            raise ImapError(f"it takes no STARTTLS ({error}): leave out --tls, or give imaps://") from None
        async with asyncio.timeout(self._timeout_s):
            await self._writer.start_tls(tls, server_hostname=host)
        # What somebody put behind the answer, before it was encrypted, is taken for an answer to this.
        await self.ask(b"NOOP")

    async def _say(self, line: bytes) -> None:
        self._writer.write(line + b"\r\n")
        await self._writer.drain()

    async def _answer(self) -> list[bytes]:
        """Lines, without their ends, and between them literals."""
        pieces = [await self._line()]
        while (size := literal_size(pieces[-1])) is not None:
            self._take(size)
            try:
                pieces.append(await self._reader.readexactly(size))
            except asyncio.IncompleteReadError:
                raise ImapError("it ended the connection within an answer") from None
            pieces.append(await self._line())
        return pieces

    async def _line(self) -> bytes:
        try:
            line = await self._reader.readuntil(b"\n")
        except asyncio.IncompleteReadError:
            raise ImapError("it ended the connection") from None
        except asyncio.LimitOverrunError:
            raise ImapError(f"expected lines of at most {MOST_LINE_BYTES} bytes, got a longer one") from None
        self._take(len(line))
        return line.removesuffix(b"\n").removesuffix(b"\r")

    def _take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ImapError(f"expected answers of at most {MOST_ANSWER_BYTES} bytes, got a longer one")


class Refused(ImapError):
    """The answer to a command is NO or BAD; `line` is all of it, but for the tag."""

    def __init__(self, line: bytes) -> None:
        super().__init__(_shown(line))
        self.line: Final = line


def _told(pieces: list[bytes]) -> Words:
    words = words_of(pieces)
    if words == (b"BYE",):
        raise ImapError(f"it ended the connection: {_shown(pieces[0][6:])}")
    return words


def _check(line: bytes, tag: bytes) -> None:
    """The line that ends an answer. Raises ImapError, Refused."""
    said, _, rest = line.partition(b" ")
    kind = rest[:4].split(b" ")[0].upper()
    if said != tag or kind not in (b"OK", b"NO", b"BAD"):
        raise ImapError(f"expected the end of an answer, got {_shown(line)}")
    if kind != b"OK":
        raise Refused(rest)


def _shown(line: bytes) -> str:
    """A line of a server, for people."""
    return line.decode("utf-8", "backslashreplace")
