"""The filters by which CLIENT KILL and CLIENT LIST choose clients: type, address, id, user, age.

What is done with the chosen clients is in `client_admin`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from pyrepl.commands.engine.arguments import integer_argument, syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.errors import CommandError
from pyrepl.node.client import MASTER, NORMAL, PUBSUB, REPLICA, Client

_KINDS: Final = {b"normal": NORMAL, b"slave": REPLICA, b"replica": REPLICA, b"pubsub": PUBSUB, b"master": MASTER}


def client_kind(word: bytes) -> str:
    """The value of `Client.kind` that the word after TYPE names, in any case. Raises CommandError for another word."""
    kind = _KINDS.get(word.lower())
    if kind is None:
        raise CommandError(f"ERR Unknown client type '{word[:128].decode('utf-8', 'replace')}'")
    return kind


@final
@dataclass(slots=True)
class ClientFilter:
    """The filters of one CLIENT KILL. A client is chosen when it passes all that are given (Redis 7.4).

    None stands for a filter that is not given. `skip_self` leaves out the client that sent the command.
    """

    skip_self: bool = True
    client_id: int | None = None
    kind: str | None = None
    addr: bytes | None = None
    laddr: bytes | None = None
    user: bytes | None = None
    max_age_s: int | None = None
    """Chooses only clients that connected this many seconds ago or earlier."""

    @classmethod
    def parse(cls, words: tuple[bytes, ...]) -> ClientFilter:
        """The filters of `option value [option value ...]`. Raises CommandError for any other words."""
        parsed = cls()
        for i in range(0, len(words), 2):
            if i + 1 == len(words):
                raise syntax_error()
            parsed._take(words[i].upper(), words[i + 1])
        return parsed

    def _take(self, option: bytes, value: bytes) -> None:
        if option == b"ID":
            complaint = "ERR client-id should be greater than 0"
            self.client_id = integer_argument(value, complaint)
            if self.client_id < 1:
                raise CommandError(complaint)
        elif option == b"TYPE":
            self.kind = client_kind(value)
        elif option == b"ADDR":
            self.addr = value
        elif option == b"LADDR":
            self.laddr = value
        elif option == b"USER":
            if value != b"default":
                raise CommandError(f"ERR No such user '{value[:128].decode('utf-8', 'replace')}'")
            self.user = value
        elif option == b"MAXAGE":
            self.max_age_s = integer_argument(value, "ERR maxage is not an integer or out of range")
            if self.max_age_s < 1:
                raise CommandError("ERR maxage should be greater than 0")
        elif option == b"SKIPME" and value.lower() in (b"yes", b"no"):
            self.skip_self = value.lower() == b"yes"
        else:
            raise syntax_error()

    def choose(self, call: Call) -> list[Client]:
        """The clients that pass every filter, in the order of their ids."""
        now = call.node.process.now
        return [
            client
            for client in call.node.clients.values()
            if not (self.skip_self and client is call.client) and self._passes(client, now)
        ]

    def _passes(self, client: Client, now: float) -> bool:
        return (
            (self.client_id is None or client.id == self.client_id)
            and (self.kind is None or client.kind == self.kind)
            and (self.addr is None or client.addr.encode() == self.addr)
            and (self.laddr is None or client.laddr.encode() == self.laddr)
            and (self.user is None or (client.identity.name == self.user))
            and (self.max_age_s is None or now - client.created_at >= self.max_age_s)
        )
