"""What the IMAP server of a node shows a user, for `pyrepl mailbox compare`: what a mail program would see there.

The server is a Dovecot: GUIDs of mailboxes and messages are its X-GUID, in STATUS and FETCH, which other servers do not
have. Nothing is changed there, no \\Recent either: mailboxes are opened by EXAMINE.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final, TypeVar, final

from imapclient import IMAPClient
from imapclient.exceptions import IMAPClientAbortError, IMAPClientError, LoginError

from pyrepl.address import Address

from .asking import Unreachable, Way, words_of
from .mailbox_compare import PAGE, Named

MOST_ANSWER_BYTES: Final = 64 * 1024 * 1024
"""The longest answer to one command, inclusive: a server must not fill our memory."""
_HIDDEN: Final = frozenset({b"\\noselect", b"\\nonexistent"})
"""Attributes of names, in small letters, that are no mailboxes."""
Result = TypeVar("Result")


@final
class ImapMail:
    """The mailboxes of one user. Each method raises Unreachable; `close` ends the connection.

    `is_tls`: TLS from the first byte (`imaps:`); without it a context in `way` means STARTTLS. `user`: whose mailboxes
    they are; another one than that of `way` logs in for it, as Dovecot's master users may.
    """

    def __init__(self, address: Address, way: Way, timeout_s: float, user: str, *, is_tls: bool) -> None:
        self.name: Final = str(address)
        self._address: Final = address
        self._way: Final = way
        self._timeout_s: Final = timeout_s
        self.user: Final = user
        self._is_tls: Final = is_tls
        self._open_session: _Session | None = None
        self._names: dict[str, str] = {}
        """Mailbox, with / between its levels -> how the server names it."""

    async def users(self) -> set[str]:
        await self._ask(lambda session: session.noop())
        return {self.user}

    async def boxes(self, _: str) -> dict[str, Named]:
        """By name."""
        return await self._ask(self._boxes)

    async def messages(self, _: str, box: str) -> dict[str, Named]:
        """By GUID."""
        return await self._ask(lambda session: self._messages(session, box))

    async def close(self) -> None:
        session, self._open_session = self._open_session, None
        if session is not None:
            with suppress(OSError, IMAPClientError):
                await asyncio.to_thread(session.logout)

    async def _ask(self, question: Callable[[_Session], Result]) -> Result:
        try:
            return await asyncio.to_thread(lambda: question(self._session()))
        except (OSError, IMAPClientError, ValueError, Unreachable) as error:
            raise Unreachable(f"{self.name}: {self._why(error)}", refused=isinstance(error, LoginError)) from None

    def _why(self, error: Exception) -> str:
        """Why there is no answer, for people."""
        if isinstance(error, Unreachable):
            return str(error)
        if isinstance(error, TimeoutError):
            return f"no answer within {self._timeout_s:g} s"
        if isinstance(error, OSError | UnicodeError):
            return words_of(error, self._way.tls)
        if isinstance(error, LoginError):
            return f"it does not let {self._way.credentials.user} in: {error}"
        if isinstance(error, IMAPClientAbortError):
            return f"the connection is given up: {error}"
        return f"it does not answer as a Dovecot does: {error}"

    def _session(self) -> _Session:
        """The connection, logged in. Raises OSError, IMAPClientError, Unreachable."""
        if self._open_session is None:
            host, port = self._address
            session = self._open_session = _Session(
                host, port, self._way.tls if self._is_tls else None, self._timeout_s
            )
            if self._way.tls is not None and not self._is_tls:
                session.starttls(self._way.tls)
            if session.has_capability("LOGINDISABLED"):
                raise Unreachable("it takes no password without TLS: give --tls, or imaps:// in place of imap://")
            _log_in(session, self._way, self.user)
        self._open_session.answer_begins()
        return self._open_session

    def _boxes(self, session: _Session) -> dict[str, Named]:
        own, others = _namespaces(session)
        subscribed = {name for _, _, name in session.list_sub_folders()}
        self._names = {}
        found: dict[str, Named] = {}
        for attributes, separator, theirs in session.list_folders():
            if _HIDDEN & {each.lower() for each in attributes} or theirs.startswith(others):
                continue
            name = theirs.removeprefix(own)
            if separator:
                name = name.replace(separator.decode(), "/")
            session.answer_begins()
            status = session.folder_status(theirs, ["X-GUID", "UIDVALIDITY", "UIDNEXT"])
            self._names[name] = theirs
            found[name] = {
                "guid": _text(_said(status, "X-GUID")),
                "uidvalidity": _said(status, "UIDVALIDITY"),
                "uidnext": _said(status, "UIDNEXT"),
                "subscribed": int(theirs in subscribed),
            }
        return found

    def _messages(self, session: _Session, box: str) -> dict[str, Named]:
        count = int(_said(session.select_folder(self._names[box], readonly=True), "EXISTS"))
        found: dict[str, Named] = {}
        for first in range(1, count + 1, PAGE):
            session.answer_begins()
            page = session.fetch(range(first, min(first + PAGE, count + 1)), ["UID", "FLAGS", "X-GUID"])
            for said in page.values():
                guid = _text(_said(said, "X-GUID"))
                flags = [flag for flag in map(_text, _said(said, "FLAGS")) if flag != "\\Recent"]
                uid = _said(said, "UID")
                # Each is there once: where a store gave a GUID to two messages, none of them is passed over.
                found[f"{guid} again, UID {uid}" if guid in found else guid] = {
                    "uid": uid,
                    "guid": guid,
                    "flags": flags,
                }
        return found


@final
class _Session(IMAPClient):  # type: ignore[misc]
    """A connection whose answers have a bound."""

    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None, timeout_s: float) -> None:
        self._left = MOST_ANSWER_BYTES
        # Messages are asked for by their places in the mailbox, so that a page has as many as it says.
        super().__init__(host, port, use_uid=False, ssl=tls is not None, ssl_context=tls, timeout=timeout_s)

    def answer_begins(self) -> None:
        self._left = MOST_ANSWER_BYTES

    def _create_IMAP4(self) -> Any:
        imap = super()._create_IMAP4()
        read, readline = imap.read, imap.readline

        def bounded_read(size: int) -> bytes:
            self._take(size)
            return bytes(read(size))

        def bounded_readline() -> bytes:
            line = bytes(readline())
            self._take(len(line))
            return line

        imap.read, imap.readline = bounded_read, bounded_readline
        return imap

    def _take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise IMAPClientError(f"an answer has more than {MOST_ANSWER_BYTES} bytes")


def _log_in(session: IMAPClient, way: Way, user: str) -> None:
    if not session.has_capability("AUTH=PLAIN"):
        raise IMAPClientError("it takes no password by AUTHENTICATE PLAIN")
    name, password = way.credentials.user, way.credentials.password
    session.plain_login(name, password, user if user != name else None)


def _namespaces(session: IMAPClient) -> tuple[str, tuple[str, ...]]:
    """What the names of a user's own mailboxes begin with, and those of everybody else's."""
    found = session.namespace()
    own = found.personal[0][0] if found.personal else ""
    return own, tuple(prefix for prefix, _ in _each(found.other, found.shared) if prefix)


def _each(*groups: Iterable[tuple[str, str]] | None) -> Iterable[tuple[str, str]]:
    for group in groups:
        yield from group or ()


def _said(answer: Mapping[bytes, Any], what: str) -> Any:
    value = answer.get(what.encode())
    if value is None:
        raise IMAPClientError(f"it does not say {what}")
    return value


def _text(value: bytes | int) -> str:
    """The library makes a number of a word that looks like one."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
