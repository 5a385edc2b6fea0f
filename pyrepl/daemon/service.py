"""The services of a node: the parts that do something at the start, from time to time, on CONFIG SET, or at the end.

A new part of this kind (a pool of scripts, a mailbox room) is a `Service` that overrides the methods it needs, and
stands in the list in `App`. Nothing else has to know of it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from typing import Final, final

NEVER: Final = math.inf
"""The next deadline of a service that no clock drives."""


class Service:
    """A part of the node that is called in the course of the node's life. Each method does nothing unless the part
    overrides it.

    A service gets in its constructor what it needs before the node has data. The constructor opens no sockets and
    files, as a node that cannot start must leave nothing behind.
    """

    def begin(self) -> None:
        """The data is loaded and the role is known; clients are served from now on. Raises ConfigError when the service
        cannot begin; this ends the node."""

    def tick(self, now: float) -> None:
        """Do the work that is due, a small piece at a time, as no client is served meanwhile. `now` is in monotonic
        seconds."""

    def next_deadline(self, now: float) -> float:
        """When `tick` is due again, in monotonic seconds. Asked after each tick, with the same `now`.

        The timer runs `hz` times a second and ticks the services whose deadline has come. So to return `now` means each
        run of the timer, `now + 1.0` about once a second, and NEVER that there is nothing to do. A service that has to
        go on sooner, in slices, sets a timer of its own while there is work.
        """
        return NEVER

    def settings_changed(self, names: Collection[str]) -> None:
        """CONFIG SET has changed the directives `names`. No names mean that the node starts: look at all directives.

        Raises ConfigError when a new value cannot be used; the directives then get their former values again.
        """

    def stop(self) -> None:
        """The node ends: close what is open. Client connections still exist, and are closed after all services."""

    async def finish(self) -> None:
        """All services have stopped: wait for what threads have still to do, but not for ever. Client connections are
        closed meanwhile."""


@final
class Services:
    """The services of a node, in the order in which they begin, are ticked and hear of settings. They stop in the
    reverse order, so that a service stops before the services that it uses."""

    def __init__(self, *services: Service) -> None:
        self._services = services

    def __iter__(self) -> Iterator[Service]:
        return iter(self._services)

    def begin(self) -> None:
        """The data is loaded and the role is known. Raises ConfigError."""
        for service in self._services:
            service.begin()

    def settings_changed(self, names: Collection[str]) -> None:
        """Pass a change of directives on to all services. Raises ConfigError, and then the services behind the one that
        raised it have not heard of the change."""
        for service in self._services:
            service.settings_changed(names)

    def stop(self) -> None:
        """Stop all services, the last one first."""
        for service in reversed(self._services):
            service.stop()

    async def finish(self) -> None:
        """Wait for what services that have stopped had begun."""
        for service in reversed(self._services):
            await service.finish()
