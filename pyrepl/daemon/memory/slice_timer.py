"""Plans the next slice of work that a service does a piece at a time, with pauses in which clients are served."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import final


@final
class SliceTimer:
    """The one slice that is planned, if any. The service stops it when it stops itself."""

    def __init__(self) -> None:
        self._handle: asyncio.TimerHandle | None = None

    @property
    def is_set(self) -> bool:
        """Is a slice planned that has not begun?"""
        return self._handle is not None

    def set(self, pause_s: float, work: Callable[[], None]) -> None:
        """Call `work` after `pause_s` seconds. No slice may be planned yet."""
        assert self._handle is None
        self._handle = asyncio.get_running_loop().call_later(pause_s, self._begin, work)

    def stop(self) -> None:
        """Do not begin the slice that is planned."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _begin(self, work: Callable[[], None]) -> None:
        self._handle = None
        work()
