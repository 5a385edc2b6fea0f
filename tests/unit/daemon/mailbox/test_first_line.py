"""Who comes by the port is what the first line says."""

from __future__ import annotations

import socket

import pytest

from pyrepl.daemon.mailbox.first_line import MOST_BYTES, FirstLine
from pyrepl.daemon.mailbox.sockets import Sockets
from pyrepl.daemon.mailbox.talk_conn import TalkConn
from pyrepl.daemon.wires.plain_wire import PlainWire
from pyrepl.mailbox.mail_conn import MailConn
from pyrepl.mailbox.peer_link import PeerLink
from pyrepl.mailbox.talk import GREETING_S, TalkOptions
from pyrepl.mailbox.verbs import Side
from tests.unit.daemon.mailbox.test_talk_conn import Owner
from tests.unit.daemon.rig import in_loop, until
from tests.unit.mailbox.talks import introduction


class Rig:
    def __init__(self) -> None:
        self.sockets = Sockets()
        self.sides: list[Side] = []
        self.owner = Owner()
        ours, self.theirs = socket.socketpair()
        self.first = FirstLine(self.become, lambda: self.owner.told.append("TLS"), 5.0)
        self.first.enter(self.sockets.add(PlainWire(ours), self.first))

    def become(self, side: Side) -> TalkConn:
        self.sides.append(side)
        if side is Side.NODE:
            return TalkConn(self.owner, PeerLink(introduction("a"), "", TalkOptions(), 0.0), "here")
        return TalkConn(self.owner, MailConn(introduction("a"), TalkOptions(), 0.0, is_local=True), "here")


@pytest.mark.parametrize(
    ("pieces", "side"),
    [([b"* HELLO no", b"de=b nonce=x\n"], Side.NODE), ([b"* HELLO name=x\n* CHECK\n"], Side.MAIL)],
)
@in_loop
async def test_a_node_or_a_mail_process(pieces: list[bytes], side: Side) -> None:
    rig = Rig()
    for piece in pieces:
        rig.theirs.send(piece)
    await until(lambda: rig.sides == [side])
    assert rig.first.until == 5.0 + GREETING_S
    if side is Side.MAIL:
        await until(lambda: rig.owner.told == ["opened x", "* CHECK"])
    rig.theirs.close()
    await until(lambda: rig.first.is_over and rig.owner.told[-1].startswith("lost "))
    rig.sockets.close()


@pytest.mark.parametrize("said", [b"x" * (MOST_BYTES + 1), b"x" * MOST_BYTES + b"y\n"])
@in_loop
async def test_who_says_too_much_without_a_line_is_cut(said: bytes) -> None:
    rig = Rig()
    rig.theirs.send(said)
    await until(lambda: rig.first.is_over)
    assert rig.first.conn is None and rig.sides == []
    rig.sockets.close()


@pytest.mark.parametrize("end", [b"", b"\n"])
@in_loop
async def test_who_speaks_tls_is_told_of_and_cut(end: bytes) -> None:
    rig = Rig()
    rig.theirs.send(b"\x16\x03\x01\x02\x00\x01" + end)
    await until(lambda: rig.first.is_over)
    assert rig.owner.told == ["TLS"] and rig.sides == []
    rig.sockets.close()
