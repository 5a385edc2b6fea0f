"""Daemons that keep the same mailboxes, each with Maildirs of its own below one folder, and writers."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pyrepl.mailbox.client import MailboxClient, MailboxError
from tests.peers.lab import Lab, LabError, Node, wait_until
from tests.peers.ports import free_port

USER: Final = "alice"
SECRET: Final = "0123456789abcdef"


class MailboxCluster:
    """Members by one letter each, started when they are asked for; w is a witness."""

    def __init__(self, lab: Lab, names: str = "abc") -> None:
        self.lab = lab
        self.names = names
        ports = {name: free_port() for name in names}
        self.members = " ".join(
            f"{name}=127.0.0.1:{port}{',witness' if name == 'w' else ''}" for name, port in ports.items()
        )
        self.ports = ports
        self.nodes: dict[str, Node] = {}

    def folder(self, name: str) -> Path:
        return self.lab.folder / name

    def start(self, *names: str, **directives: str) -> None:
        """Start members, for the first time or again."""
        for name in names:
            self.launch(name, **directives)
        for name in names:
            self.nodes[name].wait_ready()
            for other in self.nodes.keys() - {name}:
                if self.nodes[other].alive():
                    self.nodes[name].wait_log(f"The mailbox node {other} at")

    def launch(self, name: str, program: Sequence[str] | None = None, **directives: str) -> Node:
        """Start a member, by this command instead of `pyrepl`, and wait for nothing."""
        self._launch(name, self.members, directives, program)
        return self.nodes[name]

    def start_alone(self, name: str) -> None:
        """Start a member again that knows of no other."""
        [own] = [each for each in self.members.split() if each.startswith(f"{name}=")]
        self._launch(name, own, {})
        self.nodes[name].wait_ready()

    def _launch(
        self, name: str, members: str, directives: Mapping[str, str], program: Sequence[str] | None = None
    ) -> None:
        (self.folder(name) / "mail").mkdir(parents=True, exist_ok=True)
        settings = {
            "mailbox-port": str(self.ports[name]),
            "mailbox-bind": "127.0.0.1",
            "mailbox-socket": str(self.folder(name) / "socket"),
            "mailbox-node": name,
            "mailbox-members": members,
            "mailbox-secret": SECRET,
            "mailbox-maildir": str(self.folder(name) / "mail" / "%u"),
            "mailbox-lease": "2000",
            "mailbox-root-timeout": "500",
        }
        self.nodes[name] = self.lab.launch(
            "pyrepl", directives={**settings, **directives}, folder=self.folder(name), program=program
        )

    def client(self, name: str) -> MailboxClient:
        """A mail process on a member, as soon as it takes one."""
        found: list[MailboxClient] = []

        def connects() -> bool:
            try:
                client = MailboxClient(str(self.folder(name) / "socket"))
                client.check()
            except (OSError, MailboxError):
                return False
            found.append(client)
            return True

        wait_until(f"{name} takes mail processes", connects)
        return found[0]

    def view(self, name: str, folder: str = "") -> dict[int, tuple[str, bytes]]:
        """UID -> the letters of its flags, and its text, as a member's Maildir has it."""
        root = self.folder(name) / "mail" / USER / folder
        files = {path.name.partition(":2,")[0]: path for path in (root / "cur").glob("*")}
        found = {}
        for line in (root / "dovecot-uidlist").read_text().splitlines()[1:]:
            words, _, base = line.partition(":")
            if base in files:
                path = files[base]
                found[int(words.split()[0])] = path.name.partition(":2,")[2], path.read_bytes()
        return found

    def besides(self, name: str, folder: str = "") -> list[str]:
        """The files that a member has besides one for each message of `view`: in cur/ those without a line in the list,
        and a second one of a line; all in new/ and tmp/; and texts of messages without a UID, of any folder."""
        mail = self.folder(name) / "mail"
        maildir = mail / USER / folder
        lines = (maildir / "dovecot-uidlist").read_text().splitlines()[1:]
        listed = Counter(line.partition(":")[2] for line in lines)
        there = Counter(path.name.partition(":2,")[0] for path in (maildir / "cur").iterdir())
        found = [f"cur/{base}" for base in sorted((there - listed).elements())]
        for rest in (maildir / "new", maildir / "tmp", mail / ".pyrepl-aside"):
            found += sorted(f"{rest.name}/{path.name}" for path in rest.rglob("*") if path.is_file())
        return found

    def wait_nothing_dropped(self) -> None:
        """Wait until no member has a text that came and is not stored yet."""
        drops = [self.folder(name) / "mail" / ".pyrepl-drop" for name in self.names if name != "w"]
        wait_until("empty drop folders", lambda: not any(path for drop in drops for path in drop.iterdir()))

    def wait_equal(self, folder: str = "") -> dict[int, tuple[str, bytes]]:
        """Wait until all Maildirs are the same, and no member has a file besides; what they hold."""
        keepers = [name for name in self.names if name != "w"]
        seen: list[object] = []

        def are_equal() -> bool:
            try:
                views = [self.view(name, folder) for name in keepers]
                besides = {name: self.besides(name, folder) for name in keepers}
            except FileNotFoundError:
                return False
            seen[:] = [[sorted(view) for view in views], {name: each[:5] for name, each in besides.items()}]
            return all(view == views[0] for view in views) and not any(besides.values())

        try:
            wait_until("equal Maildirs", are_equal)
        except LabError as error:
            raise LabError(f"{error}: {seen}") from error
        return self.view(keepers[0], folder)


class Writer:
    """A mail process that saves one message after the other; `kept` are those that another node has as well."""

    def __init__(self, client: MailboxClient, name: str, mails: int) -> None:
        self.kept: list[bytes] = []
        self.said: list[bytes] = []
        self._client = client
        self._texts = [f"mail {number} of {name}\r\n".encode() * 50 for number in range(mails)]
        self.thread = threading.Thread(target=self._write, daemon=True)
        self.thread.start()

    def _write(self) -> None:
        try:
            for text in self._texts:
                self.said.append(text)
                if self._client.append(USER, "INBOX", text, ["\\Seen"]).acks:
                    self.kept.append(text)
        except (OSError, MailboxError):
            return

    def half(self) -> None:
        """Wait until about half of it is done."""
        while self.thread.is_alive() and len(self.said) < len(self._texts) // 2:
            self.thread.join(0.01)

    def join(self) -> None:
        self.thread.join(120)
        assert not self.thread.is_alive()
