"""Answers MAILBOX: what the machine of mailboxes knows, asked in one of its rounds, as its rows may only be read there.

Not here: the commands (commands/node/mailboxes.py).
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.effects import AskMailboxes, MailboxQuestion
from pyrepl.daemon.clients.clients import Clients
from pyrepl.daemon.mailbox.configured import Configured
from pyrepl.daemon.mailbox.conns import Conns
from pyrepl.daemon.performer import Deeds
from pyrepl.errors import CommandError, PeerError
from pyrepl.mailbox.answers import Ok
from pyrepl.mailbox.boxes import view
from pyrepl.mailbox.node import Node
from pyrepl.mailbox.rows import BoxRow
from pyrepl.mailbox.verbs import Check, Command
from pyrepl.mailbox.words import box_name
from pyrepl.node.waits import WorkWait
from pyrepl.resp.reply import OK, Reply

_NOT_READY: Final = CommandError("ERR mailboxes are not ready: ask again")


@final
class MailboxDeeds:
    """The answers of one node."""

    def __init__(self, conf: Configured, conns: Conns, clients: Clients) -> None:
        self._conf: Final = conf
        self._conns: Final = conns
        self._clients: Final = clients

    @property
    def deeds(self) -> Deeds:
        """MAILBOX"""
        return {AskMailboxes: self._perform}

    def _perform(self, call: Call, effect: AskMailboxes) -> Reply:
        waits, client_id = self._clients.waits, call.client.id
        if self._conns.keeping is None:
            raise _NOT_READY
        if client_id not in self._clients.conns:
            raise CommandError("ERR MAILBOX needs a connection of its own")
        if effect.question is MailboxQuestion.CHECK:
            check = Check(user=effect.user)
            self._conns.ask(f"check {client_id}", check, lambda answer: waits.finish(client_id, _checked(answer)))
        else:
            self._conns.in_round(
                lambda node, now: self._answer(node, effect, now),
                lambda answer: waits.finish(client_id, _NOT_READY if answer is None else answer),
            )
        return waits.hold(WorkWait(call.client))

    def _answer(self, node: Node, effect: AskMailboxes, now: float) -> Reply:
        """In a round. What goes wrong is the reply."""
        try:
            if effect.question is MailboxQuestion.STATUS:
                return self._status(node, now)
            if effect.question is MailboxQuestion.INFO:
                return [_shown(node, box, name) for name, box in sorted(_boxes(node, effect).items())]
            if effect.question is MailboxQuestion.MASTER:
                [box] = _boxes(node, effect).values()
                return _master(node, box).encode()
        except (CommandError, PeerError) as error:
            return error if isinstance(error, CommandError) else CommandError(f"ERR {error}")
        node.mastering.root.force(now)
        node.mastering.follow_up(now)
        return OK

    def _status(self, node: Node, now: float) -> Reply:
        root = node.mastering.root
        return {
            b"node": node.name.encode(),
            b"root": root.root.encode(),
            b"epoch": root.epoch,
            b"state": root.state.value.encode(),
            b"apart": int(node.mastering.tracker.is_apart),
            b"ops": sum(node.core.causal.held.values()),
            b"ops-waiting": node.core.causal.count,
            b"mail-processes": len(self._conns.clients),
            b"stopped": self._stopped(),
            b"members": [self._member(node, name) for name in self._conf.members.names],
        }

    def _stopped(self) -> Reply:
        """Users whose mailboxes stand still, as the disk refuses."""
        driver = None if self._conns.keeping is None else self._conns.keeping.driver
        standing, owed = ({}, {}) if driver is None else (driver.standing, driver.owed())
        return [
            {b"user": user.encode(), b"why": each.reason.encode(), b"works-owed": owed.get(user, 0)}
            for user, each in sorted(standing.items())
        ]

    def _member(self, node: Node, name: str) -> Reply:
        address, peer = self._conf.addresses[name], node.core.peers.get(name)
        shown: dict[Reply, Reply] = {
            b"name": name.encode(),
            b"address": f"{address.host}:{address.port}".encode(),
            b"link": b"self" if name == node.name else b"up" if name in self._conns.links else b"down",
            b"witness": int(address.is_witness),
        }
        if peer is not None:
            held = node.core.causal.held
            shown[b"lag-ops"] = sum(max(0, seq - peer.held.get(origin, 0)) for origin, seq in held.items())
        return shown


def _boxes(node: Node, effect: AskMailboxes) -> dict[str, BoxRow]:
    """The user's mailboxes by name, or the one that was named. Raises CommandError, and PeerError for no name."""
    found = {}
    for guid, (name, _) in view(node.core.rows, effect.user).items():
        box = node.core.rows.box(guid)
        if box is not None and (not effect.box or name == box_name(effect.box)):
            found[name] = box
    if not found:
        raise CommandError(f"ERR {effect.user} has no mailbox {effect.box}".rstrip())
    return found


def _shown(node: Node, box: BoxRow, name: str) -> Reply:
    return {
        b"name": name.encode(),
        b"guid": box.guid.encode(),
        b"uidvalidity": box.uidvalidity,
        b"uidnext": box.uidnext,
        b"highest-modseq": box.highest,
        b"subscribed": int(box.subscribed),
        b"master": _master(node, box).encode(),
    }


def _master(node: Node, box: BoxRow) -> str:
    """Who gives out UIDs; the root of all mailboxes that it gave to nobody."""
    mine = node.mastering.tracker.boxes.get(box.guid)
    if mine is not None and mine.is_ours:
        return node.name
    is_of_epoch = box.token.epoch == node.mastering.root.epoch
    return box.holder if is_of_epoch and box.holder else node.mastering.root.root


def _checked(answer: Command) -> Reply:
    return OK if isinstance(answer, Ok) else CommandError("ERR not everything is everywhere yet: ask MAILBOX STATUS")
