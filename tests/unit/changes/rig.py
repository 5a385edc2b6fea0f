"""A catalog whose streams a test moves by hand, and a subscription on it that is told what a shell would tell it."""

from __future__ import annotations

from pyrepl.acl.users import Users
from pyrepl.changes.block import Block, Fact
from pyrepl.changes.rights import Rights
from pyrepl.changes.subscription import (
    Denied,
    Ended,
    Heard,
    Subscribed,
    Subscription,
    SubscriptionEvent,
    SubscriptionOptions,
    Wanted,
)
from pyrepl.changes.unavailable import Unavailable
from tests.unit.acl.names import Names

REPLID = "a" * 40


def users_of(password: bytes = b"", **rules: str) -> Users:
    """The user `default` with this password, empty for none, and others by name with their rules."""
    users = Users()
    users.learn(Names())
    users.set_default_password(password)
    for name, words in rules.items():
        users.set(name.encode(), words.encode().split())
    return users


class FakeCatalog:
    """Streams of one writer, `w`, with facts that a test adds."""

    def __init__(self, name: str = "node-a", replid: str = REPLID, **heads: int) -> None:
        self.name = name
        self.replid = replid
        self.facts: dict[str, list[Fact]] = {stream: [] for stream in heads}
        self.heads = dict(heads)
        self.oldest = 0
        self.loading = False
        self.digits = ""

    def streams(self) -> list[str]:
        return list(self.heads)

    def writers(self, stream: str) -> list[str]:
        return ["w"]

    def token_at(self, stream: str, at: int) -> int:
        """With `digits` behind it, if a test has set them."""
        return int(f"{at}{self.digits}")

    def at(self, stream: str, token: int) -> int:
        return token // int("1" + "0" * len(self.digits))

    def head(self, stream: str, writer: str | None) -> int | None:
        return self.heads.get(stream) if writer in (None, "w") else None

    def why_not(self, stream: str, writer: str | None, token: int | None, replid: str) -> str | None:
        if self.loading:
            return "LOADING"
        if token is not None and token < self.oldest:
            return f"TOOOLD {self.oldest}"
        return None

    def add(self, stream: str, token: int, *rows: str) -> Block:
        """A new fact; the live block of it."""
        previous, self.heads[stream] = self.heads[stream], token
        self.facts[stream].append((token, rows))
        return Block(stream, "w", previous, token, [(token, rows)], self.digits)

    def read(self, stream: str, after: int, at_most: int) -> Block:
        if after < self.oldest:
            raise Unavailable(f"TOOOLD {self.oldest}")
        facts = [fact for fact in self.facts[stream] if fact[0] > after]
        if len(facts) > at_most:
            facts = facts[:at_most]
            return Block(stream, "w", after, facts[-1][0], facts, self.digits)
        return Block(stream, "w", after, max(after, self.heads[stream]), facts, self.digits)


class Rig:
    """A subscription, its time, and what it wrote."""

    def __init__(
        self, catalog: FakeCatalog, password: bytes = b"", unix_ms: int = 0, users: Users | None = None
    ) -> None:
        """`password` is that of the user `default`, where no `users` are given; empty: it needs none."""
        self.catalog = catalog
        self.options = SubscriptionOptions()
        self.users = users or users_of(password)
        self.now = 0.0
        self.at_most = 1000
        self.reads = True
        """The client reads: nothing waits in the connection."""
        self.wire = b""
        self.heard: list[Heard] = []
        self.subscribed: list[Subscribed] = []
        self.denied: list[Denied] = []
        self.ended: list[Ended] = []
        self.subscription = Subscription(
            catalog, self.options, Rights(self.users, self.users.newcomer()), self.now, unix_ms
        )
        self.work()

    def say(self, *lines: str) -> str:
        """The client says lines; what the node says then."""
        return self.feed("".join(line + "\n" for line in lines).encode())

    def feed(self, data: bytes) -> str:
        self.subscription.receive(data, self.now)
        return self.work()

    def live(self, block: Block) -> str:
        self.subscription.live(block, None, self.now)
        self.subscription.live(block, block.writer, self.now)
        return self.work()

    def wait(self, span_s: float) -> str:
        """Time passes; `tick` is called exactly when it is due."""
        until = self.now + span_s
        out = ""
        while True:
            deadline = self.subscription.next_deadline()
            if deadline is None or deadline > until:
                break
            self.now = max(self.now, deadline)
            self.subscription.tick(self.now)
            out += self.work()
        self.now = until
        return out

    def work(self) -> str:
        """What a shell does after each call."""
        before = len(self.wire)
        events: list[SubscriptionEvent] = self.subscription.events()
        while events:
            for event in events:
                if isinstance(event, Wanted):
                    self._answer(event)
                elif isinstance(event, Heard):
                    self.heard.append(event)
                elif isinstance(event, Subscribed):
                    self.subscribed.append(event)
                elif isinstance(event, Denied):
                    self.denied.append(event)
                else:
                    self.ended.append(event)
            self._write()
            events = self.subscription.events()
        self._write()
        return self.wire[before:].decode()

    def _answer(self, wanted: Wanted) -> None:
        try:
            block = self.catalog.read(wanted.stream, wanted.after, self.at_most)
        except Unavailable as error:
            self.subscription.refused(wanted.stream, wanted.writer, str(error))
        else:
            self.subscription.rows(block, wanted.writer, self.now)

    def _write(self) -> None:
        self.wire += b"".join(self.subscription.data_to_send())
        if self.reads:
            self.subscription.note_unsent(0)
