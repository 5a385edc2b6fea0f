"""What INFO mailboxes shows: counters since the start, and what the machine has in memory now.

Only what is in memory: rows may be asked in a round alone, and INFO does not wait for one.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.daemon.clock import Clock
from pyrepl.daemon.mailbox.configured import Configured
from pyrepl.daemon.mailbox.conns import Conns
from pyrepl.daemon.mailbox.driver import Driver
from pyrepl.mailbox.node import Node
from pyrepl.mailbox.sending import Counted
from pyrepl.mailbox.troubled import count_troubled
from pyrepl.node.mailboxes import MailboxMember


@final
class Figures:
    """Of one node; 0 and empty for what nothing is open of. pyrepl.node.mailboxes says what each is."""

    def __init__(self, conf: Configured, conns: Conns, clock: Clock) -> None:
        self.port = 0
        self.name: Final = conf.name
        self._conf: Final = conf
        self._conns: Final = conns
        self._clock: Final = clock

    @property
    def _driver(self) -> Driver | None:
        return None if self._conns.keeping is None else self._conns.keeping.driver

    @property
    def _node(self) -> Node | None:
        return None if self._driver is None else self._driver.node

    @property
    def is_ready(self) -> bool:
        return self._driver is not None

    @property
    def root(self) -> str:
        return "" if self._node is None else self._node.mastering.root.root

    @property
    def epoch(self) -> int:
        return 0 if self._node is None else self._node.mastering.root.epoch

    @property
    def is_apart(self) -> bool:
        return self._node is not None and self._node.mastering.tracker.is_apart

    @property
    def apart_s(self) -> float:
        return self._conns.tally.apart_s(self._clock.now())

    @property
    def boxes(self) -> int:
        return 0 if self._driver is None else self._driver.rows.box_count

    @property
    def messages(self) -> int:
        return 0 if self._driver is None else self._driver.rows.message_count

    @property
    def journal_bytes(self) -> int:
        return 0 if self._driver is None else self._driver.rows.kept_bytes

    @property
    def mail_processes(self) -> int:
        return len(self._conns.clients)

    @property
    def users_stopped(self) -> int:
        return 0 if self._driver is None else len(self._driver.standing)

    @property
    def troubled(self) -> int:
        return 0 if self._node is None else count_troubled(self._node)

    @property
    def ops_waiting(self) -> int:
        return 0 if self._node is None else self._node.core.causal.count

    @property
    def ops_sent(self) -> int:
        return self._conns.tally.ops_sent

    @property
    def ops_applied(self) -> int:
        return self._conns.tally.counted[Counted.OP_APPLIED]

    @property
    def moves(self) -> int:
        return self._conns.tally.counted[Counted.MOVE]

    @property
    def renumbered(self) -> int:
        return self._conns.tally.counted[Counted.RENUMBERED]

    @property
    def burned(self) -> int:
        return self._conns.tally.notices["uid_burned"]

    @property
    def single_copy(self) -> int:
        return self._conns.tally.notices["single_copy"]

    @property
    def gate_waits(self) -> int:
        return self._conns.tally.counted[Counted.GATE_WAIT]

    @property
    def gate_wait_ms(self) -> int:
        return self._conns.tally.counted[Counted.GATE_WAIT_MS]

    @property
    def scrubbed_bytes(self) -> int:
        return self._conns.tally.counted[Counted.SCRUBBED_BYTES]

    @property
    def texts_damaged(self) -> int:
        return self._conns.tally.counted[Counted.TEXT_DAMAGED]

    @property
    def texts_mended(self) -> int:
        return self._conns.tally.counted[Counted.TEXT_MENDED]

    @property
    def members(self) -> list[MailboxMember]:
        return [self._member(name) for name in self._conf.members.names]

    def _member(self, name: str) -> MailboxMember:
        at = self._conf.addresses[name]
        link = "self" if name == self.name else "up" if name in self._conns.links else "down"
        return MailboxMember(name, f"{at.host}:{at.port}", link, *self._lag(name))

    def _lag(self, name: str) -> tuple[int, int]:
        driver, node = self._driver, self._node
        peer = None if node is None else node.core.peers.get(name)
        if driver is None or node is None or peer is None:
            return 0, 0
        held = node.core.causal.held
        ops = sum(max(0, seq - peer.held.get(origin, 0)) for origin, seq in held.items())
        lag_s = driver.lag.lag_s(peer.held.get(node.core.origin, 0), self._clock.now())
        return ops, int(lag_s * 1000)
