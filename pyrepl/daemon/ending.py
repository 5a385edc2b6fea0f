"""Ends a node, for SHUTDOWN, SIGTERM and SIGINT: waits for its replicas, saves if that is wanted, and stops.

The order is Redis's (7.0, `prepareForShutdown`): pause writes, wait up to shutdown-timeout for replicas that lag, kill
the snapshot child, save. A second signal during the wait ends the node at once. If the snapshot cannot be written, the
node goes on, however often it is told to end, as in Redis: otherwise all changes since the last snapshot would be lost.

Unlike Redis, a replica waits for its own replicas too, and takes nothing from its master meanwhile. So the data that it
saves ends at the place in the stream where its replicas are, and after a restart they can be continued.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Final, final

from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.effects import AbortShutdown, SaveMode, Shutdown
from pyrepl.daemon.clients.clients import Clients
from pyrepl.daemon.disk.saver import Saver
from pyrepl.daemon.feeding.replicas import Replicas
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.performer import Deeds
from pyrepl.daemon.roles import Roles
from pyrepl.errors import CommandError
from pyrepl.node.node import Node
from pyrepl.node.waits import Kind, ShutdownWait
from pyrepl.observability import events
from pyrepl.replication.role import Holder
from pyrepl.resp.reply import OK, Reply

SHUTDOWN_FAILED: Final = "ERR Errors trying to SHUTDOWN. Check logs."
SIGNAL_TIMEOUT_S: Final = 8.0
"""The longest wait for replicas after a signal: a supervisor that sent SIGTERM kills the process after ten seconds."""

_LOOK_EVERY_S: Final = 0.02
_GETACK_EVERY: Final = 10


@final
class Ending:
    """The end of a node, at once or after a wait.

    Invariant: `_task` is set exactly while a shutdown waits for replicas.
    """

    def __init__(
        self,
        node: Node,
        clients: Clients,
        replicas: Replicas,
        roles: Roles,
        saver: Saver,
        log: Log,
    ) -> None:
        """Must be made inside the loop that the node runs in."""
        self._node = node
        self._clients = clients
        self._replicas = replicas
        self._roles = roles
        self._saver = saver
        self._log = log
        self.stopped: Final = asyncio.get_running_loop().create_future()
        """A future that is done once the node has to stop; `life` awaits it."""
        self._task: asyncio.Task[None] | None = None
        self._signalled = False
        self.ended = False

    @property
    def deeds(self) -> Deeds:
        """SHUTDOWN and SHUTDOWN ABORT."""
        return {Shutdown: self._shutdown, AbortShutdown: self._abort_shutdown}

    def _shutdown(self, call: Call, effect: Shutdown) -> Reply:
        self._log(events.ShutdownRequested())
        if not self.begin(effect.mode, now=effect.now, force=effect.force):
            raise CommandError(SHUTDOWN_FAILED)
        return self._clients.waits.wait(ShutdownWait(call.client), may_wait=not call.is_nested)

    def _abort_shutdown(self, call: Call, effect: AbortShutdown) -> Reply:
        if not self.abort():
            raise CommandError("ERR No shutdown in progress.")
        return OK

    def begin(self, mode: SaveMode, *, now: bool, force: bool, timeout_s: float = -1) -> bool:
        """Begin to end the node. False when saving failed at once, and the node goes on. If saving fails later, clients
        that wait for the end (ShutdownWait) get an error.

        `now`: do not wait for replicas. `force`: end even if saving fails. `timeout_s` limits the wait for replicas;
        below 0 means shutdown-timeout.
        """
        if self._task is not None:
            return True
        limit_s = timeout_s if timeout_s >= 0 else float(self._node.settings.shutdown_timeout)
        if now or limit_s <= 0 or not self._replicas.may_catch_up:
            return self._finish(mode, force=force)
        self._log(events.WaitingForReplicas())
        self._hold_writes()
        self._task = asyncio.get_running_loop().create_task(self._wait(mode, force=force, limit_s=limit_s))
        return True

    def signal(self, name: str) -> None:
        """SIGTERM or SIGINT has come: end as shutdown-on-sigterm or shutdown-on-sigint says. The second one ends the
        node without waiting or saving."""
        if self._signalled:
            self._log(events.SecondSignalReceived(name))
            self._saver.stop()
            self._end()
            return
        self._signalled = True
        self._log(events.SignalReceived(name))
        self._log(events.ShutdownRequested())
        settings = self._node.settings
        limit_s = min(SIGNAL_TIMEOUT_S, float(settings.shutdown_timeout))
        options = settings.shutdown_on_sigint if name == "SIGINT" else settings.shutdown_on_sigterm
        if not self.begin(_save_mode(options), now="now" in options, force="force" in options, timeout_s=limit_s):
            # Saving failed: the node goes on, and the next signal is a first one again.
            self._signalled = False

    def abort(self) -> bool:
        """SHUTDOWN ABORT: go on. False when no shutdown was waiting."""
        if self._task is None:
            return False
        self._task.cancel()
        self._log(events.ShutdownAborted())
        self._give_up()
        return True

    async def _wait(self, mode: SaveMode, *, force: bool, limit_s: float) -> None:
        looks = int(limit_s / _LOOK_EVERY_S)
        for look in range(looks):
            if not self._replicas.may_catch_up:
                break
            if look % _GETACK_EVERY == 0:
                self._replicas.ask_for_acks()
            await asyncio.sleep(_LOOK_EVERY_S)
        if not self._finish(mode, force=force):
            self._give_up()

    def _give_up(self) -> None:
        self._task = None
        self._signalled = False
        self._go_on()
        self._clients.waits.finish_all(Kind.SHUTDOWN, CommandError(SHUTDOWN_FAILED))

    def _hold_writes(self) -> None:
        """Stop all changes from clients and from our master, so that the snapshot that is saved later holds exactly the
        data that the replicas get."""
        self._node.pause.hold_writes(Holder.SHUTDOWN)
        self._roles.stop_listening()

    def _go_on(self) -> None:
        self._node.pause.let_go(Holder.SHUTDOWN)
        self._node.replication.role.go_on(Holder.SHUTDOWN)
        self._roles.listen_again()
        self._clients.waits.pause_changed()

    def _finish(self, mode: SaveMode, *, force: bool) -> bool:
        """Save if that is wanted, and stop. False when saving failed and the node must go on."""
        self._report_replicas()
        # The loop still turns between the save and the end of the last connection: no write and no PING may enter the
        # stream then, or it would be longer than the snapshot says.
        self._hold_writes()
        self._node.replication.role.stand_still(Holder.SHUTDOWN)
        self._saver.stop()
        wants_save = mode is SaveMode.SAVE or (mode is SaveMode.DEFAULT and bool(self._node.settings.save))
        if wants_save and not self._node.is_loading:
            self._log(events.SavingBeforeExit())
            if self._saver.save():
                if not force:
                    self._log(events.CannotSaveBeforeExit())
                    self._log(events.CannotShutDown())
                    self._saver.go_on()
                    self._go_on()
                    return False
                self._log(events.SavingBeforeExitFailed())
        self._end()
        return True

    def _report_replicas(self) -> None:
        lagging = self._replicas.lagging()
        for event in lagging:
            self._log(event)
        total = len(self._node.replication.roster.sessions)
        if total:
            self._log(events.ReplicasInSyncAtShutdown(total - len(lagging), total))

    def _end(self) -> None:
        self.ended = True
        if not self.stopped.done():
            self.stopped.set_result(None)


def _save_mode(options: Collection[str]) -> SaveMode:
    """What shutdown-on-sigint or shutdown-on-sigterm says about the data set."""
    if "save" in options:
        return SaveMode.SAVE
    return SaveMode.NOSAVE if "nosave" in options else SaveMode.DEFAULT
