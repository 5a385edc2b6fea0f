"""Clients that WAITAOF: held until their last write is fsynced here and on enough replicas, or their time is over."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import final

from pyrepl.commands.aof import WAITAOF_WITHOUT_AOF
from pyrepl.daemon.clients import Clients
from pyrepl.daemon.replicas import UNBLOCKED, Replicas
from pyrepl.node.client import Client
from pyrepl.node.node import Node
from pyrepl.resp.reply import NO_REPLY, Reply


@dataclass(slots=True)
class _Waiter:
    client: Client
    local: int
    replicas: int
    cut: int
    timer: asyncio.TimerHandle | None


@final
class AofWaiters:
    """Each waiting client is answered exactly once: [1 if fsynced here, replicas that have fsynced it]."""

    def __init__(self, node: Node, clients: Clients, replicas: Replicas) -> None:
        self._node = node
        self._clients = clients
        self._replicas = replicas
        self._waiting: dict[int, _Waiter] = {}

    def wait(self, client: Client, local: int, replicas: int, timeout_ms: int) -> Reply:
        """The reply at once, or NO_REPLY and the client is held; `timeout_ms` 0 waits without end."""
        waiter = _Waiter(client, local, replicas, client.write_cut, None)
        reached = self._reached(waiter.cut)
        if client.in_exec or (reached[0] >= local and reached[1] >= replicas):
            return list(reached)
        self._clients.conns[client.id].hold()
        client.is_blocked = True
        if timeout_ms:
            waiter.timer = asyncio.get_running_loop().call_later(timeout_ms / 1000, self._answer, client.id)
        self._waiting[client.id] = waiter
        if replicas:
            self._replicas.ask_for_acks()
        return NO_REPLY

    def look(self) -> None:
        """Something was fsynced, here or there, or the file is kept no more: answer those who have enough, or who would
        wait in vain, and forget those who left."""
        for client_id, waiter in list(self._waiting.items()):
            if client_id not in self._clients.conns:
                self._take(client_id)
                continue
            if waiter.local and not self._node.settings.appendonly:
                self.unblock(client_id, error=WAITAOF_WITHOUT_AOF)
                continue
            reached = self._reached(waiter.cut)
            if reached[0] >= waiter.local and reached[1] >= waiter.replicas:
                self._answer(client_id)

    def unblock(self, client_id: int, *, error: str) -> bool:
        """End one client's wait, as if its time were over if `error` is empty; False if it does not wait."""
        if client_id not in self._waiting:
            return False
        if not error:
            self._answer(client_id)
            return True
        waiter = self._take(client_id)
        waiter.client.is_blocked = False
        conn = self._clients.conns.get(client_id)
        if conn is not None:
            conn.fail(error)
        return True

    def unblock_all(self) -> None:
        """The role changes: nobody's writes are ours to answer for any more."""
        for client_id in list(self._waiting):
            self.unblock(client_id, error=UNBLOCKED)

    def _reached(self, cut: int) -> tuple[int, int]:
        node = self._node
        here = node.settings.appendonly and node.persistence.aof.synced_cut >= cut
        sessions = node.replication.roster.sessions.values()
        return int(here), sum(1 for session in sessions if session.is_replica and session.fack_cut >= cut)

    def _take(self, client_id: int) -> _Waiter:
        waiter = self._waiting.pop(client_id)
        if waiter.timer is not None:
            waiter.timer.cancel()
        return waiter

    def _answer(self, client_id: int) -> None:
        waiter = self._take(client_id)
        conn = self._clients.conns.get(client_id)
        if conn is not None:
            waiter.client.is_blocked = False
            conn.answer(list(self._reached(waiter.cut)))
