"""How failed logins are slowed: by the address that they come from, so that new connections do not help.

The first few of an address cost nothing, as people mistype. After these each further one is answered later than the one
before. A login that succeeds is never delayed: one program with a wrong password does not slow the others of its
machine. But while MOST_LATE answers to an address are delayed, its logins are refused without a look at them. So an
address has no more than MOST_LATE guesses in LONGEST_S seconds.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Final, final

from pyrepl.acl.addresses import place_of

FREE: Final = 5
"""Failed logins of an address that are answered at once."""
FIRST_S: Final = 0.1
"""Seconds that the answer to the next one waits. With each further one it is twice as long."""
LONGEST_S: Final = 5.0
FORGOTTEN_S: Final = 60.0
"""After so many seconds without a failed login an address begins anew."""
MOST_LATE: Final = 100
MOST_ADDRESSES: Final = 10_000
"""Addresses that are remembered; of more, those that failed longest ago are forgotten."""


class _Failures:
    """The failed logins of one address. Times are monotonic seconds."""

    __slots__ = ("count", "last_at", "late")

    def __init__(self) -> None:
        self.count = 0
        self.last_at = 0.0
        self.late: deque[float] = deque()
        """When each delayed answer goes out, in order."""


@final
class Guesses:
    """Who has failed to log in lately. An address is as CLIENT LIST shows it, `ip:port`."""

    def __init__(self) -> None:
        self._by_place: OrderedDict[bytes, _Failures] = OrderedDict()

    def failed(self, addr: str, now: float) -> float:
        """A login has failed: so many seconds its answer has to wait."""
        place = place_of(addr)
        failures = self._by_place.get(place)
        if failures is None or now - failures.last_at > FORGOTTEN_S:
            failures = self._by_place[place] = _Failures()
        self._by_place.move_to_end(place)
        if len(self._by_place) > MOST_ADDRESSES:
            self._by_place.popitem(last=False)
        failures.count += 1
        failures.last_at = now
        over = failures.count - FREE
        if over <= 0:
            return 0.0
        delay_s = LONGEST_S if over > 10 else min(LONGEST_S, FIRST_S * 2.0 ** (over - 1))
        # Those that began before end before, however many there are, as the delay only grows.
        failures.late.append(now + delay_s)
        return delay_s

    def are_too_many(self, addr: str, now: float) -> bool:
        """Are so many answers to this address delayed that it may not even try?"""
        failures = self._by_place.get(place_of(addr))
        if failures is None:
            return False
        while failures.late and failures.late[0] <= now:
            failures.late.popleft()
        return len(failures.late) >= MOST_LATE
