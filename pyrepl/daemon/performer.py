"""Carries out what commands ask of the process: one method per Effect, its reply as the record's docstring says."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Protocol, final

from pyrepl.commands.engine import effects
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.dispatch import Dispatcher
from pyrepl.commands.engine.effect import Effect
from pyrepl.config.loading import without_effect
from pyrepl.config.settings import why_without_effect
from pyrepl.daemon.aof.keeper import AofKeeper
from pyrepl.daemon.clients.clients import Clients
from pyrepl.daemon.clients.slices import Slices
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.disk.files import Files
from pyrepl.daemon.disk.saver import Saver
from pyrepl.daemon.ending import SHUTDOWN_FAILED, Ending
from pyrepl.daemon.failovers import Failovers
from pyrepl.daemon.feeding.repl_pauses import ReplPauses
from pyrepl.daemon.feeding.replicas import Replicas
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.roles import Roles
from pyrepl.daemon.settings_in_force import SettingsInForce
from pyrepl.errors import CommandError, ConfigError, CorruptData
from pyrepl.node.client import Client
from pyrepl.node.waits import AckedWait, FsyncedWait, ShutdownWait, WorkWait
from pyrepl.observability import events
from pyrepl.resp.reply import NO_REPLY, OK, Reply, Simple

AOF_CHILD_RUNS: Final = (
    "ERR Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE SCHEDULE in order to schedule a "
    "BGSAVE whenever possible."
)
Method = Callable[[Call, Any], Reply]


class Facts(Protocol):
    """What writes into the change streams of applications."""

    def perform(self, call: Call, effect: effects.WriteFact) -> Reply: ...


@final
class Performer:
    """Performs effects for one node; how each is carried out it learns once the parts of the node are made."""

    def __init__(self) -> None:
        self._methods: dict[type[Effect], Method] = {}

    def learn(self, methods: Mapping[type[Effect], Method]) -> None:
        """From now on these effects are carried out so."""
        self._methods.update(methods)

    def perform(self, call: Call, effect: Effect) -> Reply:
        """The reply to the command that returned `effect`. Raises CommandError as commands do."""
        return self._methods[type(effect)](call, effect)


@final
class Deeds:
    """How each effect is carried out: `methods`."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        clients: Clients,
        replicas: Replicas,
        roles: Roles,
        failovers: Failovers,
        saver: Saver,
        files: Files,
        aof: AofKeeper,
        ending: Ending,
        settings: SettingsInForce,
        pauses: ReplPauses,
        facts: Facts | None,
        clock: Clock,
        log: Log,
    ) -> None:
        """`facts` writes into the change streams of applications, None where they are off."""
        self._dispatcher = dispatcher
        self._clients = clients
        self._replicas = replicas
        self._roles = roles
        self._failovers = failovers
        self._saver = saver
        self._files = files
        self._aof = aof
        self._ending = ending
        self._settings = settings
        self._pauses = pauses
        self._facts = facts
        self._clock = clock
        self._log = log
        self._told: set[str] = set()
        """Directives without effect that the log has told of since the start."""
        self.methods: Final[dict[type[Effect], Method]] = {
            effects.Shutdown: self._shutdown,
            effects.AbortShutdown: self._abort_shutdown,
            effects.Save: self._save,
            effects.Flushed: self._flushed,
            effects.BgSave: self._bgsave,
            effects.ScheduleBgSave: self._schedule_bgsave,
            effects.ReplicaOf: self._replica_of,
            effects.Failover: self._failover,
            effects.AbortFailover: self._abort_failover,
            effects.HurryLink: self._hurry_link,
            effects.Promote: self._promote,
            effects.Wait: self._wait,
            effects.Replconf: self._replconf,
            effects.Sync: self._sync,
            effects.KillClients: self._kill_clients,
            effects.UnblockClient: self._unblock_client,
            effects.PauseChanged: self._pause_changed,
            effects.SettingsChanged: self._settings_changed,
            effects.RewriteConfig: self._rewrite_config,
            effects.DebugSleep: self._debug_sleep,
            effects.DebugReload: self._debug_reload,
            effects.DebugLoadAof: self._debug_load_aof,
            effects.RewriteAof: self._rewrite_aof,
            effects.WaitAof: self._wait_aof,
            effects.InSlices: self._in_slices,
            effects.ReplPause: self._repl_pause,
            effects.Log: self._log_event,
            effects.WriteFact: self._write_fact,
        }

    def _shutdown(self, call: Call, effect: effects.Shutdown) -> Reply:
        self._log(events.ShutdownRequested())
        if not self._ending.begin(effect.mode, now=effect.now, force=effect.force):
            raise CommandError(SHUTDOWN_FAILED)
        return self._clients.waits.wait(ShutdownWait(call.client), may_wait=not call.is_nested)

    def _abort_shutdown(self, call: Call, effect: effects.AbortShutdown) -> Reply:
        if not self._ending.abort():
            raise CommandError("ERR No shutdown in progress.")
        return OK

    def _save(self, call: Call, effect: effects.Save) -> Reply:
        if self._saver.save():
            raise CommandError("ERR")
        return OK

    def _flushed(self, call: Call, effect: effects.Flushed) -> Reply:
        self._saver.flushed()
        return OK

    def _bgsave(self, call: Call, effect: effects.BgSave) -> Reply:
        if call.node.persistence.aof.is_rewriting:
            if len(call.argv) < 2:
                raise CommandError(AOF_CHILD_RUNS)
            return self._schedule_bgsave(call, effects.ScheduleBgSave())
        if not self._saver.bgsave():
            raise CommandError("ERR")
        self._log(events.SavingStarted(call.node.persistence.child_pid or 0))
        return Simple(b"Background saving started")

    def _schedule_bgsave(self, call: Call, effect: effects.ScheduleBgSave) -> Reply:
        self._saver.schedule()
        return Simple(b"Background saving scheduled")

    def _replica_of(self, call: Call, effect: effects.ReplicaOf) -> Reply:
        self._roles.follow(effect.host, effect.port, by=call.client)
        return OK

    def _failover(self, call: Call, effect: effects.Failover) -> Reply:
        self._failovers.request(effect.target, force=effect.force, timeout_ms=effect.timeout_ms)
        return OK

    def _abort_failover(self, call: Call, effect: effects.AbortFailover) -> Reply:
        self._failovers.abort()
        return OK

    def _hurry_link(self, call: Call, effect: effects.HurryLink) -> Reply:
        self._log(events.AlreadyFollowing())
        self._roles.hurry()
        return effect.reply

    def _promote(self, call: Call, effect: effects.Promote) -> Reply:
        self._roles.promote(by=call.client)
        return OK

    def _wait(self, call: Call, effect: effects.Wait) -> Reply:
        waits = self._clients.waits
        roster = call.node.replication.roster
        wait = AckedWait(call.client, waits.deadline(effect.timeout_ms), roster, effect.replicas)
        reply = waits.wait(wait, may_wait=not call.is_nested)
        if reply is NO_REPLY:
            self._replicas.ask_for_acks()
        return reply

    def _replconf(self, call: Call, effect: effects.Replconf) -> Reply:
        conn = self._clients.conns.get(call.client.id)
        return NO_REPLY if conn is None else self._replicas.replconf(conn, list(effect.argv))

    def _sync(self, call: Call, effect: effects.Sync) -> Reply:
        conn = self._clients.conns.get(call.client.id)
        return NO_REPLY if conn is None else self._replicas.sync(conn, list(effect.argv))

    def _kill_clients(self, call: Call, effect: effects.KillClients) -> Reply:
        self._clients.kill(effect.client_ids)
        if self._roles.link_client_id in effect.client_ids:
            self._roles.drop_link()
        return effect.reply

    def _unblock_client(self, call: Call, effect: effects.UnblockClient) -> Reply:
        return int(self._clients.waits.unblock(effect.client_id, with_error=effect.with_error))

    def _pause_changed(self, call: Call, effect: effects.PauseChanged) -> Reply:
        self._clients.waits.pause_changed()
        return OK

    def _settings_changed(self, call: Call, effect: effects.SettingsChanged) -> Reply:
        try:
            self._settings.changed(effect.names)
        except ConfigError as error:
            settings = call.node.settings
            for name, value in zip(effect.names, effect.previous, strict=True):
                settings.assign(name, value)
            call.node.review_settings()
            call.node.review_guard()
            text = f"ERR CONFIG SET failed (possibly related to argument '{effect.names[0]}') - {error}"
            raise CommandError(text) from None
        self._tell_without_effect(call, effect.names)
        return OK

    def _tell_without_effect(self, call: Call, names: tuple[str, ...]) -> None:
        """One line in the log about directives that CONFIG SET has accepted and nobody acts on, once for each."""
        settings = call.node.settings
        reasons = {name: why_without_effect(settings, name) for name in names if name not in self._told}
        found = {name: why for name, why in reasons.items() if why is not None}
        if found:
            self._told.update(found)
            self._log(events.ConfigurationNotice(without_effect(found)))

    def _rewrite_config(self, call: Call, effect: effects.RewriteConfig) -> Reply:
        try:
            self._settings.rewrite_file()
        except OSError as error:
            reason = error.strerror or str(error)
            self._log(events.ConfigRewriteFailed(reason))
            raise CommandError(f"ERR Rewriting config file: {reason}") from None
        self._log(events.ConfigRewritten())
        return OK

    def _debug_sleep(self, call: Call, effect: effects.DebugSleep) -> Reply:
        time.sleep(effect.seconds)
        return OK

    def _debug_reload(self, call: Call, effect: effects.DebugReload) -> Reply:
        if effect.save and self._saver.save():
            raise CommandError("ERR")
        try:
            self._files.reload(self._saver.dump_path, flush=effect.flush, merge=effect.merge)
        except (OSError, CorruptData, ConfigError) as error:
            self._log(events.LoadFailed(str(self._saver.dump_path), str(error)))
            raise CommandError("ERR Error trying to load the RDB dump, check server logs.") from None
        self._log(events.Reloaded())
        return OK

    def _debug_load_aof(self, call: Call, effect: effects.DebugLoadAof) -> Reply:
        try:
            self._aof.reload()
        except (OSError, ConfigError) as error:
            self._log(events.LoadFailed("the append only file", str(error)))
            raise CommandError("ERR Error trying to load the AOF files, check server logs.") from None
        return OK

    def _rewrite_aof(self, call: Call, effect: effects.RewriteAof) -> Reply:
        if self._saver.is_busy or call.is_nested:
            call.node.persistence.aof.rewrite_scheduled = True
            return Simple(b"Background append only file rewriting scheduled")
        try:
            self._aof.begin_rewrite()
        except (OSError, ConfigError) as error:
            self._log(events.AofRewriteFailed(str(error)))
            raise CommandError(
                "ERR Can't execute an AOF background rewriting. Please check the server logs for more information."
            ) from None
        return Simple(b"Background append only file rewriting started")

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

    def _in_slices(self, call: Call, effect: effects.InSlices) -> Reply:
        conn = self._clients.conns.get(call.client.id)
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
        client.in_slices = False
        self._clients.node.count_slices(client, client.last_command, argv, elapsed_s)
        self._dispatcher.propagate_expired()
        self._replicas.plan_pump()

    def _repl_pause(self, call: Call, effect: effects.ReplPause) -> Reply:
        self._pauses.add(effect.point)
        return OK

    def _write_fact(self, call: Call, effect: effects.WriteFact) -> Reply:
        if self._facts is None:
            raise CommandError("ERR change streams are off at this node: set stream-port and start it again")
        return self._facts.perform(call, effect)

    def _log_event(self, call: Call, effect: effects.Log) -> Reply:
        self._log(effect.event)
        return effect.reply
