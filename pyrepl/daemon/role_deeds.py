"""Carries out the commands that concern the node's role: REPLICAOF, FAILOVER, and CLIENT KILL, which may break the link
to the master."""

from __future__ import annotations

from typing import final

from pyrepl.commands.engine import effects
from pyrepl.commands.engine.call import Call
from pyrepl.daemon.clients.clients import Clients
from pyrepl.daemon.failovers import Failovers
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.performer import Deeds
from pyrepl.daemon.roles import Roles
from pyrepl.observability import events
from pyrepl.resp.reply import OK, Reply


@final
class RoleDeeds:
    """The effects that `Roles` and `Failovers` carry out."""

    def __init__(self, roles: Roles, failovers: Failovers, clients: Clients, log: Log) -> None:
        self._roles = roles
        self._failovers = failovers
        self._clients = clients
        self._log = log

    @property
    def deeds(self) -> Deeds:
        return {
            effects.ReplicaOf: self._replica_of,
            effects.Promote: self._promote,
            effects.HurryLink: self._hurry_link,
            effects.Failover: self._failover,
            effects.AbortFailover: self._abort_failover,
            effects.KillClients: self._kill_clients,
        }

    def _replica_of(self, call: Call, effect: effects.ReplicaOf) -> Reply:
        self._roles.follow(effect.host, effect.port, by=call.client)
        return OK

    def _promote(self, call: Call, effect: effects.Promote) -> Reply:
        self._roles.promote(by=call.client)
        return OK

    def _hurry_link(self, call: Call, effect: effects.HurryLink) -> Reply:
        self._log(events.AlreadyFollowing())
        self._roles.hurry()
        return effect.reply

    def _failover(self, call: Call, effect: effects.Failover) -> Reply:
        self._failovers.request(effect.target, force=effect.force, timeout_ms=effect.timeout_ms)
        return OK

    def _abort_failover(self, call: Call, effect: effects.AbortFailover) -> Reply:
        self._failovers.abort()
        return OK

    def _kill_clients(self, call: Call, effect: effects.KillClients) -> Reply:
        self._clients.kill(effect.client_ids)
        if self._roles.link_client_id in effect.client_ids:
            self._roles.drop_link()
        return effect.reply
