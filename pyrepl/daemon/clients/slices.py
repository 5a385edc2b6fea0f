"""Runs a long job of a command (`commands.engine.slices`) in slices of 2 ms between turns of the loop, then answers.

`ClientDeeds` makes one Slices for each such command; the client is held meanwhile, and others are served.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, final

from pyrepl.commands.engine.slices import Job
from pyrepl.daemon.clients.client_conn import ClientConn
from pyrepl.daemon.clients.waits import Waits
from pyrepl.daemon.clock import Clock
from pyrepl.resp.reply import Reply

_SLICE_S: Final = 0.002


@final
class Slices:
    """One job of one client, which is held. If the client goes away, the job is dropped."""

    def __init__(self, job: Job, conn: ClientConn, waits: Waits, clock: Clock, done: Callable[[float], None]) -> None:
        """`done` is called before the reply goes out, with the seconds that all slices took together."""
        self._job = job
        self._conn = conn
        self._waits = waits
        self._clock = clock
        self._done = done
        self._worked_s = 0.0
        self._loop = asyncio.get_running_loop()

    def start(self) -> None:
        """The first slice comes in a turn of its own."""
        self._loop.call_soon(self._run)

    def _run(self) -> None:
        if self._conn.transport.is_closing():
            return
        try:
            reply = self._slice()
        except Exception:
            # A defect of ours: without this the client would wait for ever, as no reply would come.
            self._conn.transport.abort()
            raise
        if reply is None:
            # By a timer, so that sockets that are ready are served before the next slice.
            self._loop.call_later(0, self._run)
            return
        self._waits.finish(self._conn.client.id, reply[0])
        self._conn.flush()

    def _slice(self) -> tuple[Reply] | None:
        """Work for one slice. Returns (the reply,) once the job is done, else None."""
        began = self._clock.now()
        while not self._job.step():
            now = self._clock.now()
            if now >= began + _SLICE_S:
                self._worked_s += now - began
                return None
        reply = self._job.reply()
        self._done(self._worked_s + self._clock.now() - began)
        return (reply,)
