"""Carries out the commands that concern our replicas: REPLCONF, PSYNC and SYNC, which replicas send, WAIT and WAITAOF.

`performer` calls the function that belongs to an effect. NO_REPLY means that the answer comes later, or from elsewhere.
"""

from __future__ import annotations

from typing import final

from pyrepl.commands.engine import effects
from pyrepl.commands.engine.call import Call
from pyrepl.daemon.clients.clients import Clients
from pyrepl.daemon.feeding.replicas import Replicas
from pyrepl.daemon.performer import Deeds
from pyrepl.node.waits import AckedWait, FsyncedWait
from pyrepl.resp.reply import NO_REPLY, Reply


@final
class FeedingDeeds:
    """The effects that `Replicas` and the waits for acknowledgements carry out."""

    def __init__(self, clients: Clients, replicas: Replicas) -> None:
        self._clients = clients
        self._replicas = replicas

    @property
    def deeds(self) -> Deeds:
        return {
            effects.Replconf: self._replconf,
            effects.Sync: self._sync,
            effects.Wait: self._wait,
            effects.WaitAof: self._wait_aof,
        }

    def _replconf(self, call: Call, effect: effects.Replconf) -> Reply:
        conn = self._clients.conns.get(call.client.id)
        return NO_REPLY if conn is None else self._replicas.replconf(conn, list(effect.argv))

    def _sync(self, call: Call, effect: effects.Sync) -> Reply:
        conn = self._clients.conns.get(call.client.id)
        return NO_REPLY if conn is None else self._replicas.sync(conn, list(effect.argv))

    def _wait(self, call: Call, effect: effects.Wait) -> Reply:
        waits = self._clients.waits
        roster = call.node.replication.roster
        wait = AckedWait(call.client, waits.deadline(effect.timeout_ms), roster, effect.replicas)
        reply = waits.wait(wait, may_wait=not call.is_nested)
        if reply is NO_REPLY:
            # Without being asked, a replica acknowledges once a second only.
            self._replicas.ask_for_acks()
        return reply

    def _wait_aof(self, call: Call, effect: effects.WaitAof) -> Reply:
        node = call.node
        waits = self._clients.waits
        wait = FsyncedWait(
            call.client,
            waits.deadline(effect.timeout_ms),
            node.settings,
            node.persistence.aof,
            node.replication.roster,
            here=effect.local,
            replicas=effect.replicas,
        )
        reply = waits.wait(wait, may_wait=not call.is_nested)
        if reply is NO_REPLY and effect.replicas:
            self._replicas.ask_for_acks()
        return reply
