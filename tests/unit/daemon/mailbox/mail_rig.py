"""Nodes that keep mailboxes, in the loop of a test, and a mail process that says lines."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

from pyrepl.config.mailbox_kinds import MailboxMember
from tests.peers.ports import free_port
from tests.unit.daemon.rig import RunningNode, running, soon, until

SECRET: Final = b"0123456789abcdef"


def members(names: str) -> tuple[MailboxMember, ...]:
    """One a letter; w is a witness."""
    return tuple(MailboxMember(name, "127.0.0.1", free_port(), name == "w") for name in names)


def settings_of(folder: Path, name: str, cluster: tuple[MailboxMember, ...], **more: Any) -> dict[str, Any]:
    """The directives of one member, with its Maildirs below `folder`."""
    (folder / "mail").mkdir(parents=True, exist_ok=True)
    [own] = [member for member in cluster if member.name == name]
    found: dict[str, Any] = {
        "mailbox_port": own.port,
        "mailbox_bind": ("127.0.0.1",),
        "mailbox_socket": str(folder / "socket"),
        "mailbox_node": name,
        "mailbox_members": cluster,
        "mailbox_secret": SECRET,
        "mailbox_maildir": str(folder / "mail" / "%u"),
        "mailbox_lease": 1000,
        "mailbox_root_timeout": 300,
    }
    return found | more


class MailProcess:
    """One connection by the socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def of(cls, folder: Path, hello: str = "HELLO name=test") -> MailProcess:
        """As soon as the node is ready."""
        while True:
            found = cls(*await asyncio.open_unix_connection(str(folder / "socket")))
            found.say(f"* {hello}")
            found.say("7 FETCH nobody guid=none")
            is_greeted = (await found.line()).startswith("* HELLO ")
            if is_greeted and (await found.line()).startswith(("7 NO NOUID", "7 NO FAILED why=a%20witness")):
                return found
            await asyncio.sleep(0.01)

    def say(self, line: str, text: bytes = b"") -> None:
        self.writer.write(line.encode() + b"\n" + text)

    async def line(self) -> str:
        """The next line, "" when the node has closed."""
        try:
            line: bytes = await soon(self.reader.readline())
        except ConnectionError:
            return ""
        return line.decode().rstrip("\n")

    async def ask(self, line: str, text: bytes = b"") -> str:
        """The answer to a line, which is asked with the tag 1; without the name of the node's database in dots."""
        self.say(f"1 {line}", text)
        return re.sub(r"~[0-9]+:", ":", (await self.line()).removeprefix("1 "))

    async def save(self, guid: str, text: bytes = b"hello", user: str = "alice") -> str:
        return await self.ask(f"SAVE {user} INBOX guid={guid} size={len(text)} received=1 {{{len(text)}}}", text)

    def close(self) -> None:
        self.writer.close()


@asynccontextmanager
async def cluster(folder: Path, names: str = "ab", **more: Any) -> AsyncIterator[dict[str, RunningNode]]:
    """Nodes that have met, each in the folder of its name."""
    nodes = members(names)
    async with AsyncExitStack() as stack:
        found = {
            name: await stack.enter_async_context(
                running(folder / name, **settings_of(folder / name, name, nodes, **more))
            )
            for name in names
        }
        await until(lambda: all(links(node) == len(names) - 1 for node in found.values()), "links")
        yield found


def links(node: RunningNode) -> int:
    assert node.app.mailboxes is not None
    return len(node.app.mailboxes.conns.links)


def texts(folder: Path, user: str = "alice") -> list[bytes]:
    """The messages in a user's INBOX."""
    return sorted(path.read_bytes() for path in (folder / "mail" / user / "cur").glob("*"))
