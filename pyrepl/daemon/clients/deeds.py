"""Carries out the commands that concern client connections: CLIENT UNBLOCK, CLIENT PAUSE and UNPAUSE, commands that
wait for keys, commands that do their work in slices, and logins that are refused late."""

from __future__ import annotations

from functools import partial
from typing import final

from pyrepl.commands.engine import effects
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.dispatch import Dispatcher
from pyrepl.daemon.clients.clients import Clients
from pyrepl.daemon.clients.slices import Slices
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.performer import Deeds
from pyrepl.daemon.signals import Signals
from pyrepl.errors import CommandError
from pyrepl.node.client import Client
from pyrepl.node.waits import KeysWait, LateWait, WorkWait
from pyrepl.resp.reply import NO_REPLY, OK, Reply


@final
class ClientDeeds:
    """The effects that `Clients` and its waits carry out."""

    def __init__(self, clients: Clients, dispatcher: Dispatcher, signals: Signals, clock: Clock) -> None:
        self._clients = clients
        self._dispatcher = dispatcher
        self._signals = signals
        self._clock = clock

    @property
    def deeds(self) -> Deeds:
        return {
            effects.UnblockClient: self._unblock_client,
            effects.PauseChanged: self._pause_changed,
            effects.InSlices: self._in_slices,
            effects.WaitForKeys: self._wait_for_keys,
            effects.RefuseLater: self._refuse_later,
        }

    def _unblock_client(self, call: Call, effect: effects.UnblockClient) -> Reply:
        return int(self._clients.waits.unblock(effect.client_id, with_error=effect.with_error))

    def _pause_changed(self, call: Call, effect: effects.PauseChanged) -> Reply:
        self._clients.waits.pause_changed()
        return OK

    def _wait_for_keys(self, call: Call, effect: effects.WaitForKeys) -> Reply:
        client = call.client
        if client.is_blocked:
            # Tried again, and there is nothing for it again: its wait goes on.
            return NO_REPLY
        waits = self._clients.waits
        wait = KeysWait(
            client,
            waits.deadline(effect.timeout_ms),
            tuple((call.db.index, key) for key in effect.keys),
            effect.type_name,
            partial(self._try_again, call, list(effect.argv)),
            effect.late_reply,
            on_any_type=effect.on_any_type,
        )
        return waits.hold(wait)

    def _try_again(self, call: Call, argv: list[bytes]) -> tuple[Reply] | None:
        conn = self._clients.conns.get(call.client.id)
        if conn is None or conn.transport.is_closing():
            # The connection is about to be forgotten: nobody would get what the command takes.
            return None
        call.now_ms = call.keyspace.now_ms
        reply = self._dispatcher.execute_again(call, argv)
        return None if reply is NO_REPLY else (reply,)

    def _refuse_later(self, call: Call, effect: effects.RefuseLater) -> Reply:
        error = CommandError(effect.error)
        if call.client.id not in self._clients.conns or call.is_nested:
            raise error
        stats = self._clients.node.stats
        stats.of(call.client.last_command).failed_calls += 1
        stats.count_error(effect.error)
        deadline = self._clock.now() + effect.delay_s
        return self._clients.waits.hold(LateWait(call.client, deadline, error))

    def _in_slices(self, call: Call, effect: effects.InSlices) -> Reply:
        conn = self._clients.conns.get(call.client.id)
        # The master's stream has no connection to hold, and inside EXEC nothing may wait: all slices now.
        if conn is None or call.is_nested:
            while not effect.job.step():
                pass
            return effect.job.reply()
        waits = self._clients.waits
        call.client.in_slices = True
        done = partial(self._sliced, call.client, list(call.argv))
        Slices(effect.job, conn, waits, self._clock, done).start()
        return waits.hold(WorkWait(call.client))

    def _sliced(self, client: Client, argv: list[bytes], elapsed_s: float) -> None:
        """The work of a command is done: count its time, and put a DEL into the stream for each key found expired."""
        client.in_slices = False
        self._clients.node.count_slices(client, client.last_command, argv, elapsed_s)
        self._dispatcher.propagate_expired()
        self._signals.stream_grew.tell()
