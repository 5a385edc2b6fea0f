"""What commands ask of the process that needs none of its parts: to stand still for a while, a line in the log."""

from __future__ import annotations

import time
from typing import final

from pyrepl.commands.engine import effects
from pyrepl.commands.engine.call import Call
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.performer import Deeds
from pyrepl.resp.reply import OK, Reply


@final
class ProcessDeeds:
    """The deeds that are no part's."""

    def __init__(self, log: Log) -> None:
        self._log = log

    @property
    def deeds(self) -> Deeds:
        return {effects.DebugSleep: self._sleep, effects.Log: self._log_event}

    def _sleep(self, call: Call, effect: effects.DebugSleep) -> Reply:
        time.sleep(effect.seconds)
        return OK

    def _log_event(self, call: Call, effect: effects.Log) -> Reply:
        self._log(effect.event)
        return effect.reply
