"""What a part of the node does in the course of the node's life, and the one list of all parts that do something.

A new part that lives (a pool of scripts, a mailbox room) is a `Service`, which overrides what it needs, and stands in
the list of `App`. Nothing else has to be told of it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from typing import Final, final

NEVER: Final = math.inf
"""The next deadline of a service that no clock drives."""


class Service:
    """A part of the node that lives. Each method does nothing unless the part overrides it.

    What a service needs before the node has data it gets in its constructor; sockets and files it opens when it is
    told to, as the constructor of a node that cannot start must leave nothing behind.
    """

    def begin(self) -> None:
        """The data is loaded and the role is known; clients are served from now on. Raises ConfigError when the node
        cannot go on: it ends then."""

    def tick(self, now: float) -> None:
        """Do what is due, a small piece of it: the loop waits. `now` is in monotonic seconds."""

    def next_deadline(self, now: float) -> float:
        """When `tick` is due again, in monotonic seconds; asked after each tick, whose `now` it was.

        The timer ticks `hz` times a second and calls whoever is due by then: so `now` means each tick of the timer,
        `now + 1.0` about once a second, and NEVER that there is nothing to do. A service that works on in slices
        between two ticks has a timer of its own, as it wakes the node only while there is work.
        """
        return NEVER

    def settings_changed(self, names: Collection[str]) -> None:
        """CONFIG SET has changed these directives, or, with no names, the node starts: look at all that is kept.

        Raises ConfigError when it cannot be: the directives have their values of before again then.
        """

    def stop(self) -> None:
        """The node ends: close what is open. Not for what clients are still to be sent; they are told last."""


@final
class Services:
    """The services of a node in their order: so they begin, are ticked and hear of settings. They stop in the reverse
    order, so that what was built on others ends before those."""

    def __init__(self, *services: Service) -> None:
        self._services = services

    def __iter__(self) -> Iterator[Service]:
        return iter(self._services)

    def begin(self) -> None:
        """The data is loaded and the role is known. Raises ConfigError."""
        for service in self._services:
            service.begin()

    def settings_changed(self, names: Collection[str]) -> None:
        """These directives were changed; no names mean all. Raises ConfigError; who comes later has not heard then."""
        for service in self._services:
            service.settings_changed(names)

    def stop(self) -> None:
        """The node ends."""
        for service in reversed(self._services):
            service.stop()
