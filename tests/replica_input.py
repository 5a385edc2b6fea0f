"""A replica's bytes on their way to its session, as the daemon's connections bring them: parsed, each read a sign."""

from __future__ import annotations

from typing import final

from pyrepl.replication.events import SessionState
from pyrepl.replication.psync import Cause, Reason
from pyrepl.replication.session import Session
from pyrepl.resp.parser import Parser


@final
class ReplicaInput:
    """One connection's input. Broken input closes the session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._parser = Parser()

    def receive(self, data: bytes, now: float) -> None:
        session = self._session
        if session.state is SessionState.CLOSED:
            return
        batch = self._parser.feed(data)
        if batch.size:
            session.note_sign(now)
        for argv in batch.commands:
            session.receive_command(argv, now)
        if batch.error is not None or batch.overflow:
            text = (batch.error or b"query buffer limit").decode("utf-8", "replace")
            session.close(Reason(Cause.PROTOCOL, detail=session.state.wire_name), text)


def hear(session: Session, data: bytes, now: float) -> None:
    """`data` is whole commands."""
    ReplicaInput(session).receive(data, now)
