"""`pyrepl mailbox compare`: what differs between the mailboxes of two nodes, as each tells it on its Redis port, or as
its IMAP server shows it (imap/mail.py).

The nodes are asked one after the other, mailbox by mailbox: what changes meanwhile may show as a difference. Memory is
for the messages of one mailbox of both nodes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Final, Protocol, TypeAlias, final

from pyrepl.address import Address
from pyrepl.observability.event import one_line

from .asking import Unreachable, Way, reply_of

PAGE: Final = 2000
"""Messages that are asked for at once."""
MOST_MESSAGES: Final = 2_000_000
"""Of one mailbox, inclusive: all of them are in memory."""
_OF_BOX: Final = ("guid", "uidvalidity", "uidnext", "subscribed")
Named: TypeAlias = dict[str, Any]


class Mail(Protocol):
    """The mailboxes of one node. Each method raises Unreachable, which names the node.

    A mailbox has the fields `guid`, `uidvalidity`, `uidnext` and `subscribed` (0 or 1), a message `guid`, `uid` and
    `flags`, a list.
    """

    @property
    def name(self) -> str:
        """What it is called in a line."""

    @property
    def user(self) -> str:
        """Whose mailboxes they are; "": those of all users."""

    async def users(self) -> set[str]: ...

    async def boxes(self, user: str) -> dict[str, Named]:
        """By name."""

    async def messages(self, user: str, box: str) -> dict[str, Named]:
        """By GUID. `box`: one of those that `boxes` told of."""

    def close(self) -> None:
        """It is asked nothing more."""


@final
class NodeMail:
    """What a node tells on its Redis port."""

    def __init__(self, address: Address, way: Way, timeout_s: float) -> None:
        self.name: Final = str(address)
        self.user: Final = ""
        self._address: Final = address
        self._way: Final = way
        self._timeout_s: Final = timeout_s

    async def _ask(self, *words: str) -> Any:
        command = [b"MAILBOX", *(word.encode() for word in words)]
        try:
            return await reply_of(self._address, self._way, self._timeout_s, *command)
        except Unreachable as error:
            raise Unreachable(f"{self.name}: {error}", refused=error.refused) from None

    async def users(self) -> set[str]:
        return {user.decode() for user in await self._ask("USERS")}

    async def boxes(self, user: str) -> dict[str, Named]:
        return {box["name"]: box for box in map(_named, await self._ask("INFO", user))}

    async def messages(self, user: str, box: str) -> dict[str, Named]:
        found: dict[str, Named] = {}
        after = 0
        while True:
            page = list(map(_named, await self._ask("MESSAGES", user, box, str(after), str(PAGE))))
            found |= {message["guid"]: message for message in page}
            if len(found) > MOST_MESSAGES:
                raise Unreachable(f"{self.name}: {box} has more than {MOST_MESSAGES:,} messages, the most to compare")
            if len(page) < PAGE:
                return found
            after = page[-1]["uid"]

    def close(self) -> None:
        """Each question has a connection of its own."""


async def compared(one: Mail, other: Mail, only: str, tell: Callable[[str], None]) -> int:
    """How many differences there are; each is told as a line. `only`: a user, or "" for all. Raises Unreachable."""
    try:
        return await _differences(one, other, only, tell)
    finally:
        one.close()
        other.close()


async def _differences(one: Mail, other: Mail, only: str, tell: Callable[[str], None]) -> int:
    found = 0
    here, there = await asyncio.gather(one.users(), other.users())
    if only and only not in here | there:
        raise Unreachable(f"neither {one.name} nor {other.name} has a user {only}")
    for user in sorted({only} if only else here | there):
        async for line in _of_user(one, other, user, user in here, user in there):
            found += 1
            tell(one_line(line))
    return found


async def _of_user(one: Mail, other: Mail, user: str, is_here: bool, is_there: bool) -> AsyncIterator[str]:
    here = await one.boxes(user) if is_here else {}
    there = await other.boxes(user) if is_there else {}
    for name in sorted(here.keys() | there.keys()):
        head = f"{user} {name}"
        if name not in here or name not in there:
            yield f"{head}: only at {(one if name in here else other).name}"
            continue
        for line in _of_box(one.name, here[name], other.name, there[name]):
            yield f"{head}: {line}"
        mine, theirs = await asyncio.gather(one.messages(user, name), other.messages(user, name))
        for line in _of_messages(one.name, mine, other.name, theirs):
            yield f"{head}: {line}"


def _of_box(one: str, here: Named, other: str, there: Named) -> Iterator[str]:
    for field in _OF_BOX:
        if here[field] != there[field]:
            yield f"{field} {here[field]} at {one}, {there[field]} at {other}"


def _of_messages(one: str, here: dict[str, Named], other: str, there: dict[str, Named]) -> Iterator[str]:
    order = {guid: message["uid"] for guid, message in (there | here).items()}
    for guid in sorted(order, key=lambda guid: (order[guid], guid)):
        mine, theirs = here.get(guid), there.get(guid)
        if mine is None or theirs is None:
            found = mine or theirs
            assert found is not None
            yield f"UID {found['uid']} {guid}: only at {one if theirs is None else other}"
            continue
        if mine["uid"] != theirs["uid"]:
            yield f"{guid}: UID {mine['uid']} at {one}, {theirs['uid']} at {other}"
        if set(mine["flags"]) != set(theirs["flags"]):
            yield f"UID {mine['uid']} {guid}: {_flags(mine)} at {one}, {_flags(theirs)} at {other}"


def _flags(message: Named) -> str:
    return " ".join(message["flags"]) or "no flags"


def _named(reply: Any) -> Named:
    """A map, which comes as an array of names and values; texts as text."""
    return {name.decode(): _text(value) for name, value in zip(reply[::2], reply[1::2], strict=True)}


def _text(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return [_text(each) for each in value] if isinstance(value, list) else value
