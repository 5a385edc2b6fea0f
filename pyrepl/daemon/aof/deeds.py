"""Carries out the commands that concern the append-only file: BGREWRITEAOF and DEBUG LOADAOF."""

from __future__ import annotations

from typing import final

from pyrepl.commands.engine import effects
from pyrepl.commands.engine.call import Call
from pyrepl.daemon.aof.keeper import AofKeeper
from pyrepl.daemon.disk.saver import Saver
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.performer import Deeds
from pyrepl.errors import CommandError, ConfigError
from pyrepl.observability import events
from pyrepl.resp.reply import OK, Reply, Simple


@final
class AofDeeds:
    """The effects that `AofKeeper` carries out."""

    def __init__(self, keeper: AofKeeper, saver: Saver, log: Log) -> None:
        self._keeper = keeper
        self._saver = saver
        self._log = log

    @property
    def deeds(self) -> Deeds:
        return {effects.RewriteAof: self._rewrite, effects.DebugLoadAof: self._debug_load}

    def _rewrite(self, call: Call, effect: effects.RewriteAof) -> Reply:
        # Another child runs, or we are inside EXEC, whose writes are not in the stream yet: the keeper begins later.
        if self._saver.is_busy or call.is_nested:
            call.node.persistence.aof.rewrite_scheduled = True
            return Simple(b"Background append only file rewriting scheduled")
        try:
            self._keeper.begin_rewrite()
        except (OSError, ConfigError) as error:
            self._log(events.AofRewriteFailed(str(error)))
            raise CommandError(
                "ERR Can't execute an AOF background rewriting. Please check the server logs for more information."
            ) from None
        return Simple(b"Background append only file rewriting started")

    def _debug_load(self, call: Call, effect: effects.DebugLoadAof) -> Reply:
        try:
            self._keeper.reload()
        except (OSError, ConfigError) as error:
            self._log(events.LoadFailed("the append only file", str(error)))
            raise CommandError("ERR Error trying to load the AOF files, check server logs.") from None
        return OK
