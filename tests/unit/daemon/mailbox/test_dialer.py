"""A member is called until it answers, and again when the link is lost; why not is told once."""

from __future__ import annotations

import asyncio
import socket
from functools import partial

import pytest

from pyrepl.config.mailbox_kinds import MailboxMember
from pyrepl.daemon.mailbox import dialer as room
from pyrepl.daemon.mailbox.dialer import Dialer
from pyrepl.daemon.wires.plain_wire import PlainWire
from pyrepl.daemon.wires.wire import Wire
from tests.unit.daemon.rig import in_loop, until

MEMBER = MailboxMember("b", "127.0.0.1", 7390)


@in_loop
async def test_it_goes_on_until_there_is_a_link_and_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "SOON_S", 0.001)
    outcomes: list[Exception | None] = [ConnectionRefusedError(111, "refused")] * 3 + [
        ValueError("no name"),
        None,
        None,
    ]
    served: list[asyncio.Future[None]] = []
    failures: list[str] = []

    async def reach(host: str, port: int) -> Wire:
        assert (host, port) == ("127.0.0.1", 7390)
        outcome = outcomes.pop(0) if outcomes else TimeoutError()
        if outcome is not None:
            raise outcome
        return PlainWire(socket.socketpair()[0])

    def serve(wire: Wire, member: MailboxMember) -> asyncio.Future[None]:
        wire.close()
        served.append(asyncio.get_running_loop().create_future())
        return served[-1]

    dialer = Dialer(reach, serve, lambda member, why: failures.append(f"{member.name} {why}"))
    dialer.call(MEMBER)
    for count in (1, 2):
        await until(partial(lambda wanted: len(served) == wanted, count))
        served[-1].set_result(None)
    await until(lambda: len(failures) == 3)
    assert failures == ["b refused", "b no name", "b no answer for 5 s"]
    dialer.stop()
