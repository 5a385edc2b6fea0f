"""Carries out the commands that concern snapshot files: SAVE, BGSAVE, FLUSHALL, DEBUG RELOAD."""

from __future__ import annotations

from typing import Final, final

from pyrepl.commands.engine import effects
from pyrepl.commands.engine.call import Call
from pyrepl.daemon.disk.files import Files
from pyrepl.daemon.disk.saver import Saver
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.performer import Deeds
from pyrepl.errors import CommandError, ConfigError, CorruptData
from pyrepl.observability import events
from pyrepl.resp.reply import OK, Reply, Simple

AOF_CHILD_RUNS: Final = (
    "ERR Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE SCHEDULE in order to schedule a "
    "BGSAVE whenever possible."
)


@final
class DiskDeeds:
    """The effects that `Saver` and `Files` carry out."""

    def __init__(self, saver: Saver, files: Files, log: Log) -> None:
        self._saver = saver
        self._files = files
        self._log = log

    @property
    def deeds(self) -> Deeds:
        return {
            effects.Save: self._save,
            effects.Flushed: self._flushed,
            effects.BgSave: self._bgsave,
            effects.ScheduleBgSave: self._schedule_bgsave,
            effects.DebugReload: self._debug_reload,
        }

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
        return Simple(b"Background saving started")

    def _schedule_bgsave(self, call: Call, effect: effects.ScheduleBgSave) -> Reply:
        self._saver.schedule()
        return Simple(b"Background saving scheduled")

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
